"""Puts settings in force: on a whole workload, or piece by piece in anybody's own loop.

    settings = hotlap.load("frozen.yaml")
    hotlap.apply_process(settings)  # threads and flags, first
    loader = hotlap.loader(dataset, settings, batch_size=64, shuffle=True)
    model = hotlap.model(Net(), settings, "cuda")
    optimizer = hotlap.optimizer(torch.optim.SGD, model.parameters(), settings, lr=0.1)
    step = hotlap.Step(model, optimizer, loss, settings, "cuda")
    for batch in loader:
        step(batch)  # or your own lines with hotlap.to_device, hotlap.autocast and hotlap.scaler,
                     # which have to follow settings.micro_batch_size themselves

The pieces live in files of their own; this page is their common face.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer
from torch.utils.data import IterableDataset

from hotlap.batches import to_device
from hotlap.errors import InvalidTrial
from hotlap.flags import apply_process
from hotlap.kernels import kernel_arguments, optimizer, set_kernel
from hotlap.loading import Resident, loader
from hotlap.modules import model
from hotlap.notes import Note, tell
from hotlap.precision import autocast, scaler
from hotlap.settings import LOADER_SETTINGS, NAMES, Settings
from hotlap.step import Step
from hotlap.workload import Workload

__all__ = [
    "Applied",
    "Step",
    "apply",
    "apply_process",
    "autocast",
    "kernel_arguments",
    "loader",
    "model",
    "optimizer",
    "scaler",
    "set_kernel",
    "to_device",
]


@dataclass
class Applied:
    """A workload with its settings in force.

    Attributes:
        model: The workload's own module, on `device`.
        optimizer: Over its parameters.
        loader: Gives batches as often as it is asked for an iterator; a resident batch is given
            without end.
        step: `step(batch)` trains on what the loader gave and returns the loss, detached.
        device: Where it trains.
        settings: What is in force; loader settings may be the workload's own.
        notes: Settings that could not be put in force.
    """

    model: nn.Module
    optimizer: Optimizer
    loader: Iterable[Any]
    step: Step
    device: torch.device
    settings: Settings
    notes: list[Note] = field(default_factory=list)

    @property
    def n_epoch_steps(self) -> int | None:
        """Steps in an epoch; None if the dataset does not know, or one batch goes on for ever."""
        try:
            return len(self.loader)  # type: ignore[arg-type]
        except TypeError:
            return None

    @property
    def scaler(self) -> torch.amp.GradScaler:
        """The step's GradScaler; enabled with amp=fp16 only."""
        return self.step.scaler

    def n_skipped_steps(self) -> int:
        """Updates that the GradScaler skipped so far; waits for the device."""
        return self.step.n_skipped_steps

    def asked_and_skipped(self) -> tuple[int, int]:
        """Updates that it was asked for, and those of them that it skipped, so far; waits, too."""
        return self.step.n_scaled_steps, self.step.n_skipped_steps


def apply(workload: Workload, settings: Settings) -> Applied:
    """Put `settings` in force on `workload`; its model, optimizer and loader are made here.

    Raises:
        InvalidTrial: These settings cannot be tried on this workload.
    """
    # Once more, after the workload's own code had its chance to set flags.
    notes = apply_process(settings)
    device = torch.device(workload.device)
    feed, settings = _loader(workload, settings, device, notes)
    _initialise(workload, feed, device)
    module = model(workload.model, settings, device, notes=notes)
    built = optimizer(workload.optimizer, module.parameters(), settings, notes=notes)
    _check_micro_batch(module, settings)
    step = Step(
        module,
        built,
        workload.loss,
        settings,
        device,
        count=workload.count,
        split=workload.split,
    )
    return Applied(module, built, feed, step, device, settings, notes)


def _initialise(workload: Workload, feed: Iterable[Any], device: torch.device) -> None:
    """Give lazy parameters their shapes, by a forward pass over one batch.

    Before that they have no memory format, and no optimizer's kernel can be told to fit them. It
    is the dry run that torch asks for before an optimizer is built (LazyModuleMixin).
    """
    if any(is_lazy(parameter) for parameter in workload.model.parameters()):
        workload.model.to(device)
        for batch in feed:
            workload.loss(workload.model, to_device(batch, device, Settings()))
            break


def _check_micro_batch(module: nn.Module, settings: Settings) -> None:
    if settings.micro_batch_size is None:
        return
    for name, part in module.named_modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.training:
            raise InvalidTrial(
                f"micro_batch_size={settings.micro_batch_size} would change what is learned: the "
                f"batch norm layer '{name}' takes its statistics over the batch it is given; take "
                "micro_batch_size=null"
            )


def _loader(
    workload: Workload, settings: Settings, device: torch.device, notes: list[Note]
) -> tuple[Iterable[Any], Settings]:
    dataset, changed = workload.dataset, settings.changed()
    resident = getattr(dataset, "resident_batch", None)
    if callable(resident):
        for name in (name for name in LOADER_SETTINGS if name in changed):
            tell(notes, name, "no loader: the batch is resident on the device")
        batch = resident(workload.batch_size, workload.collate_fn, device)
        return Resident(to_device(batch, device, settings)), settings
    own: dict[str, Any] = {
        "batch_size": workload.batch_size,
        "collate_fn": workload.collate_fn,
        "drop_last": workload.drop_last,
        "worker_init_fn": workload.worker_init_fn,
        **workload.loader_defaults,
    }
    if "batch_sampler" in own:  # it says all of these itself, and torch refuses both
        own = {name: own[name] for name in own if name not in ("batch_size", "drop_last")}
    elif "sampler" not in own and not isinstance(dataset, IterableDataset):
        own.setdefault("shuffle", workload.shuffle)
    settings = _with_defaults(settings, workload.loader_defaults, changed, notes)
    return loader(dataset, settings, notes=notes, **own), settings


def _with_defaults(
    settings: Settings, defaults: dict[str, Any], changed: dict[str, Any], notes: list[Note]
) -> Settings:
    """The settings with the workload's own loader arguments where they say nothing themselves."""
    for name in (n for n in LOADER_SETTINGS if n in defaults and n in NAMES and n not in changed):
        value = defaults[name]
        if name == "multiprocessing_context" or value is None or value == getattr(settings, name):
            continue  # a context object goes to the loader as it is
        settings = replace(settings, **{name: value})
        tell(notes, name, f"the workload's own loader argument {name}={value} stays")
    return settings


class _CallableModule(types.ModuleType):
    """This module can be called: `hotlap.apply` is it and, by the contract, a function as well.

    A submodule is an attribute of its package, so a function of the same name would be there or
    not, depending on who imported what before.
    """

    def __call__(self, workload: Workload, settings: Settings) -> Applied:
        return apply(workload, settings)


sys.modules[__name__].__class__ = _CallableModule
