"""Freezing: the winner, or the baseline, as a frozen settings file with where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap import frozen
from hotlap.errors import FrozenFileError
from hotlap.measurement import Ratio
from hotlap.spoken import interval
from studies.ablate import differing
from studies.confirm import Confirmed
from studies.disproof import disproof, stays


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


def proven_before(path: Path, note: Callable[[str], None]) -> frozen.Frozen | None:
    """What an earlier session of the study has proven to be faster, if it has.

    Asked when a session begins: a file that was changed by hand must not end it when it is over.

    Args:
        path: The study's own frozen file.
        note: Takes a sentence for the user, if it cannot be read any more.
    """
    if not path.exists():
        return None
    try:
        old = frozen.load_frozen(path)
    except FrozenFileError as error:
        told = " ".join(str(error).split())
        note(f"{told} Until then it counts as not proven, and this session writes it anew.")
        return None
    ends = old.provenance.get("speedup_ci95")
    return old if ends and ends[0] > 1 else None


def freeze(
    paths: Sequence[Path],
    workload: str,
    proof: Confirmed,
    origin: Mapping[str, Any],
    old: frozen.Frozen | None = None,
) -> Freezing:
    """Write what was proven to each of `paths`.

    A study that goes on keeps what it has proven before, unless its rounds speak against that or
    prove what is better (see studies/disproof.py).

    Args:
        paths: The study's own file first.
        workload: Its name.
        proof: The confirm rounds.
        origin: What else belongs to the provenance: facts, versions, commit, study, date.
        old: What an earlier session has proven (see `proven_before`).
    """
    settings, provenance = proof.winner.settings, provenance_of(workload, proof, origin)
    kept, earlier = False, ""
    if old is not None and old.settings.key() != settings.key():
        kept, earlier = _judged(proof, old)
        if kept:
            settings, provenance = old.settings, old.provenance
    for path in paths:
        frozen.dump(path, settings, provenance)
    return Freezing(paths[-1], kept, earlier)


def provenance_of(workload: str, proof: Confirmed, origin: Mapping[str, Any]) -> dict[str, Any]:
    """What a frozen file says of the winner, or of the baseline if there is none.

    Who wins is picked by what the same rounds measured, so where several arms were proven the rate
    and the speedup are a little too good; the intervals make up for that (see studies/arm.py).

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


def _judged(proof: Confirmed, old: frozen.Frozen) -> tuple[bool, str]:
    """Whether what an earlier session proved stays, and what to say of it."""
    low, high = old.provenance["speedup_ci95"]
    ratio = Ratio(old.provenance["speedup"], low, high)
    proven = f"What an earlier session proved, {ratio.value:.2f}x {interval(ratio)}"
    if stays(proof, old.settings, low):
        why = "the rounds of this one say too little against it"
        if proof.found_better:
            why = f"what this one proved, {proof.winner.name}, is not better for sure"
        return True, f"{proven}, stays frozen: {why}."
    if against := disproof(proof, old.settings, low):
        return False, f"{proven}, is frozen no longer: {against}."
    return False, ""  # the winner takes its place
