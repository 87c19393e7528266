"""The call of a root: the outermost module that holds an optimizer's parameters.

torch asks a module for `_compiled_call_impl` at each call and leaves it out of pickles and copies:
that is where `Module.compile` puts its compiled function, and where a `RootCall` goes. So the
object, its class, its hooks, its `state_dict` and its pickle stay as they were.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import nn
from torch.amp import is_autocast_available

from hotlap.batches import has_image_rank
from hotlap.interpose.attention_kernel import AttentionKernel
from hotlap.interpose.graph_memory import GraphMemory
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.listener import Listener
from hotlap.interpose.nested import mapped
from hotlap.interpose.seen import RootSeen
from hotlap.modules import FORMATS, first_parameter
from hotlap.precision import DTYPES, autocast
from hotlap.unseen import unseen

Call = Callable[..., Any]


class RootCall:
    """Runs a root's forward pass with layout, autocast and compilation in force.

    Autocast, the attention kernel and the compiled function are for training: an evaluation
    (without gradients, and not in training mode) runs as the script's own, and so does a call that
    torch.jit traces, whose graph the script keeps. Outputs of autocast are handed back in float32,
    or a loss that the script computes outside would meet bf16 with a float target.

    Args:
        module: The root; not kept alive.
        inner: Its own compiled function if it had one, else None.
        imposed: memory_format, amp and compile_mode are read.
        seen: Its forward passes are counted.
        listener: Hears of each call.
        kernel: The attention kernel for its training; None leaves attention to the script.
        memory: Looks after what CUDA graphs write again.
    """

    def __init__(
        self,
        module: nn.Module,
        inner: Call | None,
        imposed: Imposed,
        seen: RootSeen,
        listener: Listener | None = None,
        kernel: AttentionKernel | None = None,
        memory: GraphMemory | None = None,
    ) -> None:
        self._module = weakref.ref(module)
        self.inner = inner
        self._settings = settings = imposed.alone()
        self.seen = seen
        self._listener = listener
        self._format = FORMATS.get(imposed.value("memory_format"))
        self._amp = settings.amp != "none"
        self._amp_wins = "amp" in imposed.override
        self._kernel = kernel
        self._has_autocast: bool | None = None  # of the script's own, in training
        self._changes = self._amp or kernel is not None
        self._compiled: Call | None = None
        if settings.compile_mode != "none":
            within = getattr(module, "_orig_mod", module)  # not what the script has compiled
            compiled = torch.compile(within._call_impl, mode=settings.compile_mode)
            self._compiled = compiled if memory is None else memory.around(compiled)
        self._entered = False

    @unseen
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        module = self._module()
        assert module is not None, "a module is alive while it is called"
        plain = self.inner or module._call_impl
        # The module calls itself, or a root within it does; or a graph is made of it, to which a
        # compiled function cannot belong.
        if self._entered or torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
            return plain(*args, **kwargs)
        self._entered = True
        if self._listener is not None:
            self._listener.forward(module, torch.is_grad_enabled() and module.training)
        try:
            if self._format is not None:
                args, kwargs = mapped(args, self._laid_out), mapped(kwargs, self._laid_out)
            call = plain
            if torch.is_grad_enabled():
                self.seen.n_forwards += 1
                self.seen.n_own_autocast += _is_autocast(self._device(module))
                call = self._compiled or plain
            elif not module.training:
                return plain(*args, **kwargs)
            # Without gradients, too: the same call may come again with them, and has to give the
            # same (the old policy of a ratio, the first pass of a reentrant checkpoint).
            if not self._changes:
                return call(*args, **kwargs)
            way = self._cast if self._kernel is None else self._attend
            return way(module, call, args, kwargs)
        finally:
            self._entered = False

    @unseen
    def _attend(self, module: nn.Module, call: Call, args: Any, kwargs: Any) -> Any:
        """Call it with the imposed attention kernel, and in the imposed precision.

        A script may forget to say that it evaluates, and leave its own autocast all the same: in
        another precision than training this kernel may be none. Which one training has is not known
        from the first call on, which may have been for shapes: the first autocast in training mode
        tells.
        """
        assert self._kernel is not None, "else nothing is to be done about attention"
        own = _is_autocast(self._device(module))
        if self._has_autocast is None or (own and module.training):
            self._has_autocast = own
        in_force = self._kernel.in_force() if own == self._has_autocast else nullcontext()
        with in_force:
            return self._cast(module, call, args, kwargs) if self._amp else call(*args, **kwargs)

    @unseen
    def _cast(self, module: nn.Module, call: Call, args: Any, kwargs: Any) -> Any:
        """Call it in the imposed precision, unless an autocast of the script's own has to stay."""
        device = self._device(module)
        own = _is_autocast(device)
        if (own and not self._amp_wins) or not is_autocast_available(device):
            return call(*args, **kwargs)
        if own:  # both keep the weights that they have cast in one place, whatever their dtype
            torch.clear_autocast_cache()
        with autocast(self._settings, device):
            out = call(*args, **kwargs)
        if own:
            torch.clear_autocast_cache()
        return mapped(out, self._float32)

    def _device(self, module: nn.Module) -> str:
        """Where the module is by now: it may have been called for its shapes first, elsewhere."""
        if torch.compiler.is_compiling():  # a compiler that traces this knows torch's own way
            parameter = next(module.parameters(), None)
        else:
            parameter = first_parameter(module)
        if parameter is not None:
            self.seen.device = parameter.device.type
        return self.seen.device

    def _laid_out(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._format is None or not has_image_rank(tensor):
            return tensor
        return tensor.contiguous(memory_format=self._format)

    def _float32(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.float() if tensor.dtype == DTYPES[self._settings.amp] else tensor

    # A copy or a pickle that takes the whole __dict__ gets None here, torch's own default.
    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


def _is_autocast(device: str) -> bool:
    """Whether an autocast is in force there; some devices (meta) have none at all."""
    return is_autocast_available(device) and torch.is_autocast_enabled(device)
