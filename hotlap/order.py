"""What a DataLoader asks its dataset for, and how: to draw samples as it does.

Indices are what the loader's order gives: numbers from 0 on as a rule, but also names, tuples, or
lists of a whole batch, which a dataset without a length of its own may need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def indices(loader: Any) -> Iterator[Any]:
    """What a pass asks a map-style dataset for, in the loader's own order; a new one each time."""
    if loader.batch_sampler is None:  # whatever the order gives is asked for as a whole
        yield from loader.sampler
    else:
        for batch in loader.batch_sampler:
            yield from batch


def draw(loader: Any, asked: Sequence[Any]) -> Any:
    """The samples of these indices, drawn as the loader does it."""
    dataset = loader.dataset
    at_once = getattr(dataset, "__getitems__", None)
    if at_once and loader.batch_sampler is not None:
        return at_once(list(asked))
    return [dataset[index] for index in asked]


def collate(loader: Any, samples: Any) -> Any:
    """The batch that the loader makes of them; without collation each of them is one."""
    if loader.batch_sampler is None:
        return [loader.collate_fn(sample) for sample in samples]
    return loader.collate_fn(samples)
