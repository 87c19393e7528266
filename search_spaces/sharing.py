"""Which numbers of loader workers leave what is trained as it is, for datasets that mind.

Each worker has a copy of the dataset. A map-style dataset is shared out by torch; a stream
(IterableDataset) is not, unless it asks which worker it is in: every further worker repeats it
(pytorch#30599). So a baseline with two workers trains on a stream twice in an epoch, and there
every other count is the change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from search_spaces.knob import Value

STREAM_WORKERS = 1
"""No worker and one give the same stream."""


def worker_counts(
    counts: Sequence[Value], base: int, written: bool, facts: Mapping[str, Any]
) -> tuple[list[Value], str, str]:
    """The counts that may be searched.

    Args:
        counts: The knob's values.
        base: The baseline's count.
        written: Whether the user wrote the values himself (they are not `auto`): for a stream of
            which nothing could be proven he vouches for them so.
        facts: Machine facts and the probe's workload facts, in one mapping.

    Returns:
        The counts, why others are left out (part of a sentence), and a doubt about those that stay
        (a sentence); both may be empty.
    """
    if not facts.get("iterable_dataset") or facts.get("stream_sharing") == "shared":
        return list(counts), "", _generator_doubt(counts, base, facts)
    same = {base} if base > STREAM_WORKERS else set(range(STREAM_WORKERS + 1))
    kept: list[Value] = [n for n in counts if n in same]
    if len(kept) == len(counts):
        return kept, "", ""
    stream = "the dataset is a stream (IterableDataset)"
    if facts.get("stream_sharing") == "repeated":
        left_out = (
            f"{_list(same)} only, because {stream} and each of two workers was seen to give all "
            "of it; let it share its samples out by torch.utils.data.get_worker_info"
        )
        return kept, left_out, ""
    if written:
        doubt = (
            f"num_workers is searched as written, although {stream} of which nothing shows that "
            "its workers share it out; if they do not, every further worker repeats it"
        )
        return list(counts), "", doubt
    left_out = (
        f"{_list(same)} only, because {stream} and every further worker would repeat it, unless it "
        "shares its samples out by torch.utils.data.get_worker_info; if it does, write the range "
        "yourself, such as search_space.num_workers.choices=[0,1,2,4]"
    )
    return kept, left_out, ""


def _generator_doubt(counts: Sequence[Value], base: int, facts: Mapping[str, Any]) -> str:
    place = facts.get("own_generator")
    if not place or base > 0 or not any(isinstance(n, int) and n > 0 for n in counts):
        return ""
    return (
        f"num_workers is searched, although {place} is a random generator that each worker gets a "
        "copy of, so that all of them draw the same numbers; draw from torch's, numpy's or "
        "random's global one, which every worker seeds for itself, or write "
        "search_space.num_workers.choices=[0]"
    )


def _list(counts: set[int]) -> str:
    return " and ".join(str(n) for n in sorted(counts))
