"""TableWriter: appends trials to a recorded table, a line at a time, and goes on where it ended.

A line is one write, so a killed recorder loses the trial that ran and no other; a line that was
cut off all the same is dropped when the recording goes on. A line for which the disk has no room is
taken back.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hotlap.errors import HotlapError, UserInputError
from hotlap.lock import take
from hotlap.settings import Settings
from runners.protocol import Run
from runners.row import Row, line_of
from runners.table import told
from runners.table_check import FORMAT, lines_of

SAME = ("workload", "settings", "space", "window")
"""Parts of the header that two sessions must have in common to record one table."""

SAME_MACHINE = ("cpu", "cores", "device", "device_name", "torch", "cuda")
"""And of the facts: the machine, and the torch on it."""

SAME_FACTS = (*SAME_MACHINE, "model_digest", "dataset_kind")
"""And what the workload was found to be made of: two projects may both have a `my_job.make`."""

BEGINS = b'{"table": '
"""Every table of ours does."""


class TableWriter:
    """One table that is being recorded; keep other recorders out of it by `with`.

    Args:
        path: The table; made if it is not there.
        header: Its first line: workload, settings (the baseline), space, window, facts, versions.
        note: Takes a sentence for the user, where the file system has no locks.

    Raises:
        UserInputError: The file holds a table of another workload, space or machine, or none at
            all, or another command records it, or it cannot be written to.
        HotlapError: The disk has no room for the first line.
    """

    def __init__(
        self,
        path: Path,
        header: Mapping[str, Any],
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._path = path
        self._fd = _opened(path)
        self._recorded: Counter[object] = Counter()
        try:
            self._hold(note)
            self._drop_cut_line()
            if os.fstat(self._fd).st_size == 0:
                self._write({"table": FORMAT, **header})
            else:
                self._go_on({"table": FORMAT, **header})
        except BaseException:
            os.close(self._fd)
            raise

    def n_recorded(self, settings: Settings) -> int:
        """How many lines the table has of `settings`."""
        return self._recorded[settings.key()]

    def append(self, settings: Settings, run: Run) -> None:
        """Keep what came of a trial with `settings`.

        Raises:
            HotlapError: The disk has no room for it; the lines before it are whole.
        """
        self._write(line_of(settings, run))
        self._recorded[settings.key()] += 1

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def _write(self, line: Mapping[str, Any]) -> None:
        text = (json.dumps(line) + "\n").encode()
        before = os.fstat(self._fd).st_size
        why = "no room is left"
        try:
            done = os.write(self._fd, text)
            os.fsync(self._fd)
        except OSError as error:
            done, why = 0, error.strerror or str(error)
        if done < len(text):
            os.ftruncate(self._fd, before)
            n_kept = sum(self._recorded.values())
            raise HotlapError(
                f"{self._path} cannot take another line ({why}); its {n_kept} recorded trials are "
                "kept. Make room where it lies, and type the same command again to go on"
            )

    def _hold(self, note: Callable[[str], None]) -> None:
        try:
            why_not = take(self._fd)
        except BlockingIOError:
            raise UserInputError(
                f"another command records {self._path}; wait until it has ended, or type "
                "record=<another file>"
            ) from None
        if why_not:
            note(f"{self._path} cannot be locked ({why_not}): let no other command record it")

    def _drop_cut_line(self) -> None:
        text = self._path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole < len(text) and text.startswith(BEGINS):  # anything else is not ours to cut
            os.ftruncate(self._fd, whole)

    def _go_on(self, header: Mapping[str, Any]) -> None:
        lines, faults = lines_of(self._path)
        # The baseline may be missing so far: it stands in whichever line its turn was.
        faults = [fault for fault in faults if not fault.startswith(f"{self._path}: ")]
        if faults:
            raise UserInputError(
                f"{told(faults)}\nNothing was recorded; mend the file or type record=<another file>"
            )
        _refuse_another(self._path, lines[0], json.loads(json.dumps(header)))
        for line in lines[1:]:
            self._recorded[Row.of(line).settings.key()] += 1


def _opened(path: Path) -> int:
    """The descriptor of the table at `path`, which is made if it is not there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise UserInputError(
            f"{path} cannot be written ({error.strerror or error}); type "
            "record=<a file in a folder of yours>"
        ) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UserInputError(
            f"{path} is no file that keeps what is written to it; type record=<a file>"
        )
    return descriptor


def _refuse_another(path: Path, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    old, new = _identity(before), _identity(wanted)
    differing = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    elsewhere = [name for name in differing if name in SAME_MACHINE]
    if elsewhere:
        changes = "; ".join(
            f"{name} was {old.get(name, 'not told')} there and is {new.get(name, 'not told')} here"
            for name in elsewhere
        )
        raise UserInputError(
            f"{path} was recorded on another machine, or with another torch: {changes}. Rates of "
            "the two cannot be mixed; go on there, or type record=<another file>"
        )
    if differing:
        changes = "; ".join(
            f"{name} was {old.get(name, 'not there')} and is {new.get(name, 'not there')}"
            for name in differing
        )
        raise UserInputError(
            f"{path} was recorded otherwise, and rows of the two cannot be mixed: {changes}. Go on "
            "with what it had before, or type record=<another file>"
        )


def _identity(header: Mapping[str, Any]) -> dict[str, Any]:
    """What two sessions have in common, flat, by the name a user knows it by."""
    found: dict[str, Any] = {}
    for part in SAME:
        for name, value in header.get(part, {}).items():
            found[f"{part}.{name}"] = value
    found.pop("workload.words", None)
    script = found.pop("workload.script", None) or {}
    found |= {f"script.{part}": value for part, value in script.items()}
    facts = header.get("facts", {})
    return found | {name: facts[name] for name in SAME_FACTS if name in facts}
