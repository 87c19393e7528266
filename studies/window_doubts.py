"""Doubts that trials' windows give rise to: what was odd while they were timed.

Each is said once a study, with the number of the proof's runs that it touches.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from hotlap.measurement import FEW_STEPS, JITTER, Measurement, steady_rate
from hotlap.spoken import count, percent
from hotlap.window_end import rests_plainly
from studies.doubt import Doubt

MANY = 0.2
"""Up to this share of touched trials is passed over: a trimmed mean over blocks bears as much, and
what touches one trial of many is put right by the rounds that repeat it."""

BUSY = 0.1
"""Above this share of the CPU, others' work decides too."""

THROTTLED = 0.1
"""Above this share of the readings a limit holds the clocks down."""

MIB = 1 << 20

HELD_BYTES = 256 * MIB
"""A CUDA context alone takes more of a GPU's memory than this; an idle GPU has less in use."""

WHO_ELSE = {"gpu_other_processes", "gpu_other_bytes"}
"""Counters that tell of others on the GPU."""

ENDED_ITSELF = (
    "it trains for a few steps, and not for longer than a window",
    "let it train for longer (more epochs, more data: hotlap ends each trial itself)",
)
"""Cause and advice where the script ended while it warmed up: no window is long enough for that."""

FEW_BATCHES = 4
"""With fewer steps an epoch is mostly its start."""

MUCH = 0.2
"""Above this share of a script's time it matters whether what is left out is part of training."""

THROTTLES = {
    "sw_power_cap": "it draws as much power as its limit allows",
    "hw_power_brake_slowdown": "the power supply has told it to draw less",
    "sw_thermal_slowdown": "it is too warm",
    "hw_thermal_slowdown": "it is too warm",
    "hw_slowdown": "it is too warm or short of power",
    "sync_boost": "it waits for the clocks of another GPU of its group",
    "reliability": "its voltage is at the limit",
    "board_limit": "its board is at a limit",
}
"""What holds the clocks down, by the names of runners/gpu_watch.py."""


@dataclass(frozen=True)
class Watched:
    """A trial that ended well: what it measured, and how many batches its loader holds ready.

    Attributes:
        measurement: Of its window.
        n_prefetched: `num_workers * prefetch_factor`; 0 without workers.
    """

    measurement: Measurement
    n_prefetched: int = 0


def of_trials(trials: Sequence[Watched]) -> list[Doubt]:
    """All doubts that the windows of a study's trials give rise to."""
    kinds = (
        machine_busy,
        gpu_shared,
        clocks_throttled,
        gpu_unwatched,
        window_too_short,
        short_dataset,
        epoch_start_unknown,
        not_settled,
        much_left_out,
    )
    return [doubt for kind in kinds if (doubt := kind(trials))]


def machine_busy(trials: Sequence[Watched]) -> Doubt | None:
    """Others used the CPU while trials ran."""
    shares = [trial.measurement.other_cpu_share for trial in trials]
    touched = [share for share in shares if share > BUSY]
    if not _many(touched, trials):
        return None
    return Doubt(
        "machine-busy",
        f"others used {percent(statistics.median(touched))} of this machine's CPU during "
        f"{_of(touched, trials)}; the figures hold for a machine as busy as that, and the best "
        "settings for a quiet one may be others",
        "another job runs on this machine",
        "tune while the machine is as busy as it will be in the full run; to see who it is: top",
    )


def gpu_shared(trials: Sequence[Watched]) -> Doubt | None:
    """Others held the GPU when trials began."""
    counters = [trial.measurement.gpu for trial in trials]
    touched = [
        gpu
        for gpu in counters
        if gpu.get("gpu_other_processes", 0) or gpu.get("gpu_other_bytes", 0.0) > HELD_BYTES
    ]
    if not _many(touched, trials):
        return None
    n = round(max(gpu.get("gpu_other_processes", 0) for gpu in touched))
    held = max(gpu.get("gpu_other_bytes", 0.0) for gpu in touched)
    who = f"{n} process{'es' * (n > 1)}" if n else "somebody whom the driver does not list"
    return Doubt(
        "gpu-shared",
        f"when {_of(touched, trials)} began, others were on the GPU: {who}, with "
        f"{held / MIB:,.0f} MiB of its memory in use; the figures hold for a GPU that is shared "
        "so, and its memory limits what can be tried",
        "another job runs on this GPU, or a notebook that was left open holds it",
        "to see who it is: nvidia-smi; end it, unless it will be there in the full run too",
    )


def clocks_throttled(trials: Sequence[Watched]) -> Doubt | None:
    """A limit held the GPU's clocks down."""
    counters = [trial.measurement.gpu for trial in trials]
    touched = [gpu for gpu in counters if gpu.get("gpu_throttle_share", 0.0) > THROTTLED]
    if not _many(touched, trials):
        return None
    names = {
        name: sum(gpu.get(f"gpu_throttle_{name}_share", 0.0) for gpu in touched)
        for name in THROTTLES
    }
    name = max(names, key=lambda reason: names[reason])
    known = names[name] > 0
    share = statistics.median(gpu["gpu_throttle_share"] for gpu in touched)
    return Doubt(
        "clocks-throttled",
        f"a limit held the GPU's clocks down for {percent(share)} of the time during "
        f"{_of(touched, trials)}" + (f", mostly {name}" if known else ""),
        THROTTLES[name] if known else "the driver does not say which limit it is",
        "nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE shows the limits; if the full run will "
        "have the same ones, the figures hold for it",
    )


def gpu_unwatched(trials: Sequence[Watched]) -> Doubt | None:
    """Nobody told who else was on the GPU, or what held its clocks down."""
    counters = [t.measurement.gpu for t in trials if t.measurement.peak_device_bytes is not None]
    unseen = [gpu for gpu in counters if not WHO_ELSE & gpu.keys()]
    unclocked = [gpu for gpu in counters if "gpu_throttle_share" not in gpu]
    touched = max(unseen, unclocked, key=len)
    if not _many(touched, trials):
        return None
    shared, clocks = "whether others were on the GPU", "whether a limit held its clocks down"
    what = [text for text, of in ((shared, unseen), (clocks, unclocked)) if _many(of, trials)]
    return Doubt(
        "gpu-unwatched",
        f"during {_of(touched, trials)} the driver did not tell {' or '.join(what)}; the figures "
        "hold for whatever there was",
        "its library (NVML) refuses that in this container or job or does not know it of this "
        "chip, the package nvidia-ml-py is missing, or the GPU is another maker's",
        "look beside a study: nvidia-smi -q -d PERFORMANCE,PIDS, on the host where a container "
        "shows too little",
    )


def window_too_short(trials: Sequence[Watched]) -> Doubt | None:
    """Batches of a window were made before it began."""
    touched = [trial for trial in trials if _served_from_the_queue(trial)]
    if not _many(touched, trials):
        return None
    return Doubt(
        "window-too-short",
        f"in {_of(touched, trials)} the window used batches that the loader had ready before it "
        "began: fewer steps than the loader's queue holds, or a queue that ran lower meanwhile; "
        "where it can be told, the rate is lowered by their share",
        "steps are long, or many batches are fetched ahead (num_workers * prefetch_factor)",
        "a longer window, and a budget that leaves room for it: "
        "window.min_s=30 window.max_s=30 budget=1h",
    )


def short_dataset(trials: Sequence[Watched]) -> Doubt | None:
    """The data set is shorter than the window, or an epoch has hardly any steps."""
    measured = [trial.measurement for trial in trials]
    whole = [m.n_epoch_steps or 0 for m in measured if m.epochs_in_blocks]
    few = [n for m in measured if 0 < (n := m.n_epoch_steps or 0) < FEW_BATCHES]
    touched = max(whole, few, key=len)
    if not _many(touched, trials):
        return None
    steps = count(round(statistics.median(touched)), "step")
    what = "whole epochs were timed" if touched is whole else "an epoch is mostly its start"
    return Doubt(
        "short-dataset",
        f"an epoch has {steps}, so in {_of(touched, trials)} {what}; with more data the epochs' "
        "starts weigh less in the rate",
        "the data set is a small one, or a part of the full run's",
        "if the full run has more data, tune with as much of it as lasts longer than window.max_s",
    )


def epoch_start_unknown(trials: Sequence[Watched]) -> Doubt | None:
    """No epoch's border was met, and persistent workers may need a while there."""
    touched = [trial.measurement for trial in trials if not trial.measurement.epoch_start_known]
    if not _many(touched, trials):
        return None
    shares = [1 - m.rate.value / m.steady.value for m in touched if m.steady.value > 0]
    share = statistics.median(shares) if shares else 0.0
    return Doubt(
        "epoch-start-unknown",
        f"{_of(touched, trials)} had persistent workers and met no border between two epochs; an "
        f"epoch's start is counted as long as it can be, by {percent(share)} of the rate, and the "
        "true rate may be higher by as much",
        "epochs are longer than the window, and have few steps for each worker",
        "a window in which an epoch ends, and a budget that leaves room for it, as "
        "window.min_s=60 window.max_s=60 budget=2h",
    )


def not_settled(trials: Sequence[Watched]) -> Doubt | None:
    """Warm-up ended by its cap, or with the script itself."""
    touched = [trial for trial in trials if not trial.measurement.settled]
    if not _many(touched, trials):
        return None
    early = [trial for trial in touched if trial.measurement.ended_early is not None]
    if 2 * len(early) > len(touched):
        return Doubt(
            "not-settled",
            f"in {_of(early, trials)} the script ended while it was warming up: what it did after "
            "its first two steps is all that was timed",
            *ENDED_ITSELF,
        )
    return Doubt(
        "not-settled",
        f"in {_of(touched, trials)} steps were still becoming faster, or the loader's queue was "
        "still on its way, when the time for warming up was over",
        "a slow first epoch (files not cached yet), a long queue of batches, or a noisy machine",
        "more time to warm up: window.max_warmup_s=60; a short budget= shortens it too",
    )


def much_left_out(trials: Sequence[Watched]) -> Doubt | None:
    """A script without a loader calls its model without gradients for much of its time."""
    shares = [trial.measurement.left_out_share for trial in trials]
    touched = [share for share in shares if share > MUCH]
    if not _many(touched, trials):
        return None
    return Doubt(
        "much-left-out",
        f"in {_of(touched, trials)} {percent(statistics.median(touched))} of the script's time was "
        "left out: between some of its steps it calls its model without gradients, as in an "
        "evaluation; the figures are those of the steps alone",
        "frequent evaluations; or the rollouts of reinforcement learning, which are part of the "
        "training, so that the whole gains less than the figures say",
        "if they are rollouts, time two full runs: the script by itself, and python -m hotlap run "
        "--settings with the frozen file",
    )


def _served_from_the_queue(trial: Watched) -> bool:
    measured = trial.measurement
    blocks = measured.blocks
    if trial.n_prefetched == 0 or measured.epochs_in_blocks or not blocks:
        return False
    early = measured.ended_early
    enough = max(trial.n_prefetched, FEW_STEPS * measured.num_workers)
    if sum(block.steps for block in blocks) < enough:
        before = measured.warmup[-1] if measured.warmup else None
        before = early.before if early is not None else before
        sizes = {"n_workers": measured.num_workers, "n_prefetched": trial.n_prefetched}
        looks = [block.n_ready for block in blocks if block.n_ready is not None]
        fills = bool(looks) and looks[-1] - looks[0] > JITTER
        return not fills and not rests_plainly(blocks, before, **sizes)
    # A queue that ran lower has lowered the rate. One that fills does no harm: the model binds.
    if early is not None:
        return early.made_share < 1.0
    return measured.steady.value < steady_rate(blocks).value


def _many(touched: Sequence[object], trials: Sequence[object]) -> bool:
    return len(touched) > MANY * len(trials)


def _of(touched: Sequence[object], trials: Sequence[object]) -> str:
    if len(trials) == 1:
        return "the only run"
    return f"{len(touched)} of {len(trials)} runs of the proof"
