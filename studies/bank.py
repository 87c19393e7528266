"""Bank: frozen settings kept by machine and workload, in a folder that several studies share.

Each entry is a frozen file. Entries are found by what stands in them, not by their names. A file
is written aside and renamed, so nobody reads half of one; who adds or replaces one holds the
folder's lock meanwhile, so two studies never judge the same old entry at once. Files that are no
entries, or damaged, are told once, never used, never changed and never removed.

The ancestor is the knowledge bank of Ascend's AOE, which keeps tuned operators in the same way.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from hotlap import frozen
from hotlap.lock import take
from hotlap.settings import Settings
from studies.entry import Entry, NoEntry
from studies.fingerprints import machine_of, workload_of
from studies.goal import Goal

Stored = Literal["added", "updated", "kept"]

PATIENCE_S = 60.0
"""Others hold the lock while they read the folder: milliseconds an entry, and many times that where
all cores are busy. Longer, and something is wrong with the folder."""

LOOK_S = 0.02

LOCK = ".lock"


class Bank:
    """A folder of frozen files.

    Args:
        path: The folder; it is made if it is not there.
        note: Takes a sentence for the user.
    """

    def __init__(self, path: Path, note: Callable[[str], None]) -> None:
        self.path = path
        self._note = note
        self._told: set[Path] = set()

    def prepare(self) -> None:
        """Make the folder; if it cannot be written that is told, and what it holds still counts."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not os.access(self.path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            self.unwritable(error)

    def unwritable(self, error: OSError) -> None:
        """Tell, once, that nothing can be stored."""
        self._tell(
            self.path / LOCK,
            f"the bank {self.path} cannot be written: {error.strerror or error}; nothing new is "
            "kept there. Name another folder with bank.path=, or go without with bank=none",
        )

    def entries(self) -> list[Entry]:
        """All entries, the newest first; what is none is told.

        A folder that cannot be read holds none, and that is told too.
        """
        found = []
        try:
            paths = sorted(path for path in self.path.iterdir() if not path.name.startswith("."))
        except (FileNotFoundError, NotADirectoryError):  # nothing was ever stored
            return []
        except OSError as error:
            self._tell(self.path, f"the bank {self.path} cannot be read: {error.strerror}")
            return []
        for path in paths:
            try:
                found.append(Entry.read(path))
            except NoEntry as error:
                self._tell(path, f"{path} is no entry of the bank and is left alone: {error}")
        return sorted(found, key=lambda entry: entry.date, reverse=True)

    def find(self, facts: Mapping[str, Any], goal: Goal) -> Entry | None:
        """The entry of this workload on this machine for such a goal, if there is one."""
        key = (workload_of(facts), machine_of(facts), goal.key)
        return next((entry for entry in self.entries() if entry.key == key), None)

    def store(
        self,
        settings: Settings,
        provenance: Mapping[str, Any],
        keeps: Callable[[Entry], bool],
    ) -> Stored:
        """Add an entry, or replace the one with the same key unless `keeps` says it is as good.

        An entry that is kept and was searched for with less than this study's time or knobs bears
        this study's goal from now on: it has held its own against more.

        Args:
            settings: What was proven.
            provenance: As a frozen file has it, with `facts` and `bank`.
            keeps: Whether the old entry is as good.

        Raises:
            OSError: The folder cannot be written, or its lock is held for too long.
        """
        goal = Goal.from_dict(provenance["bank"]["goal"])
        with self._locked():
            old = self.find(provenance["facts"], goal)
            if old is None:
                path = self._free(provenance["facts"], goal)
                frozen.dump(path, settings, provenance)
                return "added"
            if not keeps(old):
                frozen.dump(old.path, settings, provenance)
                return "updated"
            if goal.answers(old.goal) and not old.goal.answers(goal):
                more = {"bank": {**old.provenance["bank"], "goal": goal.to_dict()}}
                frozen.dump(old.path, old.settings, {**old.provenance, **more})
            return "kept"

    def refute(self, entry: Entry, date: str) -> None:
        """Mark an entry that no longer proves itself: it is no hit, no start and no offer any more.

        All copies of it are marked, whatever their files are called. It stays in its file, which
        the next winner of such a study replaces. Where somebody has replaced or removed the entry
        meanwhile, nothing is marked.

        Raises:
            OSError: The folder cannot be written, or its lock is held for too long.
        """
        self._amend(entry, {"refuted": date})

    def learn(self, entry: Entry, compile_s: float) -> None:
        """Note what compiling an entry's settings has taken now, in all copies of it as well.

        Raises:
            OSError: The folder cannot be written, or its lock is held for too long.
        """
        self._amend(entry, {"compile_s": compile_s})

    def _amend(self, entry: Entry, more: Mapping[str, Any]) -> None:
        with self._locked():
            for copy in [one for one in self.entries() if one.is_same(entry)]:
                bank = {**copy.provenance["bank"], **more}
                frozen.dump(copy.path, copy.settings, {**copy.provenance, "bank": bank})

    def _tell(self, path: Path, text: str) -> None:
        if path not in self._told:
            self._told.add(path)
            self._note(text)

    def _free(self, facts: Mapping[str, Any], goal: Goal) -> Path:
        """A name that no file has: a damaged one may lie under the first."""
        stem = f"{workload_of(facts)}-{machine_of(facts)}-{goal.key}"
        n = 1
        while True:
            path = self.path / (f"{stem}.yaml" if n == 1 else f"{stem}-{n}.yaml")
            if not os.path.lexists(path):
                return path
            n += 1

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + PATIENCE_S
        with (self.path / LOCK).open("a", encoding="utf-8") as file:
            while True:
                try:
                    why_not = take(file.fileno())
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(LOOK_S)
            if why_not:
                self._tell(
                    Path(LOCK),
                    f"the bank {self.path} cannot be locked ({why_not}): of two studies that end "
                    "at once one may keep nothing there",
                )
            yield
