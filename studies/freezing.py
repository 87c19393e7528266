"""Freezing: the winner, or the baseline, as a frozen settings file with where it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hotlap import frozen
from studies.ablate import differing
from studies.confirm import Confirmed


def freeze(
    paths: Sequence[Path], workload: str, proof: Confirmed, origin: Mapping[str, Any]
) -> Path:
    """Write what was proven to each of `paths`.

    A study that goes on and has no time to prove its winner again keeps its earlier file.

    Args:
        paths: The study's own file first.
        workload: Its name.
        proof: The confirm rounds.
        origin: What else belongs to the provenance: facts, versions, commit, study, date.

    Returns:
        The file to tell the user of: the last one, or the earlier file that is kept.
    """
    if not proof.found_better and was_proven(paths[0]):
        return paths[0]
    provenance = provenance_of(workload, proof, origin)
    for path in paths:
        frozen.dump(path, proof.winner.settings, provenance)
    return paths[-1]


def provenance_of(workload: str, proof: Confirmed, origin: Mapping[str, Any]) -> dict[str, Any]:
    """What a frozen file says of the winner, or of the baseline if there is none.

    Args:
        workload: Its name.
        proof: The confirm rounds.
        origin: What else belongs to it.
    """
    winner, baseline = proof.winner, proof.baseline
    rate, speedup = winner.throughput(), winner.speedup(baseline)
    return {
        "workload": workload,
        "samples_per_s": rate.value,
        "samples_per_s_ci95": [rate.low, rate.high] if rate.known else None,
        "baseline_samples_per_s": baseline.throughput().value,
        "speedup": speedup.value if proof.found_better else 1.0,
        "speedup_ci95": [speedup.low, speedup.high] if proof.found_better else None,
        "tuned": differing(winner.settings, baseline.settings),
        "trial": winner.name,
        **origin,
    }


def was_proven(path: Path) -> bool:
    """Whether the frozen file holds settings that an earlier session proved to be faster."""
    interval = frozen.load_frozen(path).provenance.get("speedup_ci95") if path.exists() else None
    return bool(interval and interval[0] > 1)
