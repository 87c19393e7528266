"""Result: everything that a study ends with, and its machine-readable form, result.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hotlap.job import write_text
from hotlap.measurement import Rate
from hotlap.settings import Settings
from reports.arm import Arm
from reports.contribution import Contribution, Refusal
from reports.doubt import Doubt, parts

FORMAT = 2
"""Version of result.json's layout; it grows when a key changes its meaning or goes away."""


@dataclass(frozen=True)
class Result:
    """What the study found. Times in seconds, sizes in bytes, shares 0..1.

    Attributes:
        workload: Its name.
        study: The study's name.
        folder: The study's folder.
        baseline: PyTorch's defaults.
        winner: The best candidate of the confirm rounds, or the baseline if there was none. It is
            frozen only if its speedup's whole interval lies above 1.0, see `found_better`, and if
            nothing that was proven before is better, see `kept`.
        expert: Settings that an engineer would set by hand; None if they could not be measured.
        no_expert: Why these have no row of their own, a sentence; empty if they have one, or if a
            doubt or a refusal says how they failed.
        late: The same for each other arm, of which nobody knows whether it is better.
        frozen: The frozen settings file.
        kept: Whether it holds what an earlier session of the study had proven.
        earlier: What became of that, a sentence; empty if there was nothing, or if a better winner
            has just taken its place.
        contributions: What each changed setting of the winner brings; dropped ones too.
        facts: Of the machine.
        versions: Of the libraries.
        n_outcomes: Outcome -> number of trials that ended so, earlier sessions' too.
        dropped: A line for each knob that was left out, which and why.
        warnings: Doubts about it, each once.
        diagnosis: Which side is the bottleneck, a sentence each for "baseline" and "winner".
        wall_s: Of this session of the study.
        commands: What to type next: what for -> command.
        objective: What was optimized: throughput or run_time.
        epochs: Of the full run, None if it was not said.
        n_epoch_samples: Samples of an epoch of the full run, None if unknown.
        noise: What the machine's noise allows to show, a sentence; empty if it was not measured.
        searched: The speedup that the search itself had measured for the winner's settings, or for
            those that came closest; None if it did not measure them.
        searched_of: Whose figure that is, "trial 7", of which these are a part; empty if their own.
        refused: What was fast and may not be frozen.
        uncompared: Why no round could be compared; empty if one could, or nothing was to be.
        together: Those of the winner's settings that no rounds have shown to pay on their own.
        script: Somebody's own script and its arguments, if that was tuned.
        by_itself: Whether the baseline is that script by itself; else the user has asked for some
            of its settings.
        bank: How the study ended for the bank: added, updated, hit, kept or unsatisfied -> 1, the
            others -> 0; empty without a bank.
    """

    workload: str
    study: str
    folder: Path
    baseline: Arm
    winner: Arm
    expert: Arm | None = None
    no_expert: str = ""
    late: tuple[str, ...] = ()
    frozen: Path | None = None
    kept: bool = False
    earlier: str = ""
    contributions: tuple[Contribution, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    n_outcomes: dict[str, int] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    warnings: tuple[Doubt, ...] = ()
    diagnosis: Mapping[str, str] = field(default_factory=dict)
    wall_s: float = 0.0
    commands: dict[str, str] = field(default_factory=dict)
    objective: str = "throughput"
    epochs: float | None = None
    n_epoch_samples: int | None = None
    noise: str = ""
    searched: float | None = None
    searched_of: str = ""
    refused: tuple[Refusal, ...] = ()
    uncompared: str = ""
    together: tuple[str, ...] = ()
    script: str = ""
    by_itself: bool = False
    bank: dict[str, int] = field(default_factory=dict)

    @property
    def found_better(self) -> bool:
        """Whether the winner's whole interval lies above the baseline, and it may be frozen."""
        winner = self.winner
        return winner.speedup is not None and winner.speedup.low > 1.0 and not winner.barred

    @property
    def arms(self) -> dict[str, Arm]:
        """The compared arms by their name, in the order of the reports.

        A candidate that did not win is `best tried`; the baseline is not listed twice, nor as
        the expert.
        """
        arms = {"baseline": self.baseline}
        if self.expert is not None and self.expert.settings.key() != self.baseline.settings.key():
            arms["expert"] = self.expert
        if self.found_better:
            arms["winner"] = self.winner
        elif self.winner.settings.key() != self.baseline.settings.key():
            arms["best tried"] = self.winner
        return arms


def to_dict(result: Result) -> dict[str, Any]:
    """Plain data for JSON: `format`, then the attributes of `Result`, nested as they are.

    `winner` is null if nothing was proven faster; what came closest is `best_tried` then.
    Each arm's `settings` holds all that mean something, `changed` those that differ from PyTorch's
    default. Each warning is an object of name, sentence, cause and advice. A number that is unknown
    or not finite is null, and so are both ends of an interval that says nothing.
    """
    data = {"format": FORMAT, "found_better": result.found_better, **_fields(result)}
    data["best_tried"] = None if result.found_better else data["winner"]
    data["winner"] = data["winner"] if result.found_better else None
    data["warnings"] = [parts(doubt) for doubt in result.warnings]
    return {name: _plain(value) for name, value in data.items()}


def write_json(result: Result, path: Path) -> None:
    """Write `to_dict(result)` as JSON to `path`, aside first and then renamed into place."""
    write_text(path, json.dumps(to_dict(result), indent=1, allow_nan=False) + "\n")


def _fields(item: Any) -> dict[str, Any]:
    return {name: getattr(item, name) for name in item.__dataclass_fields__}


def _plain(item: Any) -> Any:
    if isinstance(item, Arm):
        return _plain({**_fields(item), "changed": item.settings.changed()})
    if isinstance(item, Settings):
        return item.to_dict()
    if isinstance(item, Rate):
        ends = {"low": item.low, "high": item.high} if item.known else {"low": None, "high": None}
        return _plain({"value": item.value, **ends})
    if isinstance(item, (Contribution, Refusal)):
        return _plain(_fields(item))
    if isinstance(item, Mapping):
        return {str(key): _plain(value) for key, value in item.items()}
    if isinstance(item, (list, tuple)):
        return [_plain(value) for value in item]
    if isinstance(item, float):
        return item if math.isfinite(item) else None
    return item if item is None or isinstance(item, (bool, int, str)) else str(item)
