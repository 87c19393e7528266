"""How many batches the loader's workers have ready: is its queue full, empty or on its way?

A full queue means that the model binds, an empty one that the loader does. In between the rate
seen is not the steady one: batches are used up faster than they are made, or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def ready_batches(iterator: Iterator[Any]) -> int | None:
    """Batches that wait to be taken from torch's DataLoader iterator.

    None where it cannot be told: without workers, from another library's loader, or on a system
    whose queues have no size (macOS).
    """
    # torch has no public way; these names have stood since torch 1.2.
    results = getattr(iterator, "_worker_result_queue", None)
    held = getattr(iterator, "_task_info", None)
    if results is None or held is None:
        return None
    queues = {id(q): q for q in (results, getattr(iterator, "_data_queue", results))}
    try:
        waiting: int = sum(q.qsize() for q in queues.values())
    except NotImplementedError:
        return None
    return waiting + sum(len(info) == 2 for info in held.values())
