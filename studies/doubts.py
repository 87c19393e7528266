"""All doubts by their names; one that finds nothing to say returns None."""

from studies.doubt import Doubt
from studies.study_doubts import baseline_drift, few_rounds, two_modes, wide_interval
from studies.window_doubts import (
    Watched,
    clocks_throttled,
    epoch_start_unknown,
    gpu_shared,
    gpu_unwatched,
    machine_busy,
    much_left_out,
    not_settled,
    of_trials,
    short_dataset,
    window_too_short,
)

__all__ = [
    "Doubt",
    "Watched",
    "baseline_drift",
    "clocks_throttled",
    "epoch_start_unknown",
    "few_rounds",
    "gpu_shared",
    "gpu_unwatched",
    "machine_busy",
    "much_left_out",
    "not_settled",
    "of_trials",
    "short_dataset",
    "two_modes",
    "wide_interval",
    "window_too_short",
]
