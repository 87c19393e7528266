"""Twins of a root, as an average of its weights is: their calls without gradients are heard.

An evaluation in the middle of training may use no loader and call such a copy alone; without this
nobody would know that it is none of the training. Nothing else is done to a twin.
"""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakSet

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from hotlap.interpose.listener import Listener
from hotlap.interpose.patches import Patches
from hotlap.unseen import unseen

Call = Callable[..., Any]


class TwinCall:
    """Runs a twin's forward pass as ever, and tells the listener of those without gradients."""

    def __init__(self, module: nn.Module, inner: Call | None, listener: Listener) -> None:
        self._module = weakref.ref(module)
        self.inner = inner
        self._listener = listener

    @unseen
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        module = self._module()
        assert module is not None, "a module is alive while it is called"
        if not torch.is_grad_enabled():
            self._listener.forward(module, False)
        return (self.inner or module._call_impl)(*args, **kwargs)

    # A copy or a pickle that takes the whole __dict__ gets None here, torch's own default.
    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


class Twins:
    """Finds the twins of some roots.

    Args:
        roots: All that there are.
        listener: Hears their twins.

    Attributes:
        kinds: Class and shapes of parameters that a twin has.
    """

    def __init__(self, roots: Iterable[nn.Module], listener: Listener) -> None:
        self._listener = listener
        self._roots = WeakSet(roots)
        self._heard: WeakSet[nn.Module] = WeakSet()
        # What wraps the model, as DistributedDataParallel does, is not wrapped round its average.
        self.kinds = {
            (type(part), shapes)
            for root, shapes in [(root, _shapes(root)) for root in self._roots]
            for part in root.modules()
            if _shapes(part) == shapes
        }
        self._types = {kind for kind, _ in self.kinds}

    def look(self) -> None:
        """Find those that are there, among all objects; it takes some 0.1 s."""
        within = {id(part) for root in self._roots for part in root.modules()}
        for one in gc.get_objects():
            if type(one) in self._types and id(one) not in within:
                self._hear(one)

    def install(self, patches: Patches) -> None:
        """Hear of those that come: copies of a module, and those that are read from a file."""
        plain: Any = nn.Module.__setstate__

        @functools.wraps(plain)
        def __setstate__(self: nn.Module, state: Any) -> None:
            plain(self, state)
            if type(self) in twins._types:
                twins._hear(self)

        twins = self
        patches.put(nn.Module, "__setstate__", __setstate__)
        patches.on_undo(self._remove)

    def _hear(self, module: nn.Module) -> None:
        inner = module.__dict__.get("_compiled_call_impl")
        if not isinstance(inner, TwinCall) and (type(module), _shapes(module)) in self.kinds:
            call = TwinCall(module, inner, self._listener)
            module.__dict__["_compiled_call_impl"] = call
            self._heard.add(module)

    def _remove(self) -> None:
        for module in self._heard:
            call = module.__dict__.get("_compiled_call_impl")
            if isinstance(call, TwinCall):  # else it was trained, or compiled, after all
                put_back(module, call.inner)


def put_back(module: nn.Module, inner: Call | None) -> None:
    """Give a module the call that it had: what its script compiled, or torch's own."""
    if inner is None:
        module.__dict__.pop("_compiled_call_impl", None)
    else:
        module.__dict__["_compiled_call_impl"] = inner


def _shapes(module: nn.Module) -> tuple[torch.Size, ...]:
    return tuple(p.shape for p in module.parameters() if not is_lazy(p))
