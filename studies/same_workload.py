"""A study goes on only with the workload that it began with: others tell nothing of its rates.

So does the table of a recording, whose header has not all of the facts.
The probe is asked again when a study goes on, and its answer compared with the facts that the first
session has kept. Times, paths and memory differ between any two probes and are not looked at; a
script's text may change as long as what it trains stays the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hotlap.errors import UserInputError
from hotlap.figures import number

OTHER_LENGTH = 0.1
"""A split drawn by chance, or batches filled up to a length, may make an epoch longer or shorter by
such a share of its steps, 0..1."""

KINDS = {"optimizer": "the optimizer", "dataset_kind": "the data set"}


def same_workload(
    then: Mapping[str, Any], now: Mapping[str, Any], anew: str, what: str = "study"
) -> None:
    """Refuse to go on if the workload is another one than it was.

    Args:
        then: The facts that the study keeps (hotlap/inspect_workload.py, hotlap/script/probe.py),
            or the table's header, without what was found in the script: it is enough in `now`.
        now: The answer of a probe in this session.
        anew: The command that starts such a study anew.
        what: What goes on: a study, or the table of a recording.

    Raises:
        UserInputError: It is another one; what has changed, and what to type.
    """
    if found := list(_changes(then, now)):
        raise UserInputError(
            f"the workload has changed since this {what} began ({'; '.join(found)}), and what was "
            "measured before says nothing of what it is now; go on with the workload as it was, or "
            f"start a new {what}: {anew}"
        )


def _changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What differs, in words. What one of the two does not know, as of an earlier version, may."""
    before, after = _size(then, "n_parameters"), _size(now, "n_parameters")
    if before and after and before != after:
        yield f"{before:,.0f} parameters, now {after:,.0f}"
    elif _differ(then, now, "model_digest"):
        yield "the model has other layers"
    before, after = _batch_size(then), _batch_size(now)
    if before and after and before != after:
        yield f"batches of {before:,.0f} samples, now {after:,.0f}"
    elif _shapes_stay(then) and _shapes_stay(now) and _differ(then, now, "batch_shapes"):
        yield f"batches of {_listed(then['batch_shapes'])}, now {_listed(now['batch_shapes'])}"
    before, after = _size(then, "n_epoch_steps"), _size(now, "n_epoch_steps")
    if before and after and abs(after - before) > OTHER_LENGTH * before:
        yield f"{before:,.0f} batches an epoch, now {after:,.0f}"
    for name, words in KINDS.items():
        if _differ(then, now, name):
            yield f"{words} {then[name]}, now {now[name]}"
    own, own_now = _mapping(then.get("own_settings")), _mapping(now.get("own_settings"))
    for name in own:
        if _differ(own, own_now, name):
            yield f"{name}={own[name]} of its own, now {own_now[name]}"


def _differ(then: Mapping[str, Any], now: Mapping[str, Any], name: str) -> bool:
    return name in then and name in now and then[name] != now[name]


def _size(facts: Mapping[str, Any], name: str) -> float | None:
    return number(facts.get(name))


def _batch_size(facts: Mapping[str, Any]) -> float | None:
    """The samples of a batch; None if no loader of the script says so many, and chance may do."""
    size = _size(facts, "batch_size")
    if "script" not in facts:
        return size
    loaders = _mapping(facts["script"]).get("loaders") or []
    return size if any(_size(one, "batch_size") == size for one in loaders) else None


def _shapes_stay(facts: Mapping[str, Any]) -> bool:
    """Whether all batches have the same shapes. A script may change them every ten steps, say."""
    known = isinstance(facts.get("batch_shapes"), list)
    return known and "script" not in facts and facts.get("shapes_vary") is False


def _listed(shapes: Any) -> str:
    return ", ".join(map(str, shapes))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
