"""A session of a whole study on a simulated machine, put together as tune.py does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from simulated import Clock, SimulatedRunner, Watching

from hotlap.job import Job, Window
from hotlap.settings import Settings
from objectives import Objective, Throughput
from search_spaces import Knob, Space
from studies import (
    Budget,
    Confirmed,
    Course,
    Found,
    Lab,
    Ledger,
    Plan,
    Rounds,
    Search,
    confirm,
    constraints_of,
    pruners,
    samplers,
)
from studies.prover import PROVE

KEEP = PROVE
BASE = Settings()
EXPERT = Settings(num_workers=2, pin_memory=True)
KNOBS: dict[str, dict[str, Any]] = {
    "num_workers": {"choices": [0, 1, 2, 4]},
    "prefetch_factor": {"choices": [2, 4, 8]},
    "pin_memory": {"choices": [False, True]},
    "memory_format": {"choices": ["contiguous", "channels_last"]},
}
"""4 + 3 * 12 = 40 settings: without workers there is no prefetching."""


class Replay:
    """One session; the parts are there to be looked at.

    With `in_memory` no file is written, which takes seven times as long as all the rest.
    """

    def __init__(
        self,
        folder: Path,
        rate: Callable[[Settings], float],
        *,
        knobs: Mapping[str, Mapping[str, Any]] = KNOBS,
        base: Settings = BASE,
        budget_s: float = 600.0,
        sampler: str = "tpe",
        pruner: str = "racing",
        window_s: float = 4.0,
        search: Mapping[str, Any] | None = None,
        seed: int = 0,
        objective: Objective | None = None,
        in_memory: bool = False,
        **machine: Any,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.clock = Clock()
        self.runner = SimulatedRunner(self.clock, rate, seed=seed, **machine)
        self.seen = Watching()
        self.budget = Budget(budget_s, clock=self.clock)
        job = Job("simulated.workload", window=Window(max_s=window_s))
        objective = objective or Throughput()
        self.lab = Lab(self.runner, job, folder, objective, self.seen)
        self.base = base
        space = Space([Knob.from_mapping(n, k) for n, k in knobs.items()], base)
        self.space = space.within(self.runner.known)
        self.ledger = Ledger(
            folder,
            "study",
            objective.direction,
            samplers.make(sampler, seed, 8, constraints_of),
            pruners.make(pruner),
            {f"search_space.{n}": k.get("choices") for n, k in knobs.items()},
            in_memory,
        )
        self.search = Search(self.ledger, self.lab, self.space, self.budget, KEEP, **(search or {}))

    def searched(self, n_trials: int | None = None, expert: Settings = EXPERT) -> str:
        """Baseline, expert, search: returns the sentence that says why it ended."""
        self.search.first("baseline", self.base)
        self.search.first("expert", expert)
        return self.search.run(n_trials)

    def proven(self, expert: Settings = EXPERT, **options: Any) -> Confirmed:
        """The confirm stage."""
        arms = {"baseline": self.base, **self.search.best(2), "expert": expert}
        rounds = Rounds(self.lab, "confirm", self.budget.left, 8, **options)
        return confirm(rounds, arms)

    def studied(
        self, expert: Settings = EXPERT, make_gate: Any = None, known: Any = None, **plan: Any
    ) -> Found:
        """The whole course; `known` is what the bank knows."""
        course = Course(
            self.lab,
            self.search,
            self.space,
            self.budget,
            Plan(**{"diagnose": False, **plan}),
            self.seen,
            make_gate=make_gate,
        )
        return course.run(self.base, expert, known)

    def outcomes(self, kind: str) -> list[str]:
        """How this session's trials of a kind ended."""
        return [t.run.outcome for t in self.seen.trials if t.kind == kind]
