"""Interposition: all that stands between one script and torch, put there and taken away."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.optim import Optimizer

from hotlap.interpose.attention_kernel import AttentionKernel
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.in_backward import in_backward
from hotlap.interpose.listener import Listener
from hotlap.interpose.loaders import Loaders
from hotlap.interpose.made_before import made_before
from hotlap.interpose.optimizers import Optimizers
from hotlap.interpose.own_ways import OwnWays
from hotlap.interpose.patches import Patches
from hotlap.interpose.place import Places
from hotlap.interpose.ranks import Ranks
from hotlap.interpose.reach import MODEL
from hotlap.interpose.roots import Roots
from hotlap.interpose.seen import Seen
from hotlap.interpose.switches import Switches
from hotlap.notes import Note, tell
from hotlap.settings import LOADER_SETTINGS


class Interposition:
    """Puts what is imposed in force on whatever this process does from now on.

    With nothing imposed it only watches: no random number is drawn and no value is changed. And
    where nobody wants to know, nothing of torch's is replaced.

    Args:
        imposed: Settings and which of them.
        observe: Whether to find out, too, what nothing that is imposed needs: the roots, and, by
            trying, the kernels that each optimizer takes.
        alone: Whether the processes that the script starts have no hotlap in them.
        watch: Whether somebody wants to know what the script does, be it imposed on or not: a
            listener, or who reads what was seen.

    Attributes:
        seen: What was found so far.
        notes: Imposed settings that could not be put in force.
        patches: What was replaced, and is put back by `remove`.
        kernel: The attention kernel for training.
    """

    def __init__(
        self, imposed: Imposed, observe: bool = False, alone: bool = True, watch: bool = True
    ) -> None:
        self._imposed = imposed
        self._watch = watch
        self.seen = Seen()
        self.notes: list[Note] = []
        self.patches = Patches()
        places = Places()
        self.kernel = AttentionKernel(imposed.value("sdpa_backend"), observe)
        self._switches = Switches(imposed, self.notes, self.seen, places, self.kernel)
        self._loaders = Loaders(imposed, self.notes, self.seen, places)
        ranks = Ranks(self.seen, alone)
        self._roots = Roots(imposed, self.seen, places, ranks, observe, self.kernel)
        self._optimizers = Optimizers(
            imposed, self.notes, self.seen, places, ranks, observe, self._made, self._stepped
        )
        self._own_ways = OwnWays(self.seen, places, self._roots)

    def install(self) -> Interposition:
        """Put everything in its place; returns itself."""
        self._switches.put()
        names = self._imposed.names
        loaders, model = names.intersection(LOADER_SETTINGS), names.intersection(MODEL)
        for part, imposes in (
            (self._switches, names),
            (self._loaders, loaders),
            (self._roots, model),
            (self._optimizers, names),  # whose steps tell, too, what it was that trained
            (self._own_ways, model),
        ):
            if imposes or self._watch:
                part.install(self.patches)
        return self

    def take_up(self) -> None:
        """Take up what the script made before, as far as that is possible: its optimizers."""
        found = made_before()
        for optimizer in found.optimizers:
            self._optimizers.take_up(optimizer)
        if found.scalers:
            self.seen.own.setdefault("scaler", "made before hotlap began")
        if found.loaders:
            reason = (
                f"the script has made DataLoaders already ({len(found.loaders)}), and these stay "
                "as they are; put the line above them"
            )
            for name in LOADER_SETTINGS:
                if name in self._imposed:
                    tell(self.notes, name, reason)

    def roots(self) -> list[torch.nn.Module]:
        """The roots that are alive."""
        return self._roots.found()

    @property
    def looked_s(self) -> float:
        """Seconds that hotlap itself has looked around, within a step of the script."""
        return self._roots.looked_s

    def listen(self, listener: Listener) -> None:
        """Tell `listener` from now on what the script does."""
        for part in (self._loaders, self._roots, self._optimizers):
            part.listener = listener
        backward: Any = torch.autograd.backward

        @functools.wraps(backward)
        def heard(tensors: Any, *args: Any, **kwargs: Any) -> None:
            if not in_backward():  # else it is a part of one that was heard
                listener.backward(tensors)
            backward(tensors, *args, **kwargs)

        # Tensor.backward looks it up there at each call.
        self.patches.put(torch.autograd, "backward", heard)

    def listen_no_more(self) -> None:
        """What follows is nobody's business but hotlap's own."""
        for part in (self._loaders, self._roots, self._optimizers):
            part.listener = None

    def remove(self) -> None:
        """Take everything away again; settings in force on objects that exist stay there."""
        self.patches.undo()

    def _made(self, optimizer: Optimizer) -> None:
        self._roots.made(optimizer)

    def _stepped(self) -> None:
        self._switches.stepped()
        self._loaders.stepped()
        self._roots.stepped()
