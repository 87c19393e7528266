"""Checking that a full run which goes on trains what it began to train.

Beside `+model=` every word counts anew, and what is not typed is as the model's file has it. With
another batch size or seed a run would train on some samples twice and on others never.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from conf.check_knob import as_yaml
from conf.fault import Fault
from conf.place import is_folder, place_of
from conf.schema import TrainConfig
from conf.sources import Sources, read
from hotlap.frozen import whose_config

STAYS = ("model", "data", "seed")
"""Keys that say what is trained, and on which samples in which order."""

PLACES = ("data.root", "data.path")
"""Where samples lie. They may have moved; whether there is such a place stays."""


def faults(config: TrainConfig, sources: Sources) -> Iterator[Fault]:
    """The keys in which the run is another one than the folder's; nothing where that says none."""
    if config.resume is None or not isinstance(config.model, dict):
        return
    if not (begun := _begun(config.resume)):
        return
    before, now = _flat(begun), _flat({key: getattr(config, key) for key in STAYS})
    # A key that an older version did not write is one that was not given.
    pairs = {key: (before.get(key), now.get(key)) for key in {**before, **now}}
    differing = {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
    if not differing:
        return
    if (key := "model.workload") in differing:  # the others are another function's
        differing = {key: differing[key]}
    told = "; ".join(f"{k} was {as_yaml(a)} and is {as_yaml(b)}" for k, (a, b) in differing.items())
    alone = f"{sources.program} {shlex.quote(f'resume={config.resume}')}"
    yield sources.fault(
        "resume",
        what=f"the run that is to go on began with another workload: {told}",
        right="the model, the data and the seed that it began with; without +model= it has them "
        "from its folder",
        cure=f"{alone}, or the command without resume= for a run of its own",
    )


def _begun(resume: str) -> Mapping[str, Any]:
    """What the folder of a full run says of it; nothing if it says none, which train.py tells."""
    try:
        place = place_of(resume)
        file = read((place if is_folder(place) else place.parent) / "config.yaml", "config", "")
        values: Any = OmegaConf.to_container(OmegaConf.create(file.text), resolve=True)
    except (OSError, ValueError, RuntimeError, yaml.YAMLError, OmegaConfBaseException):
        return {}
    if not isinstance(values, dict) or whose_config(values) != "a full run":
        return {}
    return {key: values.get(key) for key in STAYS}


def _flat(values: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """Each value below, by its key written with dots."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        inner = isinstance(value, Mapping)
        place = at + key in PLACES and value is not None
        found |= _flat(value, f"{at}{key}.") if inner else {at + key: "a place" if place else value}
    return found
