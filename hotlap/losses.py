"""Losses of a few steps that can be compared between settings: the answer to a job "losses".

All settings train on the same batches with the same random numbers, whoever draws them: the order
of samples is a function of the seed and the epoch, a sample's random numbers are one of the seed
and its index (see hotlap/same_samples.py), and those of a step are one of the seed and its number.
So a loader with workers gives what one without gives, and a step draws the same numbers whatever
the steps before it took. Yet dropout hands its numbers out in the order of memory, and another
layout, type or kernel gives another sample another one. `random_step` says that a step draws any;
then `job.run["dice"]` other than 0 shows how much that matters.

The worker answers with one event `losses`: `losses` (one a step), `batches` (a fingerprint of each
batch), `first_update` (how far the first update moved the parameters), `finite` (whether they are
finite at the end), `n_skipped_steps`, `random_step`, `repeatable` (same_samples.repeats_itself).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import torch

from hotlap.apply import Applied
from hotlap.errors import InvalidTrial
from hotlap.fingerprint import fingerprint
from hotlap.job import EventLog, Job
from hotlap.same_samples import repeats_itself, seed_all
from hotlap.workload import Workload

TRIES = 20
"""An update that the GradScaler skips is tried again on the same batch, so that step n has seen n
updates with all settings. From 2**16, torch's first scale, twenty halvings lead below 1."""

TOLD_S = 0.5
"""Between two signs of life."""

OFTEN = 4096
"""About so many elements of each parameter say how far an update moved it."""

STRIDE = 1_000_003
"""Keeps the seeds of epochs and steps apart; a prime."""


def train(workload: Workload, applied: Applied, job: Job, emit: EventLog) -> None:
    """Train `job.run["steps"]` steps and emit what came of them.

    Ends early at a loss that is not finite, or when an update is skipped again and again.

    Args:
        workload: What same_samples.repeatable returned.
        applied: It with settings in force.
        job: Its seed decides on batches and random numbers.
        emit: Where events go.
    """
    if applied.settings.compile_mode != "none":
        import torch._inductor.config as inductor

        inductor.fallback_random = True  # else compiled dropout draws other numbers
    n_steps, dice = int(job.run["steps"]), int(job.run.get("dice", 0))
    losses: list[float] = []
    batches: list[Any] = []
    first_update: float | None = None
    random_step = False
    told = time.monotonic()
    for i, batch in enumerate(_batches(applied, job.seed, n_steps)):
        batches.append(fingerprint(batch))
        before = _sampled(applied.model) if i == 0 else []
        loss, done, drew = _update(applied, batch, job.seed + dice + STRIDE * (i + 1))
        losses.append(loss)
        random_step = random_step or drew
        if i == 0:
            first_update = _distance(before, _sampled(applied.model))
        if not done or not math.isfinite(loss):
            break
        if time.monotonic() - told > TOLD_S:
            told = time.monotonic()
            emit("step", step=i + 1, loss=loss)
    emit(
        "losses",
        losses=losses,
        batches=batches,
        first_update=first_update,
        finite=_finite(applied.model),
        n_skipped_steps=applied.n_skipped_steps(),
        random_step=random_step,
        repeatable=repeats_itself(workload),
    )


def _batches(applied: Applied, seed: int, n: int) -> Iterator[Any]:
    """`n` batches, going round the loader as epochs do."""
    given = epoch = 0
    while given < n:
        seed_all(seed + epoch)  # what the loader draws for its workers
        iterator = iter(applied.loader)
        begun = given
        while given < n:
            if given > begun:
                seed_all(seed - STRIDE * given)  # the step before may have drawn any number
            try:
                batch = next(iterator)
            except StopIteration:
                break
            yield batch
            given += 1
        if given == begun:
            raise InvalidTrial(
                "the loader gives no batch: the dataset has fewer samples than batch_size and "
                "drop_last is on, or it is empty; make the batch smaller or give it more data"
            )
        epoch += 1


def _update(applied: Applied, batch: Any, seed: int) -> tuple[float, bool, bool]:
    """The loss, whether an update came of it, and whether the step drew random numbers.

    A skipped update is tried again.
    """
    for _ in range(TRIES):
        skipped = applied.n_skipped_steps()
        seed_all(seed)
        before = _generators(applied.device)
        loss = float(applied.step(batch).double())
        drew = not all(map(torch.equal, before, _generators(applied.device)))
        if applied.n_skipped_steps() == skipped:
            return loss, True, drew
    return loss, False, drew


def _generators(device: torch.device) -> list[torch.Tensor]:
    """The states of torch's random generators that a step may draw from."""
    states = [torch.get_rng_state()]
    return [*states, torch.cuda.get_rng_state(device)] if device.type == "cuda" else states


def _sampled(model: torch.nn.Module) -> list[torch.Tensor]:
    """Some elements of each parameter, the same ones whatever its memory format."""
    found = []
    for parameter in model.parameters():
        flat = parameter.detach().reshape(-1)
        found.append(flat[:: 1 + flat.numel() // OFTEN].cpu().clone())
    return found


def _distance(before: list[torch.Tensor], after: list[torch.Tensor]) -> float:
    wide = torch.complex128 if any(t.is_complex() for t in before) else torch.float64
    moved = [(a.to(wide) - b.to(wide)).norm().item() for a, b in zip(after, before, strict=True)]
    return math.hypot(*moved)


def _finite(model: torch.nn.Module) -> bool:
    return all(bool(torch.isfinite(p.detach()).all()) for p in model.parameters())
