"""Freezing: the winner, or the baseline, as a frozen settings file with where it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap import frozen
from hotlap.measurement import Ratio
from hotlap.spoken import interval
from studies.ablate import differing
from studies.confirm import Confirmed
from studies.disproof import disproof


@dataclass(frozen=True)
class Freezing:
    """What was frozen.

    Attributes:
        path: The file to tell the user of: the last one that was written.
        kept: Whether it holds what an earlier session of the study had proven.
        earlier: What became of that, a sentence; empty if there is nothing to say.
    """

    path: Path
    kept: bool = False
    earlier: str = ""


def freeze(
    paths: Sequence[Path], workload: str, proof: Confirmed, origin: Mapping[str, Any]
) -> Freezing:
    """Write what was proven to each of `paths`.

    A study that goes on and proves nothing keeps what it has proven before, unless its rounds speak
    against that (see studies/disproof.py).

    Args:
        paths: The study's own file first.
        workload: Its name.
        proof: The confirm rounds.
        origin: What else belongs to the provenance: facts, versions, commit, study, date.
    """
    settings, provenance = proof.winner.settings, provenance_of(workload, proof, origin)
    kept, earlier = False, ""
    if not proof.found_better and was_proven(paths[0]):
        old = frozen.load_frozen(paths[0])
        proven = _speedup(old)
        against = disproof(proof, old.settings, old.provenance["speedup_ci95"][0])
        kept = not against
        if kept:
            settings, provenance = old.settings, old.provenance
            why = "the rounds of this one say too little against it"
            earlier = f"What an earlier session proved, {proven}, stays frozen: {why}."
        else:
            earlier = f"What an earlier session proved, {proven}, is frozen no longer: {against}."
    for path in paths:
        frozen.dump(path, settings, provenance)
    return Freezing(paths[-1], kept, earlier)


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
    ends = frozen.load_frozen(path).provenance.get("speedup_ci95") if path.exists() else None
    return bool(ends and ends[0] > 1)


def _speedup(old: frozen.Frozen) -> str:
    low, high = old.provenance["speedup_ci95"]
    ratio = Ratio(old.provenance["speedup"], low, high)
    return f"{ratio.value:.2f}x {interval(ratio)}"
