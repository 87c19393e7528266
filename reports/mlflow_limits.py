"""What every MLflow server takes: characters of names, lengths of values, flat tags.

Source: mlflow/utils/validation.py. Older servers take less (250 characters for a parameter, 5,000
for a tag), so less is sent. Long things are whole in the artifacts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from reports.text import value

MAX_KEY = 250
MAX_PARAM = 250
MAX_TAG = 500
MAX_NOTE = 5_000

EMPTY: tuple[Any, ...] = (None, "", [], ())
"""A fact that is not there is no tag: an empty value of a setting would read `default`."""


def key_text(name: str) -> str:
    """`name` of a parameter, metric or tag: each character that some server refuses becomes _."""
    return re.sub(r"[^\w./ -]", "_", name, flags=re.ASCII)[:MAX_KEY]


def param_text(item: Any) -> str:
    """A parameter's value."""
    return _short(value(item), MAX_PARAM)


def tag_text(item: Any) -> str:
    """A tag's value."""
    return _short(value(item), MAX_TAG)


def note_text(note: str, limit: int = MAX_NOTE) -> str:
    """A description in Markdown, of `limit` characters at the most."""
    return _short(note, limit)


def about(record: Mapping[str, Any]) -> dict[str, Any]:
    """The workload, facts and versions of a record as flat tags: `fact.n_cpus`, `version.torch`."""
    tags = {"workload": record["workload"]}
    tags |= {f"fact.{name}": fact for name, fact in _flat(record["facts"]) if fact not in EMPTY}
    tags |= {f"version.{name}": version for name, version in record["versions"].items()}
    if record.get("git_commit"):
        tags["mlflow.source.git.commit"] = record["git_commit"]
    return tags


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, item in values.items():
        if isinstance(item, Mapping):
            yield from _flat(item, f"{before}{name}.")
        else:
            yield f"{before}{name}", item


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
