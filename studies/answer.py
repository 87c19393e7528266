"""What a run of comparable steps says by itself, and how its batches differ from another's."""

from __future__ import annotations

from typing import Any

Answer = dict[str, Any]
"""The event `losses` of hotlap/losses.py."""

MOST_SKIPPED = 0.25
"""GradScaler finds its scale by skipping; once found, no more than this share of the steps may be
skipped."""

FINDING = 16
"""From 2**16, torch's first scale, so many halvings lead to 1."""

ROUNDING = 1e-5
"""Magnitudes of batches agree to this share if they were computed in another order (float32)."""


def unsound(answer: Answer) -> str:
    """What is wrong with a run whatever it is compared with; empty if nothing is."""
    losses, skipped = answer["losses"], answer["n_skipped_steps"]
    for step, loss in enumerate(losses, start=1):
        if loss - loss != 0:  # NaN and infinity
            return f"its loss is {loss} at step {step}"
    if skipped > FINDING + MOST_SKIPPED * len(losses):
        return (
            f"its GradScaler skipped {skipped} updates in {len(losses)} steps, because gradients "
            "overflow in fp16 at any scale"
        )
    if not answer["finite"]:
        return f"its parameters are not finite after {len(losses)} steps"
    if stale := answer.get("stale"):  # only a script is looked at so
        return f"its loader workers change what is trained: {stale}"
    return ""


def difference(answer: Answer, base: Answer) -> str:
    """How the batches differ: empty if not at all, `rounding`, or a part of a sentence."""
    found = ""
    for step, (one, other) in enumerate(zip(answer["batches"], base["batches"], strict=False), 1):
        if one[0] == other[0]:
            continue
        if one[1] != other[1] or not _close(one[2], other[2]):
            return f"batch {step} is another one than the baseline's"
        found = "rounding"
    return found


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= ROUNDING * max(abs(one), abs(other))
