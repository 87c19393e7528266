"""The call of a root: the outermost module that holds an optimizer's parameters.

torch asks a module for `_compiled_call_impl` at each call and leaves it out of pickles and copies:
that is where `Module.compile` puts its compiled function, and where a `RootCall` goes. So the
object, its class, its hooks, its `state_dict` and its pickle stay as they were.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from hotlap.batches import has_image_rank
from hotlap.interpose.listener import Listener
from hotlap.interpose.nested import mapped
from hotlap.interpose.seen import RootSeen
from hotlap.precision import DTYPES, autocast
from hotlap.settings import Settings

Call = Callable[..., Any]


class RootCall:
    """Runs a root's forward pass with layout, autocast and compilation in force.

    Autocast and the compiled function are for training: an evaluation runs as the script's own.
    Outputs of autocast are handed back in float32, or a loss that the script computes outside would
    meet bf16 with a float target.

    Args:
        module: The root; not kept alive.
        inner: Its own compiled function if it had one, else None.
        settings: memory_format, amp and compile_mode are read.
        seen: Its forward passes are counted.
        listener: Hears of each call.
    """

    def __init__(
        self,
        module: nn.Module,
        inner: Call | None,
        settings: Settings,
        seen: RootSeen,
        listener: Listener | None = None,
    ) -> None:
        self._module = weakref.ref(module)
        self.inner = inner
        self._settings = settings
        self.seen = seen
        self._listener = listener
        self._last = settings.memory_format == "channels_last"
        self._amp = settings.amp != "none"
        self._compiled: Call | None = None
        if settings.compile_mode != "none":
            self._compiled = torch.compile(module._call_impl, mode=settings.compile_mode)
        self._entered = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        module = self._module()
        assert module is not None, "a module is alive while it is called"
        plain = self.inner or module._call_impl
        if self._entered:  # the module calls itself, or a root within it does
            return plain(*args, **kwargs)
        self._entered = True
        if self._listener is not None:
            self._listener.forward(module, torch.is_grad_enabled() and module.training)
        try:
            if self._last:
                args, kwargs = mapped(args, _channels_last), mapped(kwargs, _channels_last)
            if not torch.is_grad_enabled():
                return self._without_gradients(plain, args, kwargs)
            self.seen.n_forwards += 1
            call = self._compiled or plain
            own_autocast = torch.is_autocast_enabled(self.seen.device)
            self.seen.n_own_autocast += own_autocast
            if not self._amp or own_autocast:
                return call(*args, **kwargs)
            with autocast(self._settings, self.seen.device):
                out = call(*args, **kwargs)
            return mapped(out, self._float32)
        finally:
            self._entered = False

    def _float32(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.float() if tensor.dtype == DTYPES[self._settings.amp] else tensor

    def _without_gradients(self, plain: Call, args: Any, kwargs: Any) -> Any:
        """A call in evaluation mode runs as the script's own, one in training mode in autocast.

        The same one may come again with gradients, and has to give the same: the old policy of a
        ratio, the first pass of a reentrant checkpoint.
        """
        module = self._module()
        trains = module is not None and module.training
        if not (self._amp and trains) or torch.is_autocast_enabled(self.seen.device):
            return plain(*args, **kwargs)
        with autocast(self._settings, self.seen.device):
            out = plain(*args, **kwargs)
        return mapped(out, self._float32)

    # A copy or a pickle that takes the whole __dict__ gets None here, torch's own default.
    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


def _channels_last(tensor: torch.Tensor) -> torch.Tensor:
    if not has_image_rank(tensor):
        return tensor
    return tensor.contiguous(memory_format=torch.channels_last)
