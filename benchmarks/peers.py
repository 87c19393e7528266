"""Peers: what a good engineer would write in an afternoon instead of running hotlap.

Each starts one fresh process for each trial, times a fixed window in it after the same warm-up as
ours, and takes the settings with the best measured rate. How long such a window should be nobody
knows beforehand, and it decides how many settings can be tried: so each is run with several, from
ours at its shortest to ours at its longest (`WINDOWS_S`). They meet the recorded noise of ours, on
the same virtual clock:

- tpe, gp, random: Optuna's samplers with their own defaults, told of every trial;
- exhaustive: every settings value once, in random order;
- expert: the expert's settings by hand, and no search.

What is decided in their favour: they pay nothing for the probe, for Optuna's own thinking and for
proof; the baseline is their first trial; a knob that means nothing beside the others is not
suggested (`Space.suggest`); a settings value is never paid twice, its known rate is told again;
each is judged by the window that turned out to be its best. A failed trial is told as a rate of 0,
so that the sampler stays away. What the table does not have is not tried by them either: in its
place comes what is nearest to it of all that is left, as in ours.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import optuna

from benchmarks.judged import space_of
from hotlap.job import Job, Window
from hotlap.settings import Settings
from runners.replay import ReplayRunner
from runners.table import Table
from search_spaces import expert

SAMPLED = ("tpe", "gp", "random")
SEARCHERS = (*SAMPLED, "exhaustive")
NAMES = (*SEARCHERS, "expert")

WINDOWS_S = (2.0, 4.0, 8.0)
"""Ours has 2 s at the least, and 8 s at the most where it does not become precise earlier."""

NEVER_S = 1e9
"""No trial is cut off by the study's end: what is not done by then does not count."""

REPEATS = 5
"""After so many known proposals in a row an engineer lets the dice choose something untried."""


class Peer:
    """One study of a peer on a table.

    Args:
        table: What was recorded.
        seed: Of the sampler, the order and the noise.
        window_s: How long each trial is timed.

    Attributes:
        runner: Where trials run; it has the clock and what was played.
    """

    def __init__(self, table: Table, seed: int, window_s: float) -> None:
        self.runner = ReplayRunner(table, seed, fresh=True)
        self._chance = random.Random(seed)
        self._seed = seed
        self._window = Window(max_s=window_s, min_s=window_s)
        self.space = space_of(table).within(table.known)
        self._rates: dict[object, float] = {}

    @property
    def left(self) -> int:
        """How many settings values have not been tried."""
        return len({settings.key() for settings in self.space.grid()} - self._rates.keys())

    def run(self, name: str, horizon_s: float) -> ReplayRunner:
        """Play the peer `name` until all is tried or, but for `exhaustive`, until `horizon_s`.

        An exhaustive search is let run to its end: when that is, is a figure of its own.
        """
        self.measure(self.space.base)
        tries = self.order() if name == "exhaustive" else self.proposals(name)
        for _ in tries:
            if name != "exhaustive" and self.runner.clock() >= horizon_s:
                break
        return self.runner

    def order(self) -> Iterator[float]:
        """Every settings value once: yields its rate."""
        every = list(self.space.grid())
        self._chance.shuffle(every)
        for settings in every:
            yield self.measure(settings)

    def proposals(self, name: str) -> Iterator[float]:
        """What Optuna proposes, until nothing is left: yields rates."""
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(direction="maximize", sampler=sampler_of(name, self._seed))
        study.enqueue_trial(self.space.params_of(self.space.base))
        every = {settings.key() for settings in self.space.grid()}
        n_known, left = 0, every
        while left := left - self._rates.keys():
            asked = study.ask()
            settings = self.space.suggest(asked)
            if settings.key() not in every:
                study.tell(asked, state=optuna.trial.TrialState.FAIL)  # and so nothing
                nearest = self._nearest(asked.params, left)
                study.enqueue_trial(self.space.params_of(nearest))
                continue
            n_known = n_known + 1 if settings.key() in self._rates else 0
            study.tell(asked, self.measure(settings))
            if n_known >= REPEATS:
                untried = [s for s in self.space.grid() if s.key() in left]
                study.enqueue_trial(self.space.params_of(self._chance.choice(untried)))
            yield self._rates[settings.key()]

    def measure(self, settings: Settings) -> float:
        """Samples per second in one window of a fresh process; 0 if it failed. Paid once."""
        key = settings.key()
        if key not in self._rates:
            job = Job("peer", settings=settings.to_dict(), window=self._window)
            run = self.runner.run(job, Path(), lambda event: False, NEVER_S)
            self._rates[key] = run.measurement.samples_per_s if run.outcome == "ok" else 0.0
        return self._rates[key]

    def _nearest(self, params: Mapping[str, Any], left: Collection[object]) -> Settings:
        """Those of what is left, by their keys, with the fewest other values; any of several."""
        untried = [settings for settings in self.space.grid() if settings.key() in left]
        self._chance.shuffle(untried)
        return min(untried, key=lambda settings: self.space.distance(settings, params))


def sampler_of(name: str, seed: int) -> optuna.samplers.BaseSampler:
    """Optuna's sampler with its defaults; a Gaussian process knows that rates have noise."""
    if name == "tpe":
        return optuna.samplers.TPESampler(seed=seed)
    if name == "random":
        return optuna.samplers.RandomSampler(seed=seed)
    with warnings.catch_warnings():  # its interface may change, which a test would show
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.GPSampler(
            seed=seed, deterministic_objective=False, warn_independent_sampling=False
        )


def expert_settings(table: Table) -> Settings | None:
    """What the expert sets by hand, as in tune.py: the point of the space nearest to the rule's.

    None if the table does not have it.
    """
    by_hand = expert(table.base, table.header.get("facts", {}))[0]
    found = space_of(table).nearest(by_hand)
    return found if table.of(found) else None
