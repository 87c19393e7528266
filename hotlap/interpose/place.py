"""Where in the script something was done: file and line of the calling frame.

A call that torch or hotlap makes for purposes of its own is not the script's.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from types import CodeType, FrameType
from typing import Any

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

_FACADES = tuple(os.sep + os.path.join("torch", *parts) for parts in (("amp",), ("cuda", "amp")))
"""Parts of torch whose classes only hand a script's call on to another class of torch."""


def torch_folder() -> str:
    """Torch's own folder, with a separator at its end; found without importing torch."""
    module = sys.modules.get("torch")
    spec = module.__spec__ if module is not None else find_spec("torch")
    assert spec is not None and spec.origin is not None, "torch is installed wherever hotlap is"
    return os.path.dirname(spec.origin) + os.sep


def maker(frame: FrameType | None, made: Any) -> FrameType | None:
    """The frame that makes an object: not those of its own classes' constructors.

    No frame's variables are looked at: what the script deletes would live as long as the frame.
    """
    constructors = set(_constructors(type(made)))
    while frame is not None and frame.f_code in constructors:
        frame = frame.f_back
    return frame


def _constructors(kind: type) -> Iterator[CodeType]:
    for one in kind.__mro__:
        function: Any = vars(one).get("__init__")
        while function is not None:
            if isinstance(code := getattr(function, "__code__", None), CodeType):
                yield code
            function = getattr(function, "__wrapped__", None)


class Places:
    """Tells the script's frames from torch's and hotlap's."""

    def __init__(self) -> None:
        self._torch = torch_folder()
        self._libraries = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")})

    def is_script(self, frame: FrameType | None) -> bool:
        """Whether the call comes from the script or a library it uses, and not from torch."""
        while frame is not None:
            name = frame.f_code.co_filename
            if not any(facade in name for facade in _FACADES):
                return not name.startswith((self._torch, _HERE))
            frame = frame.f_back
        return False

    def of(self, frame: FrameType | None) -> str:
        """`file:line` of the nearest frame of the script itself, else of the library it uses."""
        library = ""
        while frame is not None:
            name = frame.f_code.co_filename
            if not name.startswith((self._torch, _HERE, "<")):
                place = f"{name}:{frame.f_lineno}"
                if not name.startswith(self._libraries):
                    return place
                library = library or place
            frame = frame.f_back
        return library
