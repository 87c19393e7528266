"""Merging of values into a typed config: what fits goes in, the rest comes back as faults."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from conf.fault import Fault, among, nearest

Where = Callable[[str], str]
"""Says where the value of a key is from."""

IN_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a mapping of names to values",
}


def merge(
    config: DictConfig, values: Any, where: Where, at: tuple[str, ...] = ()
) -> tuple[DictConfig, list[Fault]]:
    """Merge `values` into `config` under the keys `at`, and name all that does not fit."""
    if at and (fault := unknown(config, at, where(".".join(at)), f"={_brief(values)}")):
        return config, [fault]
    nested = values
    for key in reversed(at):
        nested = {key: nested}
    try:
        return OmegaConf.merge(config, nested), []  # type: ignore[return-value]
    except OmegaConfBaseException as error:
        if not isinstance(values, dict) or not values:
            return config, [misfit(config, at, values, where(".".join(at)), error)]
    faults = []
    for key, value in values.items():
        config, more = merge(config, value, where, (*at, str(key)))
        faults += more
    return config, faults


def unknown(
    config: DictConfig, at: Sequence[str], where: str, rest: str = "=<value>"
) -> Fault | None:
    """The fault of a key that the types do not know, if it is one."""
    parent = OmegaConf.select(config, ".".join(at[:-1])) if len(at) > 1 else config
    kind = OmegaConf.get_type(parent) if isinstance(parent, DictConfig) else None
    if not (kind and dataclasses.is_dataclass(kind)):
        return None
    names = [f.name for f in dataclasses.fields(kind)]
    return None if at[-1] in names else no_such_key(at, names, where, rest)


def no_such_key(
    at: Sequence[str], names: Sequence[str], where: str, rest: str = "=<value>", prefix: str = ""
) -> Fault:
    """The fault of the key `at`, where only `names` are known.

    `prefix` and `rest` are what stood before and after it on the command line.
    """
    key, holder = at[-1], ".".join(at[:-1])
    close = nearest(key, names)
    full = ".".join([*at[:-1], close or (names[0] if names else key)])
    known = among(names) if names else "nothing: it has no keys"
    cure = f"{prefix}{full}{rest}" if close else f"{full}=<value>"
    if not where.startswith("command line") and close:
        cure = f"{close}: {rest.partition('=')[2]}"  # an unknown key is mended in its file only
    return Fault(
        what=f"there is no key '{key}' in {holder or 'the config'}",
        where=where,
        right=f"did you mean '{close}'?" if close else known,
        cure=cure,
        key=".".join(at),
    )


def misfit(
    config: DictConfig, at: Sequence[str], value: Any, where: str, error: Exception
) -> Fault:
    """The fault of a value that has not the type of its key."""
    key = ".".join(at)
    wanted = _wanted(config, at)
    a_list = wanted == IN_WORDS[list] and isinstance(value, (str, int, float))
    return Fault(
        what=f"{key or 'the file'} is {value!r}",
        where=where,
        right=f"it takes {wanted}" if wanted else str(error).splitlines()[0],
        cure=f"{key}=[{value}]" if a_list else f"{key}=<{wanted or 'value'}>",
        key=key,
    )


def _wanted(config: DictConfig, at: Sequence[str]) -> str:
    parent = OmegaConf.select(config, ".".join(at[:-1])) if len(at) > 1 else config
    kind = OmegaConf.get_type(parent) if isinstance(parent, DictConfig) else None
    if not (at and kind and dataclasses.is_dataclass(kind)):
        return IN_WORDS[dict]
    hint = typing.get_type_hints(kind)[at[-1]]
    options = [o for o in typing.get_args(hint) or (hint,) if o is not type(None)]
    or_null = " or null" if type(None) in typing.get_args(hint) else ""
    if origin := typing.get_origin(hint):
        options = options if origin is typing.Union else [origin]
    option = options[0]
    return IN_WORDS.get(option, IN_WORDS[dict]) + or_null


def _brief(value: Any) -> str:
    return "..." if isinstance(value, (dict, list)) else str(value)
