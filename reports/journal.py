"""Journal: every record for the tracking server, kept in a local file until it is known there.

One JSON line a record, appended before anything is sent, and one line that says which were sent
and where to. So a dead server, a killed tuner or a full disk there loses nothing here, and another
server gets all of them. A full disk here is told once; what the server takes is not lost by it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
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
    """The entries of the file `path`, and which of them were sent.

    Args:
        path: The file.
        warn: Called with one sentence when the disk has no room for a line, once.
    """

    def __init__(self, path: Path, warn: Callable[[str], None] = lambda text: None) -> None:
        self._path = path
        self._warn = warn
        self._warned = False
        self._entries: list[Entry] = []
        self._sent: dict[str, set[int]] = {}
        for line in _lines(path):
            if "sent" in line:
                self._note(line["sent"], str(line.get("to", "")))
            else:
                self._entries.append(Entry(**line))
        self._next = max((entry.number for entry in self._entries), default=-1) + 1

    def append(self, kind: str, record: dict[str, Any]) -> Entry:
        """Keep one more record, not sent yet."""
        entry = Entry(self._next, kind, record)
        self._write({"number": entry.number, "kind": kind, "record": record})
        self._next += 1
        self._entries.append(entry)
        return entry

    def sent(self, entries: Iterable[Entry], to: str) -> None:
        """Note that `entries` are known to the server or database `to`."""
        numbers = [entry.number for entry in entries]
        self._write({"sent": numbers, "to": to})
        self._note(numbers, to)

    def missing(self, to: str) -> list[Entry]:
        """The entries that the server or database `to` does not know for sure, oldest first."""
        known = self._sent.get(to, set())
        return [entry for entry in self._entries if entry.number not in known]

    @property
    def places(self) -> list[str]:
        """Where entries were sent to, the latest first."""
        return [*reversed(self._sent)]

    def _note(self, numbers: Iterable[int], to: str) -> None:
        known = self._sent.pop(to, set())
        self._sent[to] = known.union(numbers)  # the latest stands last

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


def _lines(path: Path) -> list[dict[str, Any]]:
    """The file's JSON lines without torn ones, whose records were lost with their session."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if isinstance(line, dict):
            lines.append(line)
    return lines
