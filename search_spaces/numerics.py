"""What settings may change in the arithmetic, beside the baseline: exact, rounding or precision."""

from __future__ import annotations

from collections.abc import Iterable

from hotlap.settings import Settings
from search_spaces.knob import NUMERICS, Knob


def numerics_class(settings: Settings, baseline: Settings, knobs: Iterable[Knob]) -> str:
    """The largest `numerics` among the knobs whose values differ.

    Args:
        settings: What is to be judged.
        baseline: What it is judged by.
        knobs: All that were defined, searched or not: an expert sets what was not searched, too.

    Returns:
        A word of NUMERICS. A setting without a knob may change anything: precision.
    """
    known = {knob.name: knob.numerics for knob in knobs}
    ours, theirs = settings.to_dict(), baseline.to_dict()
    # What is missing on one side means nothing there, as prefetch_factor without workers.
    differing = [name for name in ours if theirs.get(name, ours[name]) != ours[name]]
    classes = [known.get(name, NUMERICS[-1]) for name in differing]
    if settings.num_workers > 1 and not baseline.num_workers and not settings.in_order:
        classes.append(known.get("in_order", NUMERICS[-1]))  # without workers batches keep order
    return max(classes, key=NUMERICS.index, default=NUMERICS[0])
