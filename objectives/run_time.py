"""Run time: how long the whole training run would take, from one trial's measurement.

    process_start_s                       once: the interpreter, importing torch
    + startup_s                           once: building model, data and optimizer
    + compile_s                           once: compilation and the choice of algorithms
    + what the first epoch's start        once: workers that later epochs find there
      costs more than another's
    + epoch starts x epoch_start_s        each epoch, a begun one too
    + epochs x samples / steady rate      the steps themselves

So a setting that is bought with minutes before the first step wins in a long run only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hotlap.errors import UserInputError
from hotlap.measurement import Measurement
from objectives.protocol import Direction


@dataclass
class RunTime:
    """Projected seconds of the full run, from its process's start to its last step.

    A trial midway does not know yet what an epoch's start costs, and what its warm-up has not
    reached: its value is a lower bound. Where whole epochs are timed (a data set shorter than the
    window), their starts are part of the steady rate; `n_samples` cannot take them out again.

    Raises:
        UserInputError: `epochs` is not above 0, or without end.

    Attributes:
        epochs: Times through the data set, more than 0; need not be whole.
        n_samples: In one epoch of the full run; None takes what the trial's loader says.
        direction: Less is better.
        unit: Of the value.
        process_start_s: What passes before `startup_s` begins: a trial is forked from a process
            that has imported torch, a full run is not. The probe's facts tell it.
    """

    epochs: float
    n_samples: int | None = None
    direction: Direction = "minimize"
    unit: str = "s"
    process_start_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        if not 0 < self.epochs < math.inf:
            raise UserInputError(
                f"run.epochs is {self.epochs}; a full run has more than 0 epochs and comes to an "
                "end: type e.g. run.epochs=90"
            )

    def learn(self, facts: Mapping[str, Any]) -> None:
        """Learn how long a process takes to start, and whether the length of an epoch is known.

        Raises:
            UserInputError: Neither the workload nor `n_samples` says it.
        """
        if self.n_samples is None and not facts.get("n_epoch_steps"):
            raise UserInputError(_UNKNOWN_LENGTH)
        self.process_start_s = float(facts.get("process_start_s") or 0.0)

    def value(self, measurement: Measurement) -> float:
        """Seconds of the full run; infinite for a measurement without blocks.

        Raises:
            UserInputError: The length of an epoch is not known.
        """
        rate = measurement.steady.value
        if rate <= 0:
            return math.inf
        samples = self.n_samples or measurement.samples_per_step * (measurement.n_epoch_steps or 0)
        if not samples:
            raise UserInputError(_UNKNOWN_LENGTH)
        once_s = self.process_start_s + measurement.startup_s + measurement.compile_s
        starts_s = first_start_s(measurement) + math.ceil(self.epochs) * measurement.epoch_start_s
        return once_s + starts_s + self.epochs * samples / rate


def first_start_s(measurement: Measurement) -> float:
    """By how many seconds the first epoch starts later than the others.

    The warm-up's first block is the first step alone; its wait is the loader's first start.
    Persistent workers are started only then; elsewhere each epoch starts alike and nothing is left.
    """
    if not measurement.warmup:
        return 0.0
    steps = sum(block.steps for block in measurement.blocks)
    step_wait_s = sum(block.data_wait_s for block in measurement.blocks) / steps
    usual_s = step_wait_s + measurement.epoch_start_s
    if measurement.epochs_in_blocks:  # an epoch's start lies somewhere within its waits
        usual_s = step_wait_s * (measurement.n_epoch_steps or 1)
    return max(0.0, measurement.warmup[0].data_wait_s - usual_s)


_UNKNOWN_LENGTH = (
    "objective=run_time has to know how long an epoch is, and this workload's data does not say "
    "(its dataset has no length, or one batch is used for ever); run.n_samples takes the samples "
    "of an epoch: type e.g. run.n_samples=1281167, or objective=throughput"
)
