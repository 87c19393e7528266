"""May a winner be accepted: does it still learn what the baseline learns?

Losses of the same batches are compared, step by step where that means something. Training
amplifies the smallest difference. A ResNet-18 with momentum, trained with channels_last or with
two threads instead of one, was 1e-6 off at its first step, 1e-3 at its fifth and 80 % at its
thirtieth, while the mean of its thirty losses was 0.1 % to 2 % off; bfloat16 gave 0.1 % at the
first step and 0.8 % in the mean. A learning rate half as large again, which is another training,
was 21 % off in the mean. So the first loss (no update has been amplified yet) is held to a tight
bound, the mean of all losses to a loose one, and both widen by what the baseline's own repeats
show.

A small error of the gradient (a learning rate too large by half, parts of a batch left out) shows
late in losses, and at once in the size of the first update, before anything is amplified. So that
is compared too, where it is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hotlap.settings import Settings

FIRST_STEP = {"rounding": 1e-3, "precision": 3e-2}
"""How far off the first loss may be, as a share of it. Rounding: a thousand units in the last place
of float32 (1.2e-7) over the depth of a network, with room. Precision: bfloat16 has 8 significant
bits, so 0.4 % an operation, some of which add up."""

MEAN = {"rounding": 0.05, "precision": 0.05}
"""How far off the mean loss may be, as a share of it (see the module's text)."""

UPDATE = {"rounding": 0.02, "precision": 0.1}
"""How far off the size of the first update may be, as a share of it. Gradients have a network's
depth of roundings more than the loss, and an optimizer that divides by a gradient's size, as Adam
does, moves a parameter whose true gradient is zero by whatever its rounding error says."""

SPREAD = 3.0
"""How far beyond the repeats' own range (largest less smallest) the winner may lie, in ranges: the
range of four is two standard deviations, so this is six, for a range that is small by chance."""

FLOOR = 1e-5
"""Losses this close are equal: shares of zero mean nothing (torch.testing's atol for float32)."""

DATA = (
    "num_workers",
    "prefetch_factor",
    "persistent_workers",
    "multiprocessing_context",
    "in_order",
)
"""Settings that decide which random numbers augment a sample, or in which order batches come."""


def accepts(
    winner_losses: Sequence[float],
    baseline_losses_repeats: Sequence[Sequence[float]],
    numerics_class: str,
    winner_update: float | None = None,
    baseline_updates: Sequence[float | None] = (),
) -> tuple[bool, str]:
    """Whether the winner's losses are the baseline's, and the reason in a sentence.

    Args:
        winner_losses: One loss a step, in order, over the same batches as the baseline's and from
            the same seed (see `same_data`).
        baseline_losses_repeats: The same of the baseline, once for each repeat; at least one.
        numerics_class: The most that the winner's settings change: exact, rounding or precision.
        winner_update: How far its first update moved the parameters (a norm); None if not known.
        baseline_updates: The same of each repeat.

    Raises:
        ValueError: There is no loss, no repeat, or an unknown class.
    """
    repeats = [list(losses) for losses in baseline_losses_repeats]
    steps = min(map(len, [winner_losses, *repeats])) if repeats else 0
    if steps == 0 or numerics_class not in ("exact", *MEAN):
        raise ValueError(f"nothing to compare: {steps} steps, class {numerics_class!r}")
    winner, repeats = list(winner_losses[:steps]), [losses[:steps] for losses in repeats]
    for step, loss in enumerate(winner, start=1):
        if not math.isfinite(loss):
            return False, f"its loss is {loss} at step {step}"
    if not all(math.isfinite(loss) for losses in repeats for loss in losses):
        return False, "the baseline's own loss is not finite, so nothing can be compared with it"
    if winner in repeats:
        return True, f"its losses are bit for bit the baseline's over {steps} steps"
    if numerics_class == "exact" and all(losses == repeats[0] for losses in repeats):
        step = next(i for i in range(steps) if winner[i] != repeats[0][i])
        return False, (
            f"its settings should not change the arithmetic, and its loss at step {step + 1} is "
            f"{winner[step]!r} instead of {repeats[0][step]!r}"
        )
    # A baseline that does not repeat its own bits can demand no more than rounding of others.
    kind = "rounding" if numerics_class == "exact" else numerics_class
    # A loss that crosses zero (a difference of two, as a critic's) is no measure of itself.
    size = sum(abs(loss) for losses in repeats for loss in losses) / (steps * len(repeats))
    firsts, means = [r[0] for r in repeats], [sum(r) / steps for r in repeats]
    mean = _Comparison(f"mean loss of {steps} steps", sum(winner) / steps, means, MEAN[kind], size)
    comparisons = [_Comparison("first loss", winner[0], firsts, FIRST_STEP[kind], size), mean]
    updates = [update for update in baseline_updates if update is not None]
    if winner_update is not None and updates:
        what = "first update's size"
        comparisons.append(_Comparison(what, winner_update, updates, UPDATE[kind], floor=0.0))
    for comparison in comparisons:
        if not comparison.fits:
            return False, comparison.sentence
    return True, mean.sentence


def same_data(winner: Settings, baseline: Settings) -> Settings:
    """The winner with the baseline's way of loading, for runs whose losses are to be compared.

    Which worker draws a sample's random augmentation, and whether batches may overtake each other,
    changes single losses without changing the arithmetic or what is learned.
    """
    return replace(winner, **{name: getattr(baseline, name) for name in DATA})


class _Comparison:
    """One number of the winner beside the baseline's repeats.

    `size` stands for what is compared where that is near zero; `floor` is always allowed.
    """

    def __init__(
        self,
        what: str,
        value: float,
        repeats: list[float],
        share: float,
        size: float = 0.0,
        floor: float = FLOOR,
    ) -> None:
        centre = sum(repeats) / len(repeats)
        spread = max(repeats) - min(repeats)
        allowed = share * max(abs(centre), size) + SPREAD * spread + floor
        self.fits = abs(value - centre) <= allowed
        self.sentence = (
            f"its {what} is {value:.6g} and the baseline's {centre:.6g}: a difference of "
            f"{abs(value - centre):.2g}, and {allowed:.2g} is allowed"
        )
