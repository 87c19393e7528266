"""Backend flags and threads: imposed at the start, kept when the script sets them again.

What the script sets is heard: the probe's report says so, and the last words of a full run what of
it was overruled. One thing it asks for is left to it, determinism: then the imposed cuDNN settings
give way.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from hotlap.flags import SDPA_SWITCHES, apply_process
from hotlap.interpose.attention_kernel import AttentionKernel
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.patches import Patches
from hotlap.interpose.place import Places
from hotlap.interpose.seen import Seen, SetSeen, simple
from hotlap.notes import Note, tell
from hotlap.settings import AGAINST_DETERMINISM
from hotlap.unseen import unseen

CUDNN = {
    "benchmark": "cudnn_benchmark",
    "benchmark_limit": "cudnn_benchmark_limit",
    "deterministic": "cudnn_deterministic",
    "allow_tf32": "cudnn_allow_tf32",
}
"""Attribute of torch.backends.cudnn -> setting."""


class Switches:
    """Puts flags and threads in force and guards them.

    The attention kernel is guarded in training alone: who evaluates has the script's own switches.
    """

    def __init__(
        self,
        imposed: Imposed,
        notes: list[Note],
        seen: Seen,
        places: Places,
        kernel: AttentionKernel,
    ) -> None:
        self._imposed = imposed
        self._names = imposed.names - {"sdpa_backend"}  # that one is `kernel`'s
        self._kernel = kernel
        self._notes = notes
        self._seen = seen
        self._places = places
        self._pid = os.getpid()
        self._before = {name: _flag(name) for name in AGAINST_DETERMINISM}
        self._released: set[str] = set()

    def put(self) -> None:
        """Put what is imposed in force; nothing imposed, nothing touched."""
        self._notes += apply_process(self._imposed.alone(), self._names)

    def stepped(self) -> None:
        """This process trains: what is imposed holds in it, even if the script has forked it."""
        if os.getpid() != self._pid:
            self._pid = os.getpid()
            names = self._names - self._released
            apply_process(self._imposed.alone(), names)  # its notes are those of the start

    def install(self, patches: Patches) -> None:
        """Hear what the script sets from now on."""
        self._guard(patches, torch, "set_num_threads", "intraop_threads")
        self._guard(patches, torch, "set_num_interop_threads", "interop_threads")
        self._guard(patches, torch, "set_float32_matmul_precision", "float32_matmul_precision")
        self._guard(patches, torch, "use_deterministic_algorithms", "deterministic")
        self._guard(
            patches, torch, "set_deterministic_debug_mode", "deterministic", _asks_for_determinism
        )
        for kernel, switch in SDPA_SWITCHES.items():
            meant = functools.partial(_one_of_several, kernel)
            self._guard(patches, torch.backends.cuda, switch.__name__, "sdpa_backend", meant)
        cudnn = type(torch.backends.cudnn)
        for attribute, setting in CUDNN.items():
            plain = vars(cudnn).get(attribute)
            if hasattr(plain, "__set__"):  # without cuDNN the limit is no property
                patches.put(cudnn, attribute, _Guarded(plain, setting, self._goes_through))
        self._guard_matmul(patches)
        self._guard_newer_cudnn(patches)
        everything = type(torch.backends)
        if plain := _newer(everything):
            general = _Guarded(plain, "", self._hear_general, self._look_at_precisions)
            patches.put(everything, "fp32_precision", general)

    def _guard(
        self,
        patches: Patches,
        owner: Any,
        name: str,
        setting: str,
        meant: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        plain: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(plain)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            values = [*args, *kwargs.values()]
            value = values[0] if values else None
            if self._goes_through(setting, meant(value), sys._getframe(1)):
                return plain(*args, **kwargs)
            return None

        patches.put(owner, name, guarded)

    def _guard_matmul(self, patches: Patches) -> None:
        kind = type(torch.backends.cuda.matmul)
        plain: Any = kind.__setattr__

        @functools.wraps(plain)
        def __setattr__(self: Any, name: str, value: Any) -> None:
            if name not in ("allow_tf32", "fp32_precision") or goes_through(
                "float32_matmul_precision", _matmul_precision(name, value), sys._getframe(1)
            ):
                plain(self, name, value)

        goes_through = self._goes_through
        patches.put(kind, "__setattr__", __setattr__)

    def _guard_newer_cudnn(self, patches: Patches) -> None:
        # Since torch 2.9: of convolutions, of recurrent layers, of both without one of their own.
        cudnn: Any = torch.backends.cudnn
        hear, then = self._hear_newer, self._look_at_precisions
        for kind in (type(cudnn), type(getattr(cudnn, "rnn", None))):
            if plain := _newer(kind):
                newer = _Guarded(plain, "cudnn_allow_tf32", hear, then)
                patches.put(kind, "fp32_precision", newer)
        if not hasattr(cudnn, "conv"):
            return
        kind = type(cudnn.conv)  # also that of other backends' switches
        write: Any = kind.__setattr__

        @functools.wraps(write)
        def __setattr__(self: Any, name: str, value: Any) -> None:
            if name != "fp32_precision" or self.backend != "cuda":
                write(self, name, value)
            elif hear("cudnn_allow_tf32", value, sys._getframe(1)):
                write(self, name, value)
                then()

        patches.put(kind, "__setattr__", __setattr__)

    def _hear_newer(self, setting: str, value: Any, frame: FrameType) -> bool:
        return self._goes_through(setting, value == "tf32", frame)

    def _look_at_precisions(self) -> None:
        """Tell what the script has set as it is now: a wide switch leaves narrower ones alone."""
        backends: Any = torch.backends
        tf32 = {backends.cudnn.conv.fp32_precision, backends.cudnn.rnn.fp32_precision} == {"tf32"}
        cudnn = self._seen.sets.get("cudnn_allow_tf32")
        if cudnn is not None and not cudnn.overruled:
            cudnn.value = tf32
        tf32 = backends.cuda.matmul.fp32_precision == "tf32"
        matmul = self._seen.sets.get("float32_matmul_precision")
        if matmul is not None and not matmul.overruled and tf32 == (matmul.value == "highest"):
            matmul.value = "high" if tf32 else "highest"

    def _hear_general(self, _: str, value: Any, frame: FrameType) -> bool:
        # It changes only what has no value of its own, so nothing that is imposed.
        if value in ("tf32", "ieee"):
            precision = _matmul_precision("fp32_precision", value)
            self._goes_through("float32_matmul_precision", precision, frame)
            self._goes_through("cudnn_allow_tf32", value == "tf32", frame)
        return True

    def _goes_through(self, setting: str, value: Any, frame: FrameType) -> bool:
        """Note what the script sets, and say whether it takes effect."""
        if not self._places.is_script(frame):
            return True
        where = self._places.of(frame)
        if setting in ("deterministic", "cudnn_deterministic") and value:
            self._seen.own.setdefault("deterministic", where)
            self._release(where)
        kept = setting in self._imposed and setting not in self._released
        self._seen.sets[setting] = SetSeen(setting, simple(value), where, overruled=kept)
        if os.getpid() != self._pid:
            return True  # a loader's worker has its own threads, and so has any that never trains
        return not kept or (setting == "sdpa_backend" and not self._kernel.within)

    def _release(self, where: str) -> None:
        for name in AGAINST_DETERMINISM:
            if name in self._imposed and name not in self._imposed.override:
                if name not in self._released:
                    tell(self._notes, name, f"the script asks for determinism ({where})")
                    self._released.add(name)
                    value = self._before[name]
                    if (before := self._seen.sets.get(name)) is not None:
                        value, before.overruled = before.value, False
                    setattr(torch.backends.cudnn, name.removeprefix("cudnn_"), value)


class _Guarded:
    """A property of a backend's module, which the script may set only if it goes through."""

    def __init__(
        self,
        plain: Any,
        setting: str,
        goes_through: Callable[[str, Any, FrameType], bool],
        then: Callable[[], None] = lambda: None,
    ) -> None:
        self._plain = plain
        self._setting = setting
        self._goes_through = goes_through
        self._then = then

    @unseen
    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self._plain.__get__(owner, kind)

    @unseen
    def __set__(self, owner: Any, value: Any) -> None:
        if self._goes_through(self._setting, value, sys._getframe(1)):
            self._plain.__set__(owner, value)
            self._then()


def _newer(kind: type) -> Any:
    """The property `fp32_precision` of a backend's module; None before torch 2.9."""
    plain = vars(kind).get("fp32_precision")
    return plain if hasattr(plain, "__set__") else None


def _flag(setting: str) -> Any:
    return getattr(torch.backends.cudnn, setting.removeprefix("cudnn_"))


def _asks_for_determinism(debug_mode: Any) -> bool:
    return debug_mode not in (0, "default")


def _matmul_precision(name: str, value: Any) -> str:
    """What a switch of torch.backends.cuda.matmul means as float32_matmul_precision."""
    tf32 = bool(value) if name == "allow_tf32" else value == "tf32"
    return "high" if tf32 else "highest"


def _one_of_several(kernel: str, on: Any) -> str:
    """What a switch of one attention kernel means: words, which are no value of the setting."""
    return f"{kernel} {'on' if on else 'off'}"
