"""What stands behind a study's answer as a doubt, from all that it has found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from hotlap.settings import Settings
from studies.doubt import more_rounds, more_time
from studies.doubts import (
    Doubt,
    Watched,
    baseline_drift,
    few_rounds,
    of_trials,
    two_modes,
    wide_interval,
)
from studies.found import Found
from studies.gate import NO_BASELINE
from studies.growth import MIN_POINTS, MIN_STEPS, can_tell
from studies.noise import Noise, Repeat
from studies.window_doubts import ENDED_ITSELF


def doubts_of(found: Found, folder: Path, n_trials: int = 0) -> list[Doubt]:
    """All doubts about a study, each once.

    Args:
        found: What it has found.
        folder: Of the study.
        n_trials: Of the search.
    """
    proof = found.proof
    again = more_rounds(folder, proof.n_rounds) if proof.capped else more_time(folder)
    trials = [trial for arm in proof.arms for trial in arm.trials.values()]
    watched = [
        Watched(t.run.measurement, t.settings.num_workers * t.settings.prefetch_factor)
        for t in trials
        if t.run.outcome == "ok"
    ]
    best, baseline = proof.best_tried, proof.baseline
    speedup = best.speedup(baseline)
    said: list[Doubt | None] = [*of_trials(watched)]
    rates = [(repeat.t, repeat.rate) for repeat in found.repeats]
    said.append(baseline_drift(rates, found.noise.spread, n_trials))
    said.append(_two_modes("the baseline", baseline.settings, found.repeats))
    if proof.found_better:
        runs = [Repeat.of(t) for t in best.trials.values() if t.run.outcome == "ok"]
        said.append(_two_modes("the winner", best.settings, runs))
    if proof.found_better:
        said.append(wide_interval("the winner", speedup, proof.n_rounds, again))
    elif proof.n_wanted:  # of what was refused before the rounds nothing was left to prove
        value = speedup.value if best is not baseline and not best.reasons else 0.0
        said.append(few_rounds(proof.n_rounds, best.name, value, again, proof.capped))
    said += [*_growth(found), *_unseen(found), *_unchecked(found, folder), *_could_not_win(found)]
    return [doubt for doubt in said if doubt is not None]


def _two_modes(who: str, settings: Settings, runs: Sequence[Repeat]) -> Doubt | None:
    modes = Noise.of(runs).modes if runs else ()
    if not modes:
        return None
    slow, fast = sorted(modes)
    blocks = [rate for run in runs for rate in run.blocks]
    slow_share = sum(rate < math.sqrt(slow * fast) for rate in blocks) / len(blocks)
    wait = settings.omp_wait_policy
    return two_modes(slow, fast, slow_share, wait if wait != "default" else "", who)


def _growth(found: Found) -> list[Doubt]:
    return [
        Doubt(
            "growing",
            f"with the {'winner' if found.proof.found_better else 'baseline'}, {growth.sentence}",
            "something is kept at each step: losses with their graphs, results, open files",
            "look for what the training loop or the data set appends to, or leaves open",
        )
        for growth in found.growth
    ]


def _unseen(found: Found) -> list[Doubt]:
    """The winner's trials had too few steps, or too few blocks, to show growth."""
    runs = [t.run.measurement for t in found.proof.winner.trials.values() if t.run.outcome == "ok"]
    runs = [m for m in runs if any(block.host_bytes is not None for block in m.blocks)]
    short = [m for m in runs if not can_tell(m, "host_bytes")]
    if not (found.proof.found_better and runs) or 2 * len(short) < len(runs):
        return []
    cause, advice = ENDED_ITSELF
    whole = [m for m in short if m.ended_early is None]
    if 2 * len(whole) >= len(short):
        # Of whichever was missing twice what is needed: that is longer than any of them was.
        steps_s = 2 * MIN_STEPS * max(m.step_time_s for m in whole)
        blocks_s = 2 * MIN_POINTS * max(block.seconds for m in whole for block in m.blocks)
        window_s = math.ceil(max(steps_s, blocks_s))
        cause = "steps or blocks are long, and windows short"
        advice = (
            "a window with more of them, and a budget that leaves room for it: "
            f"window.min_s={window_s} window.max_s={window_s}"
        )
    return [
        Doubt(
            "growth-unseen",
            f"most of the winner's trials had fewer than {MIN_STEPS} steps or {MIN_POINTS} blocks, "
            "so nobody knows whether its memory or open files grow from step to step",
            cause,
            advice,
        )
    ]


def _unchecked(found: Found, folder: Path) -> list[Doubt]:
    if not found.unchecked:
        return []
    cause = "the budget was too short for some more steps of winner and baseline"
    advice = f"{more_time(folder)}, or compare the losses of a full run"
    if found.unchecked.startswith(NO_BASELINE):
        cause = "the baseline's own steps on fixed batches fail or diverge: nothing to compare with"
        advice = f"see why in the logs in {folder}/numerics, or compare the losses of a full run"
    seen = f"the winner is proven faster, and {found.unchecked}"
    return [Doubt("numerics-unchecked", seen, cause, advice)]


def _could_not_win(found: Found) -> Sequence[Doubt]:
    refused = {name for name, _ in found.refused}
    return [
        Doubt(
            "could-not-win",
            f"{arm.name} could not win: {why}",
            "what fails, or breaks a limit, once in a few short runs is nothing to freeze for a "
            "long one",
            f"that trial's log: trials/{list(arm.trials.values())[-1].number:04d}/worker.log",
        )
        for arm in (*found.proof.arms[1:], *found.proof.failed)  # the baseline is frozen then
        for why in arm.reasons
        if arm.name not in refused
    ]
