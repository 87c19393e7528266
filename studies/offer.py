"""Offer: the bank's settings for a full run that was started without any."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studies.bank import Bank
from studies.fingerprints import machine_of


def offer(folder: Path | None, job: str, facts: Mapping[str, Any]) -> str:
    """The sentence that offers settings, or "" if the bank has none that fit.

    Args:
        folder: The bank's folder; None for no bank.
        job: What the command line named (conf/job_key.py): a full run asks no probe.
        facts: Of the machine, and those of a worker on it.
    """
    if folder is None:
        return ""
    here = machine_of(facts)
    # A study on this bank tells of damaged files; a full run has other things to say.
    for entry in Bank(folder, lambda text: None).entries():
        if job and entry.job == job and machine_of(entry.facts) == here and not entry.refuted:
            return (
                "the bank has settings for this workload on this machine, proven "
                f"{entry.speedup:.2f}x on {entry.date[:10]}: settings={entry.path}"
            )
    return ""
