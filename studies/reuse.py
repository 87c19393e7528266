"""Reuse: what one study takes from the bank, and what it gives back.

- An *exact hit* is an entry of this workload on this machine, for a goal that holds this study's.
  The study proves it again by the confirm stage alone, and an ordinary search follows unless that
  succeeds.
- A *near hit* is any other entry of a similar workload (see studies/fingerprints.py), here or on
  another machine, or of this one for another goal. The nearest ones are the search's first trials.

An entry that was refuted is neither.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap.settings import Settings
from studies.bank import Bank
from studies.changes import differing
from studies.confirm import Confirmed
from studies.disproof import disproof, stays
from studies.durations import EAGER
from studies.entry import Entry
from studies.fingerprints import distance, machine_of, similar, workload_of
from studies.found import Found
from studies.freezing import provenance_of
from studies.goal import Goal
from studies.protocols import Space

MOST_NEAR = 3
"""Each near hit costs a trial; the fourth one rarely tells more than the first three."""

OUTCOMES = ("added", "updated", "hit", "kept", "unsatisfied")
"""How a study ends for the bank, one of these: as Ascend's AOE counts them."""


@dataclass(frozen=True)
class Known:
    """What the bank knows for a study.

    Attributes:
        hit: The exact hit.
        near: What the search may begin with, all within the space, nearest first; the hit's too.
            Without what the study tries in any case.
    """

    hit: Entry | None = None
    near: tuple[Settings, ...] = ()

    def start(self, failed: bool = False) -> list[Settings]:
        """What the search begins with, the hit first; one that has just `failed` is no start."""
        near = sorted(self.near, key=lambda settings: not self.is_hit(settings))
        return [one for one in near if not (failed and self.is_hit(one))][:MOST_NEAR]

    def is_hit(self, settings: Settings) -> bool:
        """Whether these are the hit's, and not a near one's."""
        return self.hit is not None and settings.key() == self.hit.settings.key()

    @property
    def sentence(self) -> str:
        """What there is, for the user; empty if there is nothing."""
        if self.hit is not None:
            return (
                f"the bank has settings for this workload on this machine, proven "
                f"{self.hit.speedup:.2f}x on {self.hit.date[:10]}: {self.hit.path}"
            )
        if not (n := len(self.start())):
            return ""
        one = "one settings value of a similar one starts"
        start = one if n == 1 else f"{n} settings of similar ones start"
        return f"the bank has nothing for this very study; {start} the search"


class Reuse:
    """The bank as one study uses it.

    Args:
        folder: The bank's folder; None for no bank.
        facts: Of machine and workload.
        job: What the command line named (conf/job_key.py).
        goal: What the study is asked for.
        space: The active search space.
        anyway: What the study tries in any case: the baseline and the expert's settings.
        refuse: Why settings are known to fail here; empty if they are not.
        note: Takes a sentence for the user.

    Attributes:
        known: What the bank knows.
    """

    def __init__(
        self,
        folder: Path | None,
        facts: Mapping[str, Any],
        job: str,
        goal: Goal,
        space: Space,
        anyway: Collection[Settings],
        refuse: Callable[[Settings], str],
        note: Callable[[str], None],
    ) -> None:
        # A study that an older hotlap began has no such facts.
        self._bank = Bank(folder, note) if folder is not None and workload_of(facts) else None
        self._facts = facts
        self._job = job
        self._goal = goal
        self._space = space
        self._anyway = {settings.key() for settings in anyway}
        self._refuse = refuse
        self._note = note
        self.known = self._looked_up()

    def keep(self, found: Found, workload: str, origin: Mapping[str, Any]) -> dict[str, int]:
        """Give the bank what was proven. Returns how the study ended for it: `OUTCOMES` -> 0 or 1.

        Args:
            found: What the study has found.
            workload: Its name.
            origin: What else belongs to the provenance: facts, versions, commit, study, date.

        Returns:
            Nothing without a bank, or if it cannot be written or read, which is told. Whatever goes
            wrong with it, the study keeps its result.
        """
        if self._bank is None:
            return {}
        try:
            outcome = self._given(self._bank, found, workload, origin)
        except OSError as error:
            self._bank.unwritable(error)
            return {}
        except Exception as error:  # noqa: BLE001  a folder that others fill may hold anything
            self._note(
                f"the bank {self._bank.path} has not got what this study found "
                f"({type(error).__name__}: {error}); the result stands all the same. Name another "
                "folder with bank.path=, or go without with bank=none"
            )
            return {}
        return {name: int(name == outcome) for name in OUTCOMES}

    def _given(self, bank: Bank, found: Found, workload: str, origin: Mapping[str, Any]) -> str:
        outcome, hit = "unsatisfied", self.known.hit
        if found.again:
            outcome = "hit"
        elif found.proof.found_better:
            outcome = self._stored(bank, found, workload, origin)
        if hit is not None and _failed(hit, found):
            bank.refute(hit, str(origin["date"]))  # unless it has been replaced
        elif not found.again and (held := bank.find(self._facts, self._goal)) is not None:
            # What it says may be why it was not proven again, and would be the next time too.
            compile_s = _compile_s(found.proof, held.settings)
            if compile_s and compile_s != held.compile_s:
                bank.learn(held, compile_s)
        return outcome

    def _stored(self, bank: Bank, found: Found, workload: str, origin: Mapping[str, Any]) -> str:
        proof, hit = found.proof, self.known.hit

        def keeps(old: Entry) -> bool:
            if old.refuted or (hit is not None and old.is_same(hit) and _failed(hit, found)):
                return False
            return stays(proof, old.settings, old.interval[0])

        settings = proof.winner.settings
        own = {"job": self._job, "goal": self._goal.to_dict()}
        more = {"bank": {**own, "compile_s": _compile_s(proof, settings)}}
        provenance = provenance_of(workload, proof, {**origin, **more})
        return bank.store(settings, provenance, keeps)

    def _looked_up(self) -> Known:
        if self._bank is None:
            return Known()
        self._bank.prepare()
        entries = [entry for entry in self._bank.entries() if not entry.refuted]
        here = (workload_of(self._facts), machine_of(self._facts))
        hits = [e for e in entries if e.key[:2] == here and self._answers(e)]
        near = [e for e in entries if similar(e.facts, self._facts)]
        near.sort(key=lambda entry: distance(entry.facts, self._facts))
        return Known(hits[0] if hits else None, self._starts(near))

    def _answers(self, entry: Entry) -> bool:
        """Whether the entry is the answer to this very study, and within its space."""
        if not entry.goal.answers(self._goal) or self._refuse(entry.settings):
            return False
        moved = differing(self._space.nearest(entry.settings), entry.settings)
        return all(self._goal.leaves_open(name) for name in moved)

    def _starts(self, entries: list[Entry]) -> tuple[Settings, ...]:
        near: dict[object, Settings] = {}
        for entry in entries:
            settings = self._space.nearest(entry.settings)
            if settings.key() not in self._anyway and not self._refuse(settings):
                near.setdefault(settings.key(), settings)
        return tuple(near.values())


def _compile_s(proof: Confirmed, settings: Settings) -> float:
    """What compiling them took, as their trials in the rounds tell; 0 where they tell nothing."""
    arm = proof.arm_of(settings)
    if arm is None or settings.compile_mode == EAGER:
        return 0.0
    return max((trial.run.measurement.compile_s for trial in arm.trials.values()), default=0.0)


def _failed(hit: Entry, found: Found) -> bool:
    """Whether rounds speak against the study's hit: those of its own proof, or the last ones."""
    return found.again is False or bool(disproof(found.proof, hit.settings, hit.interval[0]))
