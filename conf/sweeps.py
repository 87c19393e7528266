"""Sweeps: several values of a key, one study after another."""

from __future__ import annotations

from collections.abc import Sequence

from hydra.core.override_parser.types import Override

from conf.choices import MANY
from conf.fault import Fault

LISTS = (*MANY, "override", "script_args")
"""What takes several values in one study."""


def each_job(overrides: Sequence[Override]) -> list[list[str]]:
    """The overrides of each job of a sweep: all combinations of what has several values.

    Raises:
        ValueError: A sweep over a range that is not a list.
    """
    jobs: list[list[str]] = [[]]
    for override in overrides:
        words = [override.input_line or ""]
        if override.is_sweep_override():
            if not override.is_discrete_sweep():
                raise ValueError(override.input_line)
            key = override.get_key_element()
            words = [f"{key}={value}" for value in override.sweep_string_iterator()]
        jobs = [[*job, word] for job in jobs for word in words]
    return jobs


def sweep_fault(override: Override) -> Fault:
    """The fault of several values, or of an interval, where one value is wanted."""
    line = override.input_line or ""
    key, _, value = line.partition("=")
    listed = override.key_or_group in LISTS
    if override.is_interval_sweep():
        return Fault(
            what=f"'{line}' is an interval",
            where=f"command line: {line}",
            right="the values one by one, with -m",
            cure=f"-m {key}=1,2",
            key=override.key_or_group,
        )
    many = f"for several of one study: {key}=[{value}]; " if listed else ""
    return Fault(
        what=f"'{line}' names several values",
        where=f"command line: {line}",
        right=f"{many}for one study after another: -m; for one text with commas: quotes",
        cure=f"{key}=[{value}]" if listed else f"-m {line}",
        key=override.key_or_group,
    )
