"""What a script decides itself about precision and compilation, and where: only heard."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch
from torch import nn

from hotlap.interpose.patches import Patches
from hotlap.interpose.place import Places
from hotlap.interpose.roots import Roots
from hotlap.interpose.seen import Seen
from hotlap.unseen import unseen


class OwnWays:
    """Hears autocast, GradScaler, torch.compile and Module.compile."""

    def __init__(self, seen: Seen, places: Places, roots: Roots) -> None:
        self._seen = seen
        self._places = places
        self._roots = roots

    def install(self, patches: Patches) -> None:
        """Replace two constructors and two functions by ones that note their caller."""
        self._hear_enabled(patches, torch.amp.autocast_mode.autocast, "autocast")
        self._hear_enabled(patches, torch.amp.grad_scaler.GradScaler, "scaler")
        ways, roots = self, self._roots
        compile_any: Any = torch.compile
        compile_module: Any = nn.Module.compile

        @functools.wraps(compile_any)
        def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            ways._heard("compile", frame)
            with roots.asleep():  # it keeps the module's bound __call__
                made = compile_any(model, *args, **kwargs)
            if not ways._places.is_script(frame):
                return made
            place = ways._places.of(frame)
            if model is None:  # a decorator with arguments
                return unseen(lambda model: ways._follow(made(model), model, place))
            return ways._follow(made, model, place)

        @functools.wraps(compile_module)
        def compile_in_place(self: nn.Module, *args: Any, **kwargs: Any) -> None:
            ways._heard("compile", sys._getframe(1))
            compile_module(self, *args, **kwargs)
            roots.compiled_again(self)

        patches.put(torch, "compile", compile)
        patches.put(nn.Module, "compile", compile_in_place)

    def _follow(self, made: Any, model: Any, place: str) -> Any:
        """What the script gets for `model`, which torch has compiled into `made`."""
        if isinstance(model, nn.Module):
            self._roots.compiled_into(made, model)
            return made
        if made is model:  # compiling is switched off
            return made
        roots = self._roots

        @unseen
        @functools.wraps(made)
        def apart(*args: Any, **kwargs: Any) -> Any:
            return roots.within(place, made, *args, **kwargs)

        return apart

    def _hear_enabled(self, patches: Patches, kind: Any, name: str) -> None:
        make: Any = kind.__init__
        heard = self._heard

        @functools.wraps(make)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            make(self, *args, **kwargs)
            if getattr(self, "_enabled", False):
                heard(name, sys._getframe(1))

        patches.put(kind, "__init__", __init__)

    def _heard(self, name: str, frame: Any) -> None:
        if name not in self._seen.own and self._places.is_script(frame):
            self._seen.own[name] = self._places.of(frame)
