"""Contribution: what a changed setting brings; and Refusal: what may not be frozen at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hotlap.measurement import Ratio
from reports.arm import Arm


@dataclass(frozen=True)
class Contribution:
    """What a changed setting brings, or several that were put back together.

    Attributes:
        setting: Its name; several: "pin_memory + non_blocking".
        value: In the winner; a tuple for several.
        default: The baseline's value, put back to measure what the change brings.
        ratio: The speed with it over the speed without it.
        kept: Whether the winner keeps it.
        reason: Why it is kept or dropped, a few words; may be empty.
        without: The same with the setting put back; None if its costs are not known.
        whole: All settings, as measured beside `without`; None takes the winner.
        of_proof: Whether nothing was put back: what is without it is the proof's baseline.
    """

    setting: str
    value: Any
    default: Any
    ratio: Ratio
    kept: bool = True
    reason: str = ""
    without: Arm | None = None
    whole: Arm | None = None
    of_proof: bool = False


@dataclass(frozen=True)
class Refusal:
    """Settings that were fast and may not be frozen.

    Attributes:
        name: Of the candidate: "trial 7".
        why: The reason, a sentence: its losses are not the baseline's, it broke a limit.
    """

    name: str
    why: str
