"""Overrides of values: put into a config one by one, each with its own fault."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from conf.fault import Fault, nearest
from conf.merge import Where, merge, no_such_key, unknown
from conf.words import as_typed, names_script
from hotlap.settings import NAMES


def apply(
    config: DictConfig,
    override: Override,
    groups: Mapping[str, Sequence[str]],
    others: set[str],
    script: str = "",
) -> list[Fault]:
    """Put an override of a value into `config` as Hydra does, or say what is wrong with it.

    Args:
        config: What it is put into.
        override: A value's.
        groups: The groups, each with its options.
        others: Words that another entry script knows, to say so.
        script: The word that names a script of one's own, whose argument may be meant.
    """
    try:
        ConfigLoaderImpl._apply_overrides_to_config([override], config)
        return []
    except (HydraException, OmegaConfBaseException) as error:
        faults = _faults(config, override, groups, others, script)
        return faults or [_as_hydra_says(override, error)]


def _faults(
    config: DictConfig,
    override: Override,
    groups: Mapping[str, Sequence[str]],
    others: set[str],
    script: str,
) -> list[Fault]:
    """Why Hydra refuses `override`, in our words."""
    key, line = override.key_or_group, as_typed(override)
    where = f"command line: {line}"
    at = tuple(key.split("."))
    missing = _first_missing(config, at)
    says: Where = lambda _: where  # noqa: E731  (merge asks for a function)
    if missing is not None:
        names = _names(config, at[:missing])
        may_add = override.is_add() or override.is_force_add() or names is None
        if override.is_delete() or not may_add or unknown(config, at[: missing + 1], where):
            until = at[: missing + 1]
            near = nearest(key, [*(names or []), *groups])
            if script and missing == 0 and key not in NAMES and (key in others or not near):
                return [_the_scripts(key, script, line)]
            return [_no_place(until, at, names or [], groups, others, line)]
    elif override.is_add() and not isinstance(override.value(), (dict, list)):
        return [_plus_too_much(key, line)]
    return merge(config, override.value(), says, at)[1]


def _names(config: DictConfig, at: Sequence[str]) -> list[str] | None:
    """The keys that are at `at`, or None where there is nothing yet."""
    holder = OmegaConf.select(config, ".".join(at)) if at else config
    return [str(name) for name in holder] if isinstance(holder, DictConfig) else None


def _as_hydra_says(override: Override, error: Exception) -> Fault:
    lines = [line.strip() for line in str(error.__cause__ or error).splitlines() if line.strip()]
    return Fault(
        what=lines[0] if lines else type(error).__name__,
        where=f"command line: {as_typed(override)}",
        right=" ".join(lines[1:]) or "a value that fits this key; --cfg job shows them all",
        cure=f"{override.key_or_group}=<value>",
        key=override.key_or_group,
    )


def _no_place(
    until: tuple[str, ...],
    at: tuple[str, ...],
    names: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    others: set[str],
    line: str,
) -> Fault:
    where = f"command line: {line}"
    _, _, value = line.partition("=")
    deeper = "".join(f".{key}" for key in at[len(until) :])
    rest = f"{deeper}={value}" if "=" in line else deeper
    remove = "~" if line.startswith("~") else ""
    if len(until) > 1:
        return no_such_key(until, names, where, rest, remove)
    key = until[0]
    if key in others:
        return Fault(
            what=f"this command has no '{key}'",
            where=where,
            right=f"it has {', '.join(groups)}, and the keys in --help",
            cure=f"the command without {'.'.join(at)}",
            key=key,
        )
    if key in NAMES:
        home = "search_space" if deeper else "settings"
        return Fault(
            what=f"'{key}' is no key of the config's top",
            where=where,
            right=f"settings.{key} is what it starts from, search_space.{key} is its knob",
            cure=f"{home}.{key}{rest}",
            key=key,
        )
    names = [*names, *(name for name in groups if name not in names)]
    fault = no_such_key(until, names, where, rest)
    # Who meant a script has named what is tuned: that no model is there would be the same mistake.
    return replace(fault, key="model") if names_script([fault.cure]) else fault


def _the_scripts(key: str, script: str, line: str) -> Fault:
    """The fault of what is no word of ours, and so probably the argument of a script's own."""
    _, equals, value = line.partition("=")
    args = [f"--{key}", *([value] if equals else [])]
    return Fault(
        what=f"there is no key '{key}' in the config",
        where=f"command line: {line}",
        right="what the script is to get follows a bare --, as one would type it after its name",
        cure=shlex.join([script, "--", *args]),
        key=key,
    )


def _plus_too_much(key: str, line: str) -> Fault:
    return Fault(
        what=f"'{line}' adds a key that is there already",
        where=f"command line: {line}",
        right="the same without +",
        cure=line.lstrip("+"),
        key=key,
    )


def _first_missing(config: DictConfig, at: Sequence[str]) -> int | None:
    """Index of the first of the keys `at` that is not in `config`; None if all are."""
    node: Any = config
    for index, key in enumerate(at):
        if isinstance(node, ListConfig):
            return None
        if not isinstance(node, DictConfig) or node._is_none() or key not in node:
            return index
        node = node._get_node(key)
    return None
