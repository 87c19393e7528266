"""What the stages need of the other rooms; tune.py hands it in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import optuna

from hotlap.measurement import Measurement
from hotlap.settings import Settings
from runners.protocol import Run


class Space(Protocol):
    """A search space whose knobs are active on this machine.

    Attributes:
        known: All of its settings that can be tried, where others cannot; None where all can.
    """

    @property
    def known(self) -> Sequence[Settings] | None: ...  # noqa: D102

    def suggest(self, trial: optuna.trial.BaseTrial) -> Settings:
        """Settings with the trial's suggestions over the base."""

    def params_of(self, settings: Settings) -> dict[str, Any]:
        """The parameters that would suggest `settings`."""

    def nearest(self, settings: Settings, /, **changes: Any) -> Settings:
        """The point of the space that lies nearest to `settings` with these changes."""

    def grid(self) -> Iterator[Settings]:
        """All settings there are."""

    @property
    def size(self) -> int:
        """How many settings there are."""

    def neighbours(self, settings: Settings) -> Iterator[tuple[str, Any, Settings]]:
        """Settings that differ in one knob: its name, its value there, the settings."""

    def distance(self, settings: Settings, params: Mapping[str, Any]) -> int:
        """In how many parameters the settings differ from those of others."""


class Objective(Protocol):
    """What is better."""

    @property
    def direction(self) -> Literal["maximize", "minimize"]:
        """Whether more is better."""

    def value(self, measurement: Measurement) -> float:
        """The number to optimize."""


@dataclass(frozen=True)
class Trial:
    """One settings value tried, and what came of it.

    Attributes:
        number: Counts the measured trials of a study from 0; the trial's folder bears it.
        kind: "baseline", "expert", "repeat" (of the baseline), "search", "ablate", "confirm" or
            "diagnosis" (one side alone).
        settings: What was tried.
        run: What came of it.
        value: The objective's value; 0 if nothing was measured.
        ran_out: Whether it was ended because the time that the stage gave it was over.
        ended_s: When it ended, on the runner's clock.
    """

    number: int
    kind: str
    settings: Settings
    run: Run
    value: float
    ran_out: bool = False
    ended_s: float = 0.0


class Observer(Protocol):
    """Whoever wants to see the study go: the progress display, the tracker."""

    def stage(self, name: str, detail: str = "") -> None:
        """A stage begins."""

    def note(self, text: str) -> None:
        """A sentence for the user."""

    def preparing(self, what: str, n_done: int, n_wanted: int) -> None:
        """The workload prepares its data."""

    def trial_started(self, number: int, kind: str, settings: Settings) -> None:
        """A trial begins."""

    def block(self, samples_per_s: float) -> None:
        """A block was timed."""

    def trial_ended(self, trial: Trial) -> None:
        """A trial has ended and nothing of it is left."""
