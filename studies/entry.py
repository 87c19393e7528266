"""Entry: one frozen file of the bank, read without trusting it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap.errors import FrozenFileError
from hotlap.figures import number
from hotlap.frozen import load_frozen, plain
from hotlap.settings import Settings
from studies.durations import EAGER
from studies.fingerprints import machine_of, workload_of
from studies.goal import Goal

MOST_BYTES = 1 << 20
"""A frozen file has a few kilobytes; what is larger is something else."""


class NoEntry(Exception):
    """A file is no entry of a bank; the text says why."""


@dataclass(frozen=True)
class Entry:
    """Settings that were proven, and for what.

    Attributes:
        settings: What was proven.
        provenance: Where they come from (see studies/freezing.py); its `bank` says more.
        goal: What was searched for.
        path: The file.
    """

    settings: Settings
    provenance: Mapping[str, Any]
    goal: Goal
    path: Path

    @classmethod
    def read(cls, path: Path) -> Entry:
        """The entry in a file.

        Raises:
            NoEntry: There is none in it: it is damaged, or it is another kind of file.
        """
        try:
            if not path.is_file():
                raise NoEntry("it is no file")
            if path.stat().st_size > MOST_BYTES:
                raise NoEntry("it is too large for a frozen file")
            frozen = load_frozen(path)
            origin = plain(frozen.provenance)
            json.dumps([frozen.settings.to_dict(), origin])  # what no text can hold cannot be kept
            goal = Goal.from_dict(_mapping(origin, "bank").get("goal"))
            entry = cls(frozen.settings, origin, goal, path)
            _mapping(origin, "facts")
            workload, _, _ = entry.key
        except FrozenFileError as error:
            raise NoEntry(" ".join(str(error).split())) from None
        except (ValueError, RecursionError, OSError) as error:
            raise NoEntry(str(error)) from None
        if not workload:
            raise NoEntry("its facts do not say which workload it is for")
        if not _are_numbers(origin.get("speedup_ci95"), origin.get("speedup")):
            raise NoEntry("it has no proven speedup")
        return entry

    @property
    def facts(self) -> Mapping[str, Any]:
        """Of the machine and the workload for which it was proven."""
        facts: Mapping[str, Any] = self.provenance["facts"]
        return facts

    @property
    def key(self) -> tuple[str, str, str]:
        """Workload, machine and goal: at most one entry of a bank has it."""
        return workload_of(self.facts), machine_of(self.facts), self.goal.key

    @property
    def speedup(self) -> float:
        """Over the baseline, as it was proven."""
        return float(self.provenance["speedup"])

    @property
    def interval(self) -> tuple[float, float]:
        """The speedup's 95 % interval."""
        low, high = self.provenance["speedup_ci95"]
        return float(low), float(high)

    @property
    def date(self) -> str:
        """When it was proven, as ISO 8601 has it."""
        return str(self.provenance.get("date") or "")

    @property
    def together(self) -> tuple[str, ...] | None:
        """Its settings that no rounds have shown to pay on their own; None if it does not say."""
        names = self.provenance.get("tuned_together")
        return tuple(map(str, names)) if isinstance(names, list) else None

    @property
    def refuted(self) -> bool:
        """Whether it has failed to prove itself since, and nothing better was found."""
        return bool(self.provenance["bank"].get("refuted"))

    @property
    def compile_s(self) -> float:
        """What compiling the settings took, in seconds; inf where they do and it does not say."""
        if self.settings.compile_mode == EAGER:
            return 0.0
        seconds = number(self.provenance["bank"].get("compile_s"))
        return math.inf if seconds is None or seconds < 0 else seconds

    def is_same(self, other: Entry) -> bool:
        """Whether both were proven by the same study."""
        mine, theirs = ((e.key, e.date, e.settings.key()) for e in (self, other))
        return mine == theirs

    @property
    def job(self) -> str:
        """What the command line named (conf/job_key.py)."""
        return str(self.provenance["bank"].get("job", ""))


def _mapping(origin: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = origin.get(name)
    if not isinstance(value, Mapping):
        raise NoEntry(f"it has no provenance.{name}")
    return value


def _are_numbers(interval: Any, speedup: Any) -> bool:
    """Whether this is a speedup with its interval, all of it above 1."""
    if not isinstance(interval, list) or len(interval) != 2:
        return False
    low, high, value = (number(n) for n in (*interval, speedup))
    if low is None or high is None or value is None:
        return False
    return 1 < low <= value <= high
