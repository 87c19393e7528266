"""Facts about a script, found while it trains for a few steps: the answer to a job "probe".

The same facts as a workload's (hotlap/inspect_workload.py), as far as a script can be asked, and:

- `own_settings`: settings as the script has them by itself, its baseline
- `unreached`: setting -> why it does not reach the script (hotlap/interpose/reach.py)
- `script`: what was found in it (hotlap/interpose/seen.py), as plain data
- `environment_written`: variables that torch reads at its import and that were written since; of no
  effect in this process, which had imported it
- `fresh`: whether this process had not imported torch before the script did
- `scratch`: how its working folder was covered, what it wrote there until then, and which
  trackers it has imported, whose servers no copy covers
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import torch
from torch import nn
from torch.utils.data import IterableDataset, RandomSampler

from hotlap import toolchain
from hotlap.inspect_data import data_facts
from hotlap.inspect_workload import sample_times, spawn_error
from hotlap.interpose.environment_use import written
from hotlap.interpose.guard import IMPORTS_ANEW, unguarded_main
from hotlap.interpose.nested import tensors
from hotlap.interpose.reach import out_of_reach
from hotlap.interpose.seen import Seen
from hotlap.loading import COUNTS, SWITCHES, given_settings, start_method
from hotlap.script.attention import Attention
from hotlap.script.follower import ScriptFollower
from hotlap.settings import Settings, faults
from hotlap.sides import shapes, size_bytes
from hotlap.structure import batch_shapes, dataset_kind, model_digest
from hotlap.training import PassSize
from hotlap.workload import Workload

LEAST_UNITS = 6
MOST_S = 60.0
"""After so many units, and steps, the script has shown what it does; or after so many seconds."""

TRACKERS = ("wandb", "mlflow", "comet_ml", "neptune", "clearml", "aim", "swanlab", "dvclive")
"""Libraries that send what a script logs to a server."""


class Probe(ScriptFollower):
    """Watches some units and answers with facts."""

    _loader: Any = None
    _batch: Any = None
    _begun = 0.0
    _n_units = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._attention = Attention(self.interposition.patches, self.interposition.kernel)
        self._environment = dict(os.environ)

    def begin(self, loader: Any) -> None:
        """Training has begun."""
        self._loader = loader
        self._begun = time.monotonic()
        self._shapes: set[tuple[Any, ...]] = set()

    def done(self, n_samples: int, loss: Any, batch: Any) -> None:
        """One more unit."""
        self.besides()
        self._n_units += 1
        if batch is not None:  # a unit is a step where the script asks its loader for no more
            self._shapes.add(shapes(batch))
            self._batch = batch
        seen_enough = min(self._n_units, self.seen.n_steps) >= LEAST_UNITS
        if seen_enough or time.monotonic() - self._begun > MOST_S:
            self.ending.guard(self._answer)

    def alone(self) -> None:
        """The script asks its loader for nothing more, so no setting of it matters to the steps."""
        self._loader = None

    def script_ended(self) -> None:
        """A short script may have shown enough."""
        if not self._n_units:
            super().script_ended()
        self._answer()

    def _answer(self) -> None:
        self.interposition.remove()  # loaders and models are made and asked for the facts, too
        torch.set_grad_enabled(True)
        device_uuid = toolchain.device_uuid(self.device)
        self.ending.answer("facts", facts=self._facts(), device_uuid=device_uuid)

    def _facts(self) -> dict[str, Any]:
        seen = self.seen
        device = self.device
        return {
            **toolchain.versions(),
            **toolchain.device_facts(device),
            "fp16": False,  # whatever the device: see NOT_OURS in hotlap/interpose/reach.py
            "default_intraop_threads": torch.get_num_threads(),
            "default_interop_threads": torch.get_num_interop_threads(),
            "compiler": toolchain.has_compiler(device),
            **self._data(),
            **self._training(),
            "own_settings": own_settings(seen, self._loader).to_dict(),
            "unreached": out_of_reach(seen, sorted(self.imposed.override)),
            "script": seen.to_dict(),
            "environment_written": written(self._environment, os.environ),
            "fresh": bool((self.job.script or {}).get("fresh")),
            "scratch": {
                "why_not": self.scratch.why_not,
                "real": list(self.scratch.real),
                "written_bytes": self.scratch.written_bytes(),
                "trackers": [name for name in TRACKERS if name in sys.modules],
            },
        }

    def _data(self) -> dict[str, Any]:
        loader = self._loader
        if loader is None:
            return {"loader": False, "resident": False, "batch_size": 1, "n_epoch_steps": None}
        stand_in = _workload(loader)
        unguarded = unguarded_main()
        runs_again = bool(unguarded) and start_method(None) in IMPORTS_ANEW
        cpu_s, wall_s = sample_times(loader)
        return {
            "loader": True,
            "resident": False,
            "batch_size": PassSize(loader).of(0, self._batch),
            "n_epoch_steps": PassSize(loader).n_batches,
            "iterable_dataset": isinstance(loader.dataset, IterableDataset),
            "spawn_error": unguarded or spawn_error(stand_in),
            **data_facts(stand_in, loader, may_have_workers=not runs_again),
            "sample_cpu_s": cpu_s,
            "sample_wall_s": wall_s,
            "batch_bytes": size_bytes(self._batch),
            "batch_shapes": batch_shapes([list(tensors(self._batch))]),
            "dataset_kind": dataset_kind(loader.dataset),
            "shapes_vary": len(self._shapes) > 1,
        }

    def _training(self) -> dict[str, Any]:
        roots = self.interposition.roots()
        modules = [part for root in roots for part in root.modules()]
        kernels = [set(one.kernels) for one in self.seen.optimizers if one.kernels is not None]
        parameters = {id(p): p for m in modules for p in m.parameters(recurse=False)}
        return {
            "model_digest": model_digest(nn.ModuleList(roots)),
            "optimizer": self.seen.optimizers[0].name,
            "optimizer_kernels": sorted(set.union(*kernels)) if kernels else [],
            "n_parameters": sum(p.numel() for p in parameters.values()),
            "conv2d": any(root.has_images for root in self.seen.roots),
            "batch_norm": any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in modules),
            "model_called": bool(modules),
            **self._attention.facts(),
        }


def own_settings(seen: Seen, loader: Any) -> Settings:
    """What a script has by itself; PyTorch's default where that is not known.

    Args:
        seen: After some steps with nothing imposed.
        loader: The DataLoader that trains, or None.
    """
    found: dict[str, Any] = {name: one.value for name, one in seen.sets.items()}
    if loader is not None:
        found |= given_settings({n: getattr(loader, n, None) for n in (*COUNTS, *SWITCHES)})
    if any(root.memory_format == "channels_last" for root in seen.roots):
        found["memory_format"] = "channels_last"
    if seen.optimizers:
        found["optimizer_kernel"] = seen.optimizers[0].own_kernel
    own = {name: value for name, value in found.items() if value is not None}
    # A switch of one attention kernel is told, and is no setting.
    return Settings.from_dict({n: v for n, v in own.items() if not faults({n: v})})


def _workload(loader: Any) -> Workload:
    """The loader's data as a workload's, for those who ask about data alone."""
    order = getattr(loader, "sampler", None)
    shuffled = isinstance(order, RandomSampler)
    own_order = order is not None and type(order).__name__ not in (
        "RandomSampler",
        "SequentialSampler",
        "_InfiniteConstantSampler",
    )
    return Workload(
        model=nn.Identity(),
        dataset=loader.dataset,
        loss=lambda model, batch: torch.zeros(()),
        optimizer=lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.0, **kernel),
        batch_size=loader.batch_size or 1,
        collate_fn=loader.collate_fn,
        shuffle=shuffled,
        worker_init_fn=loader.worker_init_fn,
        loader_defaults={"sampler": order} if own_order else {},
    )
