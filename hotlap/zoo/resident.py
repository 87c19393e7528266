"""One batch kept on the device: training without data loading, so the bound of the compute side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import Dataset, default_collate

from hotlap.zoo.data import build

DEFAULT = "hotlap.zoo.images.generated_jpegs"


def resident(of: dict[str, Any] | None = None, **context: Any) -> Dataset[Any]:
    """One batch of another dataset, kept on the device and trained on for ever.

    Args:
        of: That dataset, as a data config: `{"dataset": dotted path, argument: value, ...}`.
        context: Handed on to it (see hotlap.zoo.data.build).

    Raises:
        UserInputError: That dataset cannot be built.
    """
    return Resident(build(of, DEFAULT, **context))


class Resident(Dataset[Any]):
    """A dataset that offers `resident_batch`; hotlap then trains on that batch without a loader."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        if hasattr(dataset, "classes"):
            self.classes = dataset.classes

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index]

    def resident_batch(
        self,
        batch_size: int,
        collate_fn: Callable[[list[Any]], Any] | None,
        device: str | torch.device,
    ) -> Any:
        """The batch, on `device`: samples spread over the dataset, repeated if it is short."""
        length = len(self.dataset)
        samples = [self.dataset[i * length // batch_size] for i in range(batch_size)]
        return _to(device, (collate_fn or default_collate)(samples))


def _to(device: str | torch.device, batch: Any) -> Any:
    if isinstance(batch, torch.Tensor):
        return batch.to(device)
    if isinstance(batch, dict):
        return {key: _to(device, value) for key, value in batch.items()}
    if isinstance(batch, list | tuple):
        moved = [_to(device, value) for value in batch]
        if hasattr(batch, "_fields"):  # a named tuple takes its values one by one
            return type(batch)(*moved)
        return type(batch)(moved)
    return batch
