"""Frames of hotlap's that a warning neither names nor counts: it names the script's line.

A warning with `stacklevel=2` names whoever called what warns, and where hotlap stands between the
two that would be hotlap: another place than the plain script's, and one that filters for the
script's own modules do not know. Python's `warnings`, and `logging` since 3.11, leave out the
frames of the import machinery, which they know by two words in the name of a frame's file.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

AS = " (to warnings: importlib._bootstrap)"
"""What follows the file's name, which stays what a traceback shows and places are told by."""

Function = TypeVar("Function", bound=Callable[..., Any])


def unseen(function: Function) -> Function:
    """`function` itself, whose frames are left out from now on."""
    if isinstance(function, FunctionType):
        code = function.__code__
        if not code.co_filename.endswith(AS):
            function.__code__ = code.replace(co_filename=code.co_filename + AS)
    return function
