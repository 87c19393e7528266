"""Freezing: the winner, or the baseline, as a frozen settings file with where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap import frozen
from hotlap.errors import FrozenFileError
from hotlap.measurement import Ratio
from hotlap.settings import Settings
from hotlap.spoken import interval
from studies.changes import differing
from studies.confirm import Confirmed
from studies.disproof import disproof, is_whole, stays
from studies.evidence import Evidence

NOTHING_PROVEN: dict[str, Any] = {"speedup": 1.0, "speedup_ci95": None}


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
    prove what is better (see studies/disproof.py). Where they are a whole proof of the same
    settings, what is written is the speedup by both, whoever wins; else each session would have its
    chance to be lucky. The rates beside it are those of the session that the file names.

    Args:
        paths: The study's own file first.
        workload: Its name.
        proof: The confirm rounds.
        origin: What else belongs to the provenance: facts, versions, commit, study, date.
        old: What an earlier session has proven (see `proven_before`).
    """
    settings, provenance, kept, earlier = decided(workload, proof, origin, old)
    for path in paths:
        frozen.dump(path, settings, provenance)
    return Freezing(paths[-1], kept, earlier)


def decided(
    workload: str, proof: Confirmed, origin: Mapping[str, Any], old: frozen.Frozen | None
) -> tuple[Settings, dict[str, Any], bool, str]:
    """What is written: settings, provenance, whether they are an earlier session's, what to say."""
    settings, provenance = proof.winner.settings, provenance_of(workload, proof, origin)
    if old is None:
        return settings, provenance, False, ""
    if old.settings.key() != settings.key():
        kept, earlier = judged(proof, old)
        if kept is not None:
            return old.settings, kept, True, earlier
        return settings, provenance, False, earlier
    before, low = Evidence.read(old.provenance), old.provenance["speedup_ci95"][0]
    if not (proof.found_better and before.ratios) or disproof(proof, settings, low, before):
        return settings, provenance, False, ""
    if not is_whole(proof.winner, proof.baseline):
        why = "this one has proven the same settings in fewer rounds than say much"
        return settings, old.provenance, True, f"{_told(old)}, stays frozen: {why}."
    both = before + Evidence.of(proof.winner, proof.baseline)
    earlier = f"{_told(old)}, is proven again, and frozen {_by_both(both)}."
    return settings, {**provenance, **both.written()}, False, earlier


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
    rate, evidence = winner.throughput(), Evidence.of(winner, baseline)
    return {
        "workload": workload,
        "samples_per_s": rate.value,
        "samples_per_s_ci95": [rate.low, rate.high] if rate.known else None,
        "baseline_samples_per_s": baseline.throughput().value,
        **(evidence.written() if proof.found_better else NOTHING_PROVEN),
        "tuned": differing(winner.settings, baseline.settings),
        "trial": winner.name,
        **origin,
    }


def judged(proof: Confirmed, old: frozen.Frozen) -> tuple[dict[str, Any] | None, str]:
    """What an earlier session's file says from now on, None if it goes, and what to say of it."""
    low, proven = old.provenance["speedup_ci95"][0], _told(old)
    before = Evidence.read(old.provenance)
    if stays(proof, old.settings, low, before):
        why = "the rounds of this one say too little against it"
        if proof.found_better:
            why = f"what this one proved, {proof.winner.name}, is not better for sure"
        arm = proof.arm_of(old.settings)
        if not before.ratios or arm is None or not is_whole(arm, proof.baseline):
            return old.provenance, f"{proven}, stays frozen: {why}."
        both = before + Evidence.of(arm, proof.baseline)
        kept = {**old.provenance, **both.written()}
        return kept, f"{proven}, stays frozen {_by_both(both)}: {why}."
    if against := disproof(proof, old.settings, low, before):
        return None, f"{proven}, is frozen no longer: {against}."
    return None, ""  # the winner takes its place


def _told(old: frozen.Frozen) -> str:
    ratio = Ratio(old.provenance["speedup"], *old.provenance["speedup_ci95"])
    return f"What an earlier session proved, {ratio.value:.2f}x {interval(ratio)}"


def _by_both(both: Evidence) -> str:
    return f"as {both.speedup.value:.2f}x {interval(both.speedup)} by the rounds of both"
