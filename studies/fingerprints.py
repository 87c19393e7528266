"""By which facts the bank knows a machine and a workload again, and which workloads are similar."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from hotlap.figures import number

MACHINE = (
    "device_name",
    "cpu",
    "cores",
    "physical_cores",
    "torch",
    "cuda",
    "cudnn",
    "nvidia_driver",
)
"""Chip, cores, torch and driver: on another one of these, other settings may be the best."""

WORKLOAD = ("model_digest", "batch_size", "batch_shapes", "dataset_kind", "optimizer")
"""The model's structure, the shapes of a batch, the kind of the data set (hotlap/structure.py)."""

TRAITS = ("resident", "iterable_dataset", "conv2d", "batch_norm", "attention", "shapes_vary")
"""What decides which knobs can matter at all: how data come, and which kernels the model calls."""

SIZES = ("n_parameters", "batch_bytes")

DIGITS = 12

UNLIKE = 1.0
"""Another kind of data set, or another machine, weighs as much as twice the parameters."""


def machine_of(facts: Mapping[str, Any]) -> str:
    """The machine's fingerprint, from its own facts and those of a worker on it."""
    return _digest({name: facts.get(name) for name in MACHINE})


def workload_of(facts: Mapping[str, Any]) -> str:
    """The workload's fingerprint, from the probe's facts; empty if they do not hold all of it."""
    known = {name: facts.get(name) for name in WORKLOAD}
    return "" if None in known.values() else _digest(known)


def similar(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether what was best for one workload is worth a trial for the other.

    That is so if both train on the same kind of device, get their data in the same way and call
    the same kinds of kernels: then the same knobs can matter.
    """
    devices = {_device(facts) for facts in (one, other)}
    return len(devices) == 1 and all(one.get(name) == other.get(name) for name in TRAITS)


def distance(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """How far apart two similar workloads are, in doublings of parameters and bytes of a batch.

    The same workload is nearest, even on another machine; 0 is the same one on the same machine.
    """
    far = 0.0 if machine_of(one) == machine_of(other) else UNLIKE
    if workload_of(one) == workload_of(other):
        return far
    far += UNLIKE if one.get("dataset_kind") != other.get("dataset_kind") else 0.0
    return 2 * UNLIKE + far + sum(abs(_doublings(one, other, name)) for name in SIZES)


def _doublings(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> float:
    return math.log2((1 + _size(one, name)) / (1 + _size(other, name)))


def _size(facts: Mapping[str, Any], name: str) -> float:
    return max(0.0, number(facts.get(name)) or 0.0)


def _device(facts: Mapping[str, Any]) -> str:
    return str(facts.get("device", "")).partition(":")[0]


def _digest(known: Mapping[str, Any]) -> str:
    text = json.dumps(known, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
