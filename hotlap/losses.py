"""Losses of a few steps that can be compared between settings: the answer to a job "losses".

All settings train on the same batches with the same random numbers, whoever draws them: the order
of samples is a function of the seed and the epoch, a sample's random numbers are one of the seed
and its index (see hotlap/same_samples.py), and those of a step are one of the seed and its number.
So a loader with workers gives what one without gives, and a step draws the same numbers whatever
the steps before it took. Yet dropout hands its numbers out in the order of memory, so that another
layout or kernel drops other things; and training amplifies the smallest rounding. How much both
matter shows with `job.run["dice"]` other than 0: other random numbers for the model, and its
parameters nudged by their last bits, before the same batches.

The worker answers with one event `losses`: `losses` (one a step), `batches` (a fingerprint of each
batch), `first_update` (how far the first update moved the parameters), `finite` (whether they are
finite at the end), `n_skipped_steps`, `repeatable` (see same_samples.repeats_itself).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from hotlap.apply import Applied
from hotlap.epoch_seed import begin_epoch
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

NUDGE = 4.0
"""So many units in the last place (as a standard deviation)."""

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
        draw_as_plain()
    n_steps, dice = int(job.run["steps"]), int(job.run.get("dice", 0))
    if dice:
        nudge(applied.model, job.seed + dice)
    losses: list[float] = []
    batches: list[Any] = []
    first_update: float | None = None
    told = time.monotonic()
    for i, batch in enumerate(_batches(applied, job.seed, n_steps)):
        batches.append(fingerprint(batch))
        before = sampled(applied.model.parameters()) if i == 0 else []
        loss, done = _update(applied, batch, job.seed + dice + STRIDE * (i + 1))
        losses.append(loss)
        if i == 0:
            first_update = distance(before, sampled(applied.model.parameters()))
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
        repeatable=repeats_itself(workload),
    )


def _batches(applied: Applied, seed: int, n: int) -> Iterator[Any]:
    """`n` batches, going round the loader as epochs do."""
    given = epoch = 0
    while given < n:
        begin_epoch(applied.loader, seed + epoch)
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


def _update(applied: Applied, batch: Any, seed: int) -> tuple[float, bool]:
    """The loss, and whether an update came of it: a skipped one is tried again."""
    for _ in range(TRIES):
        skipped = applied.n_skipped_steps()
        seed_all(seed)
        loss = float(applied.step(batch).double())
        if applied.n_skipped_steps() == skipped:
            return loss, True
    return loss, False


def draw_as_plain() -> None:
    """Let what is compiled from now on draw the numbers that it would draw uncompiled: dropout."""
    import torch._inductor.config as inductor

    inductor.fallback_random = True


def nudge(model: torch.nn.Module, seed: int) -> None:
    """Change parameters by about their last bits."""
    seed_all(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() or parameter.is_complex():
                share = NUDGE * torch.finfo(parameter.dtype).eps
                parameter.mul_(1 + share * torch.randn_like(parameter))


def sampled(parameters: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Some elements of each parameter, the same ones whatever its memory format."""
    found = []
    for parameter in parameters:
        flat = parameter.detach().reshape(-1)
        found.append(flat[:: 1 + flat.numel() // OFTEN].cpu().clone())
    return found


def distance(before: list[torch.Tensor], after: list[torch.Tensor]) -> float:
    """How far parameters have moved: the Euclidean norm over their `sampled` elements."""
    wide = torch.complex128 if any(t.is_complex() for t in before) else torch.float64
    moved = [(a.to(wide) - b.to(wide)).norm().item() for a, b in zip(after, before, strict=True)]
    return math.hypot(*moved)


def _finite(model: torch.nn.Module) -> bool:
    return all(bool(torch.isfinite(p.detach()).all()) for p in model.parameters())
