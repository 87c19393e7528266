"""A script's text as a tree: it is looked at, not run."""

from __future__ import annotations

import ast
import warnings


def parsed(text: bytes | str) -> ast.Module:
    """The tree of Python text.

    Raises:
        SyntaxError: It is no Python.
        ValueError: It holds a null byte.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Python says of a text is the script's to hear
        return ast.parse(text)
