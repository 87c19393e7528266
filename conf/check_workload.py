"""Checking the model and its data against the functions that they name, without importing them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conf.fault import Fault, nearest
from conf.groups import HERE, options
from conf.schema import Common
from conf.signature import OPEN, NotFound, Signature, signature
from conf.sources import Sources

NOT_ARGUMENTS = {"model": ("workload", "samples"), "data": ("dataset", "samples")}
"""Keys of `model` and `data` that are no arguments of the function."""

SIZES = ("batch_size", "image_size", "context", "n_layers", "n_heads", "width")
"""Arguments of our own workloads of which there has to be one at the least."""

OF_OURS = "hotlap.zoo."

HANDED_ON = ("data", "device")
"""Arguments of a workload that come from other keys of the config, where it takes them."""


def faults(config: Common, sources: Sources) -> Iterator[Fault]:
    """All that is wrong with `model` and `data`."""
    model, data = config.model, config.data
    if model is None:
        yield no_model(sources)
    elif not isinstance(model, dict):
        yield sources.fault(
            "model",
            what=f"model is {model!r}",
            right="a mapping with `workload` and its arguments",
            cure="+model=<name>",
        )
    takes = OPEN
    if isinstance(model, dict):
        found = _function("model", "workload", model, sources)
        if isinstance(found, Fault):
            yield found
        else:
            takes = found
            yield from _arguments("model", model, takes, sources, given=_given(config))
            yield from _sizes(model, sources)
            yield from _handed_on(config, takes, sources)
    if data.get("dataset") is not None or set(data) - {"samples"}:
        found = _function("data", "dataset", data, sources)
        if isinstance(found, Fault):
            yield found
        else:
            yield from _arguments("data", data, found, sources, given=found.keyword_only)
    if isinstance(model, dict):
        yield from _samples(model, data, sources)


def no_model(sources: Sources) -> Fault:
    """The fault of a command that names no model."""
    names = options("model", sources.folders)
    example = "resnet50" if "resnet50" in names else (names or ["mine"])[0]
    own = "a model of your own: --config-dir <your folder>"
    if sources.program == "python tune.py":
        own += "; a script of your own: script=train.py"
    return Fault(
        what="no model is named",
        where="command line",
        right=f"the models are {', '.join(names)}; {own}",
        cure=f"{sources.program} +model={example}",
        key="model",
    )


def _given(config: Common) -> tuple[str, ...]:
    return tuple(n for n in HANDED_ON if (config.data if n == "data" else config.device))


def _function(part: str, key: str, values: dict[str, Any], sources: Sources) -> Signature | Fault:
    """The signature of the function that `values[key]` names."""
    full = f"{part}.{key}"
    dotted = values.get(key)
    example = {"model": "my_module.make", "data": "my_module.dataset"}[part]
    if dotted is None and isinstance(values.get(part), dict):
        return sources.fault(
            f"{part}.{part}",
            what=f"{part} holds another '{part}': the file's keys were put below the group's name",
            right="a file that names its groups itself says so in its very first line",
            cure="# @package _global_    (as the first line of the file)",
            key=part,
        )
    if not isinstance(dotted, str) or not dotted:
        close = nearest(key, [name for name in values if name != key])
        return sources.fault(
            part,
            what=f"{part} has no '{key}'" if dotted is None else f"{full} is {dotted!r}",
            right=f"did you mean '{key}' by '{close}'?" if close else "a function's dotted path",
            cure=f"{full}={example}",
        )
    try:
        return signature(dotted, sources.import_path)
    except NotFound as error:
        folders = ", ".join(sources.import_path)
        meant = f"did you mean '{error.near}'? " if error.near else ""
        return sources.fault(
            full,
            what=f"{full} is '{dotted}': {error}",
            right=f"{meant}a dotted path that Python finds, first in {folders}",
            cure=f"{full}={error.near or example}",
            key=part,
        )


def _arguments(
    part: str,
    values: dict[str, Any],
    takes: Signature,
    sources: Sources,
    given: tuple[str, ...] = (),
) -> Iterator[Fault]:
    names = [name for name in takes.names if name not in HANDED_ON]
    function = values["workload" if part == "model" else "dataset"]
    for name in values:
        key = f"{part}.{name}"
        if name in NOT_ARGUMENTS[part] or takes.takes(str(name)):
            continue
        close = nearest(str(name), [*names, *NOT_ARGUMENTS[part]])
        listed = ", ".join(names) or "no arguments"
        yield sources.fault(
            key,
            what=f"{function} takes no argument '{name}'",
            right=f"did you mean '{close}'?" if close else f"it takes {listed} ({takes.where})",
            cure=f"{part}.{close}={values[name]}" if close else f"the command without {key}",
        )
    for name in takes.required:
        if name in values or name in given:
            continue
        choice = part == "model" and name == "data"
        yield sources.fault(
            part,
            what=f"{function} needs the argument '{name}', which has no default",
            right=f"{', '.join(options('data', sources.folders))}" if choice else "a value for it",
            cure="data=<name>" if choice else f"{part}.{name}=<value>",
            key=f"{part}.{name}",
        )


def _sizes(model: dict[str, Any], sources: Sources) -> Iterator[Fault]:
    """Sizes below 1; of a user's own workload only its batch's, which means the same anywhere."""
    ours = str(model["workload"]).startswith(OF_OURS)
    for name in SIZES if ours else SIZES[:1]:
        value = model.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 1:
            yield sources.fault(
                f"model.{name}",
                what=f"model.{name} is {value}",
                right="a whole number from 1",
                cure=f"the command without model.{name}",
            )


def _handed_on(config: Common, takes: Signature, sources: Sources) -> Iterator[Fault]:
    for name in _given(config):
        if not takes.takes(name):
            yield sources.fault(
                name,
                what=f"{config.model['workload']} has no parameter '{name}', "
                f"so the {name} of the config cannot reach it",
                right=f"a function with a parameter '{name}' ({takes.where})",
                cure="data=none" if name == "data" else "device=null",
            )


def _samples(model: dict[str, Any], data: dict[str, Any], sources: Sources) -> Iterator[Fault]:
    """Images for a model of texts, and the like."""
    wanted, there = model.get("samples"), data.get("samples")
    if wanted is None or there is None or wanted == there:
        return
    fitting = [
        name
        for name in options("data", sources.folders)
        if any(f"samples: {wanted}" in text for text in _texts(name, sources))
    ]
    yield Fault(
        what=f"the model takes {wanted}, and the data has {there}",
        where=f"{sources.where('model.samples')} and {sources.where('data.samples')}",
        right=f"data of {wanted}: {', '.join(fitting) or 'none is here'}",
        cure=f"data={fitting[0] if fitting else '<name>'}",
        key="data",
    )


def _texts(name: str, sources: Sources) -> list[str]:
    folders = [*sources.folders, HERE]
    paths = [folder / "data" / f"{name}.yaml" for folder in folders]
    # One in another encoding is told where it is chosen.
    return [path.read_text(encoding="utf-8", errors="replace") for path in paths if path.is_file()]
