"""Journal: every record for the tracking server, kept in a local file until it is known there.

One JSON line a record, appended before anything is sent, and one line that says which were sent
and where to. So a dead server, a killed tuner or a full disk there loses nothing here, and another
server gets all of them. A full disk here is told once; what the server takes is not lost by it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap.room import no_room


@dataclass(frozen=True)
class Entry:
    """A record in the journal.

    Attributes:
        number: Its place in the journal.
        kind: What it tells: "study_started", "trial", "study_ended", "run_started", ...
        record: Plain data for JSON.
    """

    number: int
    kind: str
    record: dict[str, Any]


class Journal:
    """The entries of the file `path` that one tracking server does not know yet.

    What is known there is let go: a full run may add some entries a second for weeks.

    Args:
        path: The file.
        to: The server or database that they are sent to. Another one is sent all of the file, by a
            journal of its own.
        warn: Called with one sentence when the disk has no room for a line, once.
    """

    def __init__(
        self, path: Path, to: str, warn: Callable[[str], None] = lambda text: None
    ) -> None:
        self._path = path
        self._to = to
        self._warn = warn
        self._warned = False
        self._missing: dict[int, Entry] = {}
        self._next = 0
        for line in _lines(path):
            if "sent" not in line:
                entry = Entry(**line)
                self._missing[entry.number] = entry
                self._next = max(self._next, entry.number + 1)
            elif _place_of(line) == to:
                self._let_go(line["sent"])

    def append(self, kind: str, record: dict[str, Any]) -> Entry:
        """Keep one more record, not sent yet."""
        entry = Entry(self._next, kind, record)
        self._write({"number": entry.number, "kind": kind, "record": record})
        self._next += 1
        self._missing[entry.number] = entry
        return entry

    def sent(self, entries: Iterable[Entry]) -> None:
        """Note that `entries` are known to the server or database."""
        numbers = [entry.number for entry in entries]
        self._write({"sent": numbers, "to": self._to})
        self._let_go(numbers)

    def missing(self) -> list[Entry]:
        """The entries that the server or database does not know for sure, oldest first."""
        return [*self._missing.values()]

    def _let_go(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._missing.pop(number, None)  # its own line may be torn

    def _write(self, line: dict[str, Any]) -> None:
        try:
            # The leading newline ends a line that a kill or a full disk has torn.
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n" + json.dumps(line) + "\n")
        except OSError as error:
            if not (full := no_room(error)):
                raise
            if not self._warned:
                self._warned = True
                self._warn(
                    f"{self._path} takes no more ({full}); what the tracking server does not get "
                    "now is lost to it, so make room"
                )


def places(path: Path) -> list[str]:
    """Where entries of the file `path` were sent to, the latest first."""
    found: dict[str, None] = {}
    for line in _lines(path):
        if "sent" in line:
            found.pop(_place_of(line), None)
            found[_place_of(line)] = None
    return [*reversed(found)]


def _place_of(line: dict[str, Any]) -> str:
    return str(line.get("to", ""))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The file's JSON lines without torn ones, whose records were lost with their session."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for text in file:
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                continue
            if isinstance(line, dict):
                yield line
