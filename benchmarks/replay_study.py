"""Whole studies on a recorded table, many in a minute: tune.py's own course on a virtual clock.

    from benchmarks.replay_study import replay_study
    study = replay_study(Table.read(Path("table.jsonl")), seed=3, budget_s=300)
    study.regret, study.clock_s

The same as `python tune.py runner=replay runner.table=table.jsonl`, without the study's file on
disk and without the lines on the screen.
"""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import objectives
from conf.cli import DONE
from conf.prepare import Request, prepare
from conf.schema import Constraints, TuneConfig
from conf.session import Session
from hotlap import frozen
from hotlap.errors import StudyFailed, UserInputError
from hotlap.settings import Settings
from runners.replay import Played, ReplayRunner
from runners.table import Table
from tune import tune


@dataclass(frozen=True)
class Replayed:
    """What a replayed study came to. Times in virtual seconds.

    Attributes:
        winner: The settings that were frozen: the baseline's, if nothing was proven faster. None
            if the study failed.
        found_better: Whether something was.
        regret: By which share (0..1) the winner's true rate stays behind the table's best; 1
            without a winner.
        speedup: What the study says of its winner, None if nothing was proven.
        true_speedup: The winner's true rate over the baseline's, None if one of the two has none.
        clock_s: The whole study.
        trials: Every trial in order, those of the proof included.
        beliefs: The best settings so far as the search itself saw them, each with the second from
            which on it did; the winner is no part of it.
        failed: Why there is no answer; empty if there is one.
    """

    winner: Settings | None
    found_better: bool
    regret: float
    speedup: float | None
    true_speedup: float | None
    clock_s: float
    trials: tuple[Played, ...]
    beliefs: tuple[tuple[float, Settings], ...]
    failed: str = ""

    @property
    def n_tried(self) -> int:
        """Settings values that were tried."""
        return len({trial.settings.key() for trial in self.trials})

    @property
    def searched_s(self) -> float:
        """When the last settings value that had not been tried before was done with."""
        seen: set[object] = set()
        end_s = 0.0
        for trial in self.trials:
            if trial.settings.key() not in seen:
                seen.add(trial.settings.key())
                end_s = trial.end_s
        return end_s


def replay_study(
    table: Table,
    seed: int,
    budget_s: float,
    sampler: str = "tpe",
    pruner: str = "racing",
    words: tuple[str, ...] = (),
) -> Replayed:
    """Run one study on `table`; one that fails, as where its baseline does, is an answer too.

    Args:
        table: What was recorded, read from a file.
        seed: Of the sampler, the order of the rounds and the noise.
        budget_s: The virtual wall clock of the study.
        sampler: An option of the group `sampler`.
        pruner: An option of the group `pruner`.
        words: Further overrides, as for tune.py.

    Raises:
        UserInputError: An override is wrong.
    """
    config = _config(table.path, sampler, pruner, words)
    config = replace(
        config,
        seed=seed,
        budget=f"{budget_s}s",
        sampler=replace(config.sampler, seed=seed),
    )
    table = within_limits(table, config.constraints)
    runner = ReplayRunner(table, seed)
    try:
        with TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            code = tune(replace(config, resume=folder), "", runner)
            assert code == DONE
            result = json.loads((Path(folder) / "result.json").read_text())
            winner = frozen.load(Path(folder) / "frozen.yaml")
    except StudyFailed as error:
        return Replayed(None, False, 1.0, None, None, *_seen(runner), str(error))
    found_better = bool(result["found_better"])
    rate, base_rate = table.true_rate(winner), table.true_rate(table.base)
    return Replayed(
        winner,
        found_better,
        table.regret(winner),
        result["winner"]["speedup"]["value"] if found_better else None,
        rate / base_rate if rate > 0 and base_rate > 0 else None,
        *_seen(runner),
    )


def _seen(
    runner: ReplayRunner,
) -> tuple[float, tuple[Played, ...], tuple[tuple[float, Settings], ...]]:
    """The clock, the trials and the beliefs at a study's end."""
    runner.note_belief()
    return runner.clock(), tuple(runner.trials), tuple(runner.beliefs)


def within_limits(table: Table, constraints: Constraints) -> Table:
    """The table with those winners alone that a study would take."""
    kept = objectives.Constraints(vars(constraints), table.header.get("facts", {}))
    for row in (row for row in table.of(table.base) if row.outcome == "ok"):
        kept.allow(kept.violations(row.measurement))
    return table.within(lambda m: max(kept.violations(m), default=0.0) <= 0)


@cache
def _config(path: Path, sampler: str, pruner: str, words: tuple[str, ...]) -> TuneConfig:
    """The config that tune.py would compose; composing takes longer than the study."""
    typed = ["runner=replay", f"runner.table={path}", f"sampler={sampler}", f"pruner={pruner}"]
    with Session("config") as session:
        request = Request(session, [*typed, *words])
        prepare(request)
    if request.faults:
        raise UserInputError("\n".join(map(str, request.faults)))
    (job,) = request.jobs
    assert isinstance(job.config, TuneConfig)
    return job.config
