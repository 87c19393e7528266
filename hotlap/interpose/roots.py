"""Finds a script's roots and puts model settings in force at their first forward pass.

A root is the outermost module of a call, with gradients enabled, that holds parameters of an
optimizer. What a backward pass calls is none: checkpointing calls parts of a root again there. From
an optimizer's making until all its parameters have their root, `Module.__call__` is replaced, and
only at the outermost call: within it torch's own is back, so submodules, and a compiler that traces
them, meet nothing of ours.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from hotlap.batches import has_image_rank
from hotlap.interpose.attention_kernel import AttentionKernel
from hotlap.interpose.graph_memory import GraphMemory
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.in_backward import in_backward
from hotlap.interpose.listener import Listener
from hotlap.interpose.nested import tensors
from hotlap.interpose.patches import Patches
from hotlap.interpose.place import Places
from hotlap.interpose.ranks import Ranks
from hotlap.interpose.reach import MODEL
from hotlap.interpose.refusals import refusals
from hotlap.interpose.root_call import RootCall
from hotlap.interpose.seen import RootSeen, Seen
from hotlap.interpose.twins import TwinCall, Twins, put_back
from hotlap.kernels import follow_layout, when_loaded
from hotlap.modules import lay_out, layout_of
from hotlap.unseen import unseen

MAX_WATCHED_STEPS = 20
"""After so many optimizer steps without a new optimizer a root that was not called yet, or
parameters that no module holds, are waited for no longer."""

MAX_IN_VAIN = 50
"""So many times in a row that may be for nothing: then no new optimizer starts it again."""


class Roots:
    """Watches module calls until each optimizer's parameters have their root.

    Args:
        imposed: Without a setting of the model's, and with nobody who wants to know, nothing is
            watched.
        seen: Gets each root.
        places: Tell where it was called.
        ranks: Where others train along, settings of the model's stay out.
        observe: Whether the roots are to be known in any case.
        kernel: The attention kernel for their training.
    """

    def __init__(
        self,
        imposed: Imposed,
        seen: Seen,
        places: Places,
        ranks: Ranks,
        observe: bool,
        kernel: AttentionKernel,
    ) -> None:
        self._imposed = imposed
        self._wanted = observe or any(name in imposed for name in MODEL)
        self._ranks = ranks
        self._kernel = kernel
        self._places = places
        self._seen = seen
        # Not their calls: what is compiled in a module's place holds the module, and nothing here
        # may keep alive a model that the script lets go of.
        self._found: WeakKeyDictionary[nn.Module, RootSeen] = WeakKeyDictionary()
        self._optimizers: WeakSet[Optimizer] = WeakSet()
        self._memory = GraphMemory(imposed.alone().compile_mode, self._trained)
        self._thread = threading.get_ident()
        self._watching = False
        self._n_watched = 0
        self._n_in_vain = 0
        self._alike: dict[str, RootSeen] = {}
        self._function = ""  # called since the last step: where the script has compiled it
        self._has_functions = False
        self._n_forwards = 0  # before that step
        self._twins_of: WeakSet[nn.Module] = WeakSet()
        self._twin_kinds: set[Any] = set()
        self.looked_s = 0.0  # for twins, within a step of the script
        self.listener: Listener | None = None

    def install(self, patches: Patches) -> None:
        """Prepare; nothing is replaced before the first optimizer is made."""
        plain: Any = nn.Module.__call__
        self._plain = plain

        @unseen
        @functools.wraps(plain)
        def outermost(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():  # within a function compiled before hotlap began
                return plain(self, *args, **kwargs)
            if threading.get_ident() != roots._thread:
                if not in_backward():  # for a GPU's part autograd has threads of its own
                    roots._elsewhere(sys._getframe(1))
                return plain(self, *args, **kwargs)
            with roots.asleep():
                if not in_backward():
                    roots._consider(self, args, kwargs, sys._getframe(1))
                return plain(self, *args, **kwargs)

        roots = self
        self._kernel.install(patches)
        self._memory.install(patches)
        self._patches = patches
        self._outermost = outermost
        patches.on_undo(self._remove)

    def made(self, optimizer: Optimizer) -> None:
        """An optimizer was made: watch for the modules that hold its parameters."""
        if not self._wanted and self.listener is None:
            return
        self._optimizers.add(optimizer)
        self._thread = threading.get_ident()  # a script may train in a thread of its own
        if "memory_format" in self._imposed:
            when_loaded(optimizer, follow_layout)
        if self._watching and self._n_watched:
            self._n_in_vain += 1
        if self._n_in_vain >= MAX_IN_VAIN:
            return
        self._n_watched = 0
        if not self._watching:
            self._watching = True
            self._set(self._outermost)

    def stepped(self) -> None:
        """An optimizer stepped; stop watching when there is nothing left to find."""
        self._look_for_forwards()
        if not self._watching:
            return
        self._n_watched += 1
        held = {id(parameter) for module in self._found for parameter in module.parameters()}
        missing = (id(p) not in held for p in self._trained() if p.requires_grad)
        if (long := self._n_watched >= MAX_WATCHED_STEPS) or not any(missing):
            self._n_in_vain += long
            self._watching = False
            self._set(self._plain)
            self._find_twins()

    def found(self) -> list[nn.Module]:
        """The roots that are alive."""
        return list(self._found)

    @contextlib.contextmanager
    def asleep(self) -> Iterator[None]:
        """Torch's own `Module.__call__` meanwhile."""
        if not self._watching:
            yield
            return
        before: Any = nn.Module.__call__
        self._set(self._plain)
        try:
            yield
        finally:
            if self._watching:  # else the last root was found meanwhile
                self._set(before)

    @unseen
    def within(self, place: str, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function that the script has compiled at `place`.

        A compiler that traces it must not meet anything of ours in a module that it calls, and so
        what is imposed on that module is not in force there.
        """
        if torch.is_grad_enabled():
            if not self._has_functions:  # which roots were called in this step is not known
                self._has_functions, self._n_forwards = True, -1
            self._function = place
        if not self._watching:
            return function(*args, **kwargs)
        with self.asleep():
            return function(*args, **kwargs)

    def compiled_again(self, module: nn.Module) -> None:
        """The script has compiled `module` in place, which took a RootCall's place."""
        if (seen := self._found.get(module)) is not None:
            self._adopt(module, seen)

    def compiled_into(self, outer: nn.Module, module: nn.Module) -> None:
        """The script has compiled `module`, and calls `outer` from now on."""
        if outer is not module and (seen := self._found.pop(module, None)) is not None:
            _take_away(module)
            self._adopt(outer, seen)

    def _trained(self) -> Iterator[torch.Tensor]:
        """The parameters of all optimizers."""
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                yield from group["params"]

    def _look_for_forwards(self) -> None:
        """Between two steps no root was called, but a function that the script has compiled."""
        if not self._has_functions:
            return
        n_forwards = sum(seen.n_forwards for seen in self._found.values())
        if self._function and n_forwards == self._n_forwards:
            self._seen.own.setdefault("function", self._function)
        self._function, self._n_forwards = "", n_forwards

    def _find_twins(self) -> None:
        # A script may make copies and optimizers at each step, and looking takes its time.
        if self.listener is None or all(root in self._twins_of for root in self._found):
            return
        self._twins_of.update(self._found)
        twins = Twins(self._found, self.listener)
        if not twins.kinds <= self._twin_kinds:
            self._twin_kinds |= twins.kinds
            began = time.perf_counter()
            twins.look()
            self.looked_s += time.perf_counter() - began
            twins.install(self._patches)

    def _elsewhere(self, frame: FrameType) -> None:
        if "thread" not in self._seen.own and self._places.is_script(frame):
            self._seen.own["thread"] = self._places.of(frame)

    def _set(self, call: Any) -> None:
        nn.Module.__call__ = call  # type: ignore[method-assign]

    def _remove(self) -> None:
        self._watching = False
        self._set(self._plain)
        for module in self.found():
            _take_away(module)

    def _consider(self, module: nn.Module, args: Any, kwargs: Any, frame: FrameType) -> None:
        if module in self._found or not torch.is_grad_enabled():
            return
        trained = {id(parameter) for parameter in self._trained()}
        parameters = [p for p in module.parameters() if not is_lazy(p)]
        if not any(id(parameter) in trained for parameter in parameters):
            return
        floats = [p for p in parameters if p.is_floating_point()]
        new = RootSeen(
            name=type(getattr(module, "_orig_mod", module)).__name__,
            device=parameters[0].device.type,
            dtypes=sorted({str(p.dtype).removeprefix("torch.") for p in floats}),
            input_ranks=[t.dim() for t in tensors([args, kwargs])],
            has_images=any(has_image_rank(p) for p in parameters),
            memory_format=_own_layout(parameters),
            where=self._places.of(frame),
        )
        new.refused = self._refused(module, new)
        # Some scripts make one for each fold, or for each step.
        if (seen := self._alike.setdefault(repr(new), new)) is new:
            self._seen.roots.append(new)
        self._n_in_vain = 0
        self._adopt(module, seen)

    def _refused(self, module: nn.Module, seen: RootSeen) -> dict[str, str]:
        reasons = refusals(module, _inner(module), seen, self._imposed, self._seen.own)
        if why_not := self._ranks.why_not():
            reasons |= {name: why_not for name in MODEL if name in self._imposed}
        return reasons

    def _adopt(self, module: nn.Module, seen: RootSeen) -> None:
        inner = _inner(module)
        seen.refused = self._refused(module, seen)
        imposed = self._imposed.without(seen.refused)
        if "memory_format" in imposed:
            lay_out(module, imposed.settings.memory_format)
            for optimizer in self._optimizers:
                follow_layout(optimizer)
        takes_kernel = self._kernel.wanted and "sdpa_backend" not in seen.refused
        kernel = self._kernel if takes_kernel else None
        call = RootCall(module, inner, imposed, seen, self.listener, kernel, self._memory)
        # Not by setattr: a module that wraps another hands attributes on to it.
        module.__dict__["_compiled_call_impl"] = call
        self._found[module] = seen


def _inner(module: nn.Module) -> Any:
    """What the script has compiled in a module's place, or None."""
    inner = module.__dict__.get("_compiled_call_impl")
    # A copy that is trained after all was only heard so far.
    return inner.inner if isinstance(inner, TwinCall) else inner


def _take_away(module: nn.Module) -> None:
    """Take its RootCall away, unless the script has put something else there by now."""
    call = module.__dict__.get("_compiled_call_impl")
    if isinstance(call, RootCall):
        put_back(module, call.inner)


def _own_layout(parameters: list[nn.Parameter]) -> str:
    images = [parameter for parameter in parameters if has_image_rank(parameter)]
    last = any(layout_of(parameter) == "channels_last" for parameter in images)
    return "channels_last" if last else "contiguous"
