"""Builds the dataset that the config names, for a workload that takes any.

A data function is named by its dotted path, `dataset`. Its ordinary parameters stand in the YAML
file; its keyword-only parameters are what the workload knows: `transform` (from a sample as it is
stored to what the model takes), `device`, `context`. It may leave out those it has no use for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hotlap.errors import UserInputError
from hotlap.settings import near

if TYPE_CHECKING:
    from torch.utils.data import Dataset


def build(data: dict[str, Any] | None, default: str, **context: Any) -> Dataset[Any]:
    """The dataset that `data` describes: `{"dataset": dotted path, argument: value, ...}`.

    Args:
        data: None or empty takes the function named by `default`, with its own defaults.
        default: Dotted path of a data function.
        context: What the workload knows; handed on as far as the function takes it.

    Raises:
        UserInputError: The function cannot be found or does not take an argument.
    """
    values = dict(data or {"dataset": default})
    if "dataset" not in values:
        raise UserInputError(
            f"the data config has {', '.join(sorted(values))} but not `dataset`, the dotted path "
            f"of the function that builds it; write dataset: {default}"
        )
    path = values.pop("dataset")
    function = find(path)
    parameters = inspect.signature(function).parameters
    any_keyword = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    takes = [n for n, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if unknown := [name for name in values if name not in takes]:
        raise UserInputError(
            f"data.{unknown[0]} is not an argument of {path}{near(unknown[0], takes)}; "
            f"it takes {', '.join(takes)}"
        )
    known = {n: v for n, v in context.items() if any_keyword or n in parameters}
    dataset: Dataset[Any] = function(**values, **known)
    return dataset


def find(path: str) -> Callable[..., Any]:
    """The function at a dotted path.

    Raises:
        UserInputError: There is no such module or function.
    """
    module, _, name = str(path).rpartition(".")
    example = "take a module that Python can import, as in hotlap.zoo.images.image_folder"
    try:
        loaded = import_module(module)
    except (ModuleNotFoundError, ValueError) as error:
        # A module that is there but lacks one of its own imports is another mistake: let it show.
        if isinstance(error, ModuleNotFoundError) and not _is_part_of(error.name, module):
            raise
        raise UserInputError(
            f"data.dataset is '{path}', and there is no module '{module}'; {example}"
        ) from error
    if not callable(function := getattr(loaded, name, None)):
        raise UserInputError(
            f"data.dataset is '{path}', and {module} has no function '{name}'; {example}"
        )
    return function  # type: ignore[no-any-return]


def n_classes_of(dataset: Any, wanted: int | None) -> int:
    """Number of classes for a classifier: `wanted`, or what the dataset's `classes` says, or 1000.

    Raises:
        UserInputError: `wanted` is less than the dataset has.
    """
    there = len(getattr(dataset, "classes", ()))
    if wanted is not None and wanted < there:
        raise UserInputError(
            f"model.n_classes is {wanted} but the data has {there} classes; "
            f"leave it out, or type model.n_classes={there}"
        )
    return wanted or there or 1000


def check_size(dataset: Any, batch_size: int) -> None:
    """Refuse a dataset that does not fill one batch: with `drop_last` an epoch would have no step.

    Raises:
        UserInputError: `batch_size` is not positive or there are fewer samples.
    """
    if batch_size < 1:
        raise UserInputError(f"model.batch_size is {batch_size}; it takes a whole number from 1")
    if not hasattr(dataset, "resident_batch") and len(dataset) < batch_size:
        raise UserInputError(
            f"model.batch_size is {batch_size} but the data has only {len(dataset)} samples, not "
            f"enough for one step; take more data, or type model.batch_size={max(1, len(dataset))}"
        )


def _is_part_of(missing: str | None, module: str) -> bool:
    return missing is not None and f"{module}.".startswith(f"{missing}.")
