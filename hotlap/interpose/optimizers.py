"""Optimizers of a script: the kernel chosen before the first step, steps counted.

Everything goes by torch's registered hooks: `step` is never replaced, which would break learning
rate schedulers. The constructor, and what takes its place where an optimizer is copied or read from
a file, are replaced only to know that there is a new one; a GradScaler's `step` only to choose
before it looks.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from hotlap.interpose.imposed import Imposed
from hotlap.interpose.listener import Listener
from hotlap.interpose.patches import Patches
from hotlap.interpose.place import Places, maker
from hotlap.interpose.ranks import Ranks
from hotlap.interpose.seen import OptimizerSeen, Seen
from hotlap.kernels import accepted, leave_to_torch, set_kernel, when_loaded
from hotlap.notes import Note


class _Known(NamedTuple):
    """An optimizer that has stepped.

    Attributes:
        seen: What it is known as.
        has_parents_steps: As of its class (see below): asked at each step.
    """

    seen: OptimizerSeen
    has_parents_steps: bool


class Optimizers:
    """Watches all optimizers, and imposes the kernel on them.

    Args:
        imposed: optimizer_kernel is read; `default` is torch's own choice, over the script's.
        notes: Gets a note for each parameter group that refuses the kernel.
        seen: Gets each optimizer at its first step; those of one class and place are one.
        places: Tell where it was made.
        ranks: Where others train along that have their own kernel, it stays.
        observe: Whether to try, after its first step, which kernels each optimizer takes.
        made: Called with each new optimizer.
        stepped: Called after each optimizer step.
    """

    def __init__(
        self,
        imposed: Imposed,
        notes: list[Note],
        seen: Seen,
        places: Places,
        ranks: Ranks,
        observe: bool,
        made: Callable[[Optimizer], None],
        stepped: Callable[[], None],
    ) -> None:
        self._kernel_imposed = "optimizer_kernel" in imposed
        self._settings = imposed.alone()
        self._notes = notes
        self._seen = seen
        self._places = places
        self._ranks = ranks
        self._observe = observe
        self._made = made
        self._stepped = stepped
        self._taken_up: WeakKeyDictionary[Optimizer, str] = WeakKeyDictionary()  # where it was made
        self._alike: dict[str, OptimizerSeen] = {}
        self._known: WeakKeyDictionary[Optimizer, _Known] = WeakKeyDictionary()
        self._n_before = 0  # steps before that of one that may wrap another
        self._trying = False  # whether kernels are tried on twins just now
        self.listener: Listener | None = None

    def install(self, patches: Patches) -> None:
        """Replace the constructor and what takes its place, and register the hooks."""
        make: Any = Optimizer.__init__
        restore: Any = Optimizer.__setstate__
        scaled_step: Any = GradScaler.step

        @functools.wraps(make)
        def __init__(self: Optimizer, *args: Any, **kwargs: Any) -> None:
            make(self, *args, **kwargs)
            if not watcher._trying:
                watcher.take_up(self, maker(sys._getframe(1), self))

        @functools.wraps(restore)
        def __setstate__(self: Optimizer, state: Any) -> None:
            restore(self, state)  # so does a checkpoint come into one that is known
            if not watcher._trying and "param_groups" in vars(self):
                watcher.take_up(self, sys._getframe(1))

        @functools.wraps(scaled_step)
        def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            # A scaler asks for the kernel before it calls the step, and leaves the gradients of a
            # fused one scaled: within that step it would be too late to choose another. What is
            # not known may wrap one that is, and then it is that one's step.
            if self.is_enabled() and watcher._knows(optimizer):
                watcher._meet(optimizer)
            return scaled_step(self, optimizer, *args, **kwargs)

        watcher = self
        patches.put(Optimizer, "__init__", __init__)
        patches.put(Optimizer, "__setstate__", __setstate__)
        patches.put(GradScaler, "step", step)
        patches.on_undo(register_optimizer_step_pre_hook(self._before).remove)
        patches.on_undo(register_optimizer_step_post_hook(self._after).remove)

    def take_up(self, optimizer: Optimizer, frame: FrameType | None = None) -> None:
        """There is an optimizer of the script's; one that is known already changes nothing."""
        if optimizer in self._taken_up:
            return
        self._taken_up[optimizer] = self._places.of(frame)
        self._seen.n_optimizers_made += 1
        self._made(optimizer)

    def _before(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        # Runs at each step, as _after does: hardly a line too many.
        known = self._known.get(optimizer)
        if self._trying or _is_inner(optimizer, known, frame := sys._getframe(1)):
            return
        if known is None and not self._knows(optimizer):  # it came by a way of its own
            if self._may_wrap(optimizer):
                return
            self.take_up(optimizer, frame)
        if self.listener is not None:
            self.listener.steps(optimizer)
        if known is None:
            self._meet(optimizer)

    def _knows(self, optimizer: Any) -> bool:
        return isinstance(optimizer, Optimizer) and optimizer in self._taken_up

    def _may_wrap(self, optimizer: Optimizer) -> bool:
        """Whether it has the groups of one that is known, which steps in its place as a rule."""
        self._n_before = self._seen.n_steps
        return any(one.param_groups is optimizer.param_groups for one in list(self._taken_up))

    def _meet(self, optimizer: Optimizer) -> None:
        """It is about to step: the first time, note what it is and choose its kernel."""
        if optimizer in self._known:
            return
        new = OptimizerSeen(
            type(optimizer).__name__,
            own_kernel=_own_kernel(optimizer),
            where=self._taken_up[optimizer],
        )
        # Some scripts make one for each fold, or for each step.
        if (seen := self._alike.setdefault(repr(new), new)) is new:
            self._seen.optimizers.append(new)
        self._known[optimizer] = _Known(seen, _has_steps_of_parents(type(optimizer)))
        if self._ranks.why_not() or not self._kernel_imposed:
            return
        self._choose(optimizer)
        when_loaded(optimizer, self._choose)

    def _after(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        known = self._known.get(optimizer)
        if self._trying or _is_inner(optimizer, known, sys._getframe(1)):
            return
        if known is None:
            if self._seen.n_steps == self._n_before:  # it wraps none, for no other has stepped
                self.take_up(optimizer)
            return
        seen = known.seen
        seen.n_steps += 1
        self._seen.n_steps += 1
        if self._observe and seen.n_steps == 1:
            self._on_twins(lambda: setattr(seen, "kernels", accepted(optimizer)))
        self._stepped()
        if self.listener is not None:
            self.listener.stepped(optimizer)

    def _choose(self, optimizer: Optimizer) -> None:
        if self._settings.optimizer_kernel == "default":
            leave_to_torch(optimizer)
            return
        self._on_twins(lambda: set_kernel(optimizer, self._settings, notes=self._notes))

    def _on_twins(self, action: Callable[[], object]) -> None:
        """Do what tries a kernel on an optimizer's twins, whose steps are not the script's."""
        self._trying = True
        try:
            action()
        finally:
            self._trying = False


def _is_inner(optimizer: Optimizer, known: _Known | None, frame: FrameType) -> bool:
    """Whether this is the step of a parent's class, which an optimizer's own step has called.

    torch calls the hooks for both; `frame` is that of what it puts round a class's step.
    """
    if not (known.has_parents_steps if known else _has_steps_of_parents(type(optimizer))):
        return False
    step: Any = type(optimizer).step
    own = getattr(step, "__wrapped__", None) if getattr(step, "hooked", False) else None
    return own is not None and frame.f_locals.get("func", own) is not own


def _has_steps_of_parents(kind: type) -> bool:
    """Whether several of its classes have a step of their own."""
    return sum("step" in vars(one) for one in kind.__mro__ if one is not Optimizer) > 1


def _own_kernel(optimizer: Optimizer) -> str:
    for name in ("fused", "foreach"):
        if any(group.get(name) for group in optimizer.param_groups):
            return name
    return "for_loop" if optimizer.defaults.get("foreach") is False else "default"
