"""Samplers: what gives a script's loader its order, and what of that is known.

Where torch's own BatchSampler makes lists of what another sampler gives, that other one decides. A
batch sampler of another class is taken as it is: it may keep what it gave, to tell whose each batch
is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.utils.data import (
    BatchSampler,
    Dataset,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from hotlap.interpose.state import State, state

RANDOM = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)
"""Whoever asks for one of these cannot know which sample is where, and needs no certain order."""


def sampler_of(loader: Any) -> Any:
    """What gives a DataLoader its order; None where its class has nothing by that name."""
    batches = getattr(loader, "batch_sampler", None)
    return getattr(loader, "sampler", None) if batches is None else _within(batches)


def batch_size_of(loader: Any) -> int | None:
    """Samples of a batch, be it its batch sampler that says so; None if neither does."""
    if (size := getattr(loader, "batch_size", None)) is not None:
        return size  # type: ignore[no-any-return]
    size = getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    return size if isinstance(size, int) else None


def is_random(sampler: Any) -> bool:
    """Whether it gives an order that nobody can rely on."""
    return isinstance(sampler, RANDOM)


def asks_for_random(arguments: Mapping[str, Any]) -> bool:
    """Whether a loader with these DataLoader arguments goes in such an order."""
    if (batches := arguments.get("batch_sampler")) is not None:
        return is_random(_within(batches))
    return bool(arguments.get("shuffle")) or is_random(arguments.get("sampler"))


def sampler_state(loader: Any) -> State:
    """What the script may change of a loader's order while it trains; empty for torch's own.

    Torch's own samplers decide at a pass's begin. What a sampler holds of the dataset is looked at
    with the dataset itself.
    """
    sampler = sampler_of(loader)
    if type(sampler).__module__.startswith("torch."):
        return {}
    dataset = loader.dataset
    return state(
        skips=lambda held: held is dataset or issubclass(type(held), Dataset), sampler=sampler
    )


def _within(batches: Any) -> Any:
    return batches.sampler if type(batches) is BatchSampler else batches
