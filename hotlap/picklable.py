"""Whether the parts of a data loader can be pickled, as spawn and forkserver need."""

from __future__ import annotations

import io
import pickle
from typing import Any


def refused_by_pickle(**parts: Any) -> str:
    """Which part pickle refuses and why, or ""."""
    for name, part in parts.items():
        try:
            pickle.Pickler(_Nowhere()).dump(part)
        except Exception as error:  # whatever a user's __reduce__ or __getstate__ raises
            kind = type(part).__name__
            return f"{name} ({kind}) cannot be pickled: {error}"
    return ""


class _Nowhere(io.RawIOBase):
    """A file that keeps nothing: a data set held in memory is not copied to be tried."""

    def write(self, data: Any) -> int:
        return len(data)
