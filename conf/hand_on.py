"""What to type next: the words of tune.py's command line that the full run needs too."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

SHARED = ("model", "data", "device", "seed", "runner", "tracking", "import_path")
"""Keys and groups that tune.py and train.py share."""

FLAGS = ("--config-dir", "-cd")


def shared_words(argv: Sequence[str], model: str) -> str:
    """The words of `argv` that train.py takes as well, quoted for a shell.

    Args:
        argv: The words after the script's name.
        model: The model of this study; it stands for a sweep's `+model=a,b`.
    """
    kept = []
    flag_before = False
    for word in argv:
        if word == "--":
            break
        name = word.partition("=")[0]
        if flag_before or name in FLAGS:
            kept.append(word)
            flag_before = name in FLAGS and "=" not in word
            continue
        key = name.lstrip("+~")
        if key == "model":
            kept.append(f"+model={model}")
        elif key.partition(".")[0] in SHARED:
            kept.append(word)
    return shlex.join(kept)
