"""What to type next: the words of tune.py's command line that the full run needs too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

SHARED = ("model", "data", "device", "seed", "runner", "tracking", "bank", "import_path")
"""Keys and groups that tune.py and train.py share."""


def shared_words(words: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """The overrides in `words` that train.py takes as well, after the user's config folder.

    Args:
        words: The overrides of one study.
        folders: Where config files are looked for, ours first.
    """
    flags = [word for folder in folders[1:] for word in ("--config-dir", str(folder))]
    keys = [word.partition("=")[0].lstrip("+~").partition(".")[0] for word in words]
    shared = (word for word, key in zip(words, keys, strict=True) if key in SHARED)
    return [*flags, *shared, *_epochs(words)]


def _epochs(words: Sequence[str]) -> list[str]:
    """`run.epochs=90` as train.py takes it, which trains for whole epochs."""
    given = [word.partition("=")[2] for word in words if word.startswith("run.epochs=")]
    return [f"epochs={value}" for value in given[-1:] if value.isdecimal() and int(value) > 0]
