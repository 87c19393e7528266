"""Diagnosis: which side binds a training run, its loader or its model, and how far it is from that.

Each side is measured without the other: the loader with nothing computed, the model on batches kept
in memory (see hotlap/sides.py). The slower of the two is the most that training could reach with
these settings. Time blocked in `next(loader)` alone does not tell this: a model that waits little
may do so because the loader's workers have taken its cores.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal

from hotlap.measurement import Measurement, Rate
from hotlap.settings import Settings
from studies.lab import Lab

NEAR = 0.85
"""Training below this share of the slower side's rate is bound by neither alone."""

ALIKE = 0.5
"""Below this ratio two sides are not alike, however wide the intervals of a short window are."""

HALF = 0.5

ENOUGH_BLOCKS = 3
"""So many blocks are a rate, also of a side that ran out of its time."""

DIAGNOSIS_SHARE = 0.06
"""Both sides of one settings value take at most this share of the budget, or are left out."""

SIDES_TRIALS = 2.5
"""What the winner's sides need, in usual trials: one each, and rounds may end a little late."""

KINDS = {"loader": "loader alone", "compute": "model alone"}
"""What a side's trial is called."""

Binding = Literal["data", "compute", "both", "neither", "unknown"]


@dataclass(frozen=True)
class Diagnosis:
    """What training, its loader alone and its model alone do with the same settings.

    Attributes:
        together: Training as it is, samples per second.
        loader: The loader alone; None if that could not be measured.
        compute: The model alone; None if that could not be measured.
        reasons: Why a side has no rate: "loader" or "compute" -> a sentence.
        num_workers: Loader workers in training.
        n_cores: CPU cores that the processes share.
        shares_cores: Whether the model computes on them, and not on a device of its own.
        waits: Share of training's time, 0..1, blocked in `next(loader)`. Without workers that is
            all that the loader can cost: what training lacks beyond it is another process's luck.
    """

    together: Rate
    loader: Rate | None
    compute: Rate | None
    reasons: dict[str, str] = field(default_factory=dict)
    num_workers: int = 0
    n_cores: int = 1
    shares_cores: bool = True
    waits: float = 1.0

    @property
    def bound(self) -> float | None:
        """The slower side's samples per second; of the one that is known, if it is only one."""
        return min((r.value for r in (self.loader, self.compute) if r is not None), default=None)

    @property
    def bound_share(self) -> float | None:
        """How much of `bound` training reaches; by chance slightly above 1."""
        return self.together.value / self.bound if self.bound else None

    @property
    def stall_share(self) -> float | None:
        """Share of its time, 0..1, that the model loses against running alone."""
        if self.compute is None or self.compute.value <= 0:
            return None
        most = self.waits if self.num_workers == 0 else 1.0
        return min(most, max(0.0, 1 - self.together.value / self.compute.value))

    @property
    def binding(self) -> Binding:
        """Which side holds training back.

        "both" if their intervals overlap and they are of one size, "neither" if training is far
        below both: they take turns or compete for the same cores. With one side known it is that
        one if training comes near it, and the other, which cannot be told from competition, if
        training is far below it; in between nobody knows.
        """
        if self._impossible:
            return "unknown"
        if self.loader is None or self.compute is None:
            return self._by_one_side()
        if self._far_below(self.loader) and self._loses_to_data(self.compute):
            return "neither"
        slower, faster = sorted((self.loader, self.compute), key=lambda rate: rate.value)
        if faster.low <= slower.high and slower.value >= ALIKE * faster.value:
            return "both"
        return "data" if self.loader.value < self.compute.value else "compute"

    @property
    def sentence(self) -> str:
        """What it means, in one line."""
        together = _rate(self.together)
        if self._impossible:
            return (
                f"which side binds cannot be told: together {together} samples/s, more than the "
                f"slower side alone ({_rate(self.loader)} loader, {_rate(self.compute)} model); "
                "the machine's speed changed meanwhile"
            )
        if self.loader is None or self.compute is None:
            return self._sentence_by_one_side()
        loader, compute = _rate(self.loader), _rate(self.compute)
        if self.binding == "neither":
            return (
                f"neither side binds: loader {loader} and model {compute} samples/s alone, "
                f"{together} together; {self._why_neither()}"
            )
        reached = "" if (self.bound_share or 0) >= NEAR else f"; together they reach {together}"
        if reached and self.binding == "compute" and not self._loses_to_data(self.compute):
            reached += ", which is the difference of processes and not the loader's doing"
        if self.binding == "data":
            return (
                f"data-bound: the loader delivers {loader} of the {compute} samples/s that the "
                f"model could take ({100 * (self.stall_share or 0):.0f} % of the time the model "
                f"waits){reached}"
            )
        if self.binding == "compute":
            return (
                f"compute-bound: the model takes {compute} samples/s, the loader could deliver "
                f"{loader}{reached}"
            )
        return (
            f"balanced: the loader delivers {loader} samples/s and the model takes {compute}, so "
            f"only both together can get faster{reached}"
        )

    @property
    def _impossible(self) -> bool:
        """Whether training was faster than one side alone, beyond doubt."""
        return (self.bound_share or 0.0) > 1 / NEAR

    def _far_below(self, side: Rate) -> bool:
        share = self.together.value / side.value if side.value > 0 else 1.0
        # Half of it needs no interval, which a few blocks leave wide.
        return share < HALF or (share < NEAR and self.together.high < side.low)

    def _loses_to_data(self, compute: Rate) -> bool:
        """Whether training is far below the model alone, and may owe it to the loader."""
        return self._may_owe_to_data and self._far_below(compute)

    @property
    def _may_owe_to_data(self) -> bool:
        """Whether the loader can cost training any speed worth a word."""
        return self.num_workers > 0 or self.waits > 1 - NEAR

    def _is_near(self, side: Rate) -> bool:
        return self.together.value >= NEAR * side.value

    @property
    def _or_both(self) -> str:
        if self.num_workers == 0:
            return ", or the two take turns"
        return f", or {self._why_neither()}"

    def _why_neither(self) -> str:
        if self.num_workers == 0:
            return "without workers they take turns"
        cores = "core" if self.n_cores == 1 else f"{self.n_cores} cores"
        if self.shares_cores:
            return f"they compete for the same {cores}"
        return f"workers may take the {cores} from the process that feeds the device"

    def _by_one_side(self) -> Binding:
        if self.compute is not None:
            if not self._may_owe_to_data or self._is_near(self.compute):
                return "compute"
            return "data" if self._far_below(self.compute) else "unknown"
        if self.loader is not None:
            if self._is_near(self.loader):
                return "data"
            return "compute" if self._far_below(self.loader) else "unknown"
        return "unknown"

    def _sentence_by_one_side(self) -> str:
        missing = "; ".join(
            f"the {'model' if side == 'compute' else side} alone was not measured ({reason})"
            for side, reason in self.reasons.items()
        )
        known = {"loader": self.loader, "compute": self.compute}
        alone = next((f"{_rate(rate)}" for rate in known.values() if rate is not None), "")
        if not alone:
            return f"nobody knows which side binds: {missing}"
        who = "the model" if self.compute is not None else "the loader"
        rates = f"{_rate(self.together)} samples/s together, {who} alone {alone}; {missing}"
        if self.binding == "unknown":
            return f"which side binds is not known: {rates}"
        # What training lacks to the one known side, the other one takes, or both do by turns.
        by_the_other = self.binding == ("data" if self.compute is not None else "compute")
        return f"{self.binding}-bound{self._or_both if by_the_other else ''}: {rates}"


def diagnose(
    lab: Lab,
    settings: Settings,
    together: Measurement,
    timeout_s: float,
    shares_cores: bool = True,
) -> Diagnosis:
    """Measure each side of `settings` alone, as trials of kinds of their own (`KINDS`).

    Args:
        lab: Where to measure.
        settings: Those of `together`.
        together: Training with them.
        timeout_s: For each of the two trials.
        shares_cores: Whether the model computes on the cores that loader workers have, too.

    Returns:
        A side that cannot be measured has no rate and a reason; nothing is raised for it.
    """
    found: dict[str, Rate | None] = {"loader": None, "compute": None}
    reasons: dict[str, str] = {}
    for side in found:
        if side == "loader" and together.resident:
            reasons[side] = "one batch lies on the device for good, so there is no loader"
            continue
        run = lab.measure(KINDS[side], settings, timeout_s, side=side).run
        if len(run.measurement.blocks) >= ENOUGH_BLOCKS or run.outcome == "ok":
            found[side] = run.measurement.rate
        else:
            reasons[side] = f"{run.outcome}: {run.reason}" if run.reason else run.outcome
    return Diagnosis(
        together.rate,
        found["loader"],
        found["compute"],
        reasons,
        0 if together.resident else together.num_workers,  # which a resident batch asks nothing
        _n_cores(),
        shares_cores,
        together.data_wait_share,
    )


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "an unknown number of"
    value = rate.value
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
