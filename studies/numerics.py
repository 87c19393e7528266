"""Numerics: which settings may be frozen, as far as that can be seen without a single round.

Settings are judged before the rounds of their proof: who is refused costs no rounds, and what the
judging leaves of its time is the rounds' as well. One gate judges all of them, so that its runs of
the baseline are done once. Whoever could not be judged for want of time is judged once more if he
has won.
"""

from __future__ import annotations

from collections.abc import Callable

from hotlap.settings import Settings
from runners.protocol import Run
from studies.budget import Budget
from studies.gate import UNKNOWN, Gate
from studies.lab import Lab

SHARE = 0.07
"""Share of the budget that judging is expected to take."""

STARTS, MOST = 4, 0.2
"""Runs that it takes as a rule, each of which pays a slow start; and the most that it may take of
the budget before the rounds."""

MakeGate = Callable[[Run, float], Gate]


class Numerics:
    """Judges settings.

    Args:
        lab: Shows what is done.
        budget: The command's wall clock.
        make_gate: Makes the gate, from a run of the baseline and the seconds that it may take;
            None where nothing can be trained.
    """

    def __init__(self, lab: Lab, budget: Budget, make_gate: MakeGate | None) -> None:
        self._lab = lab
        self._budget = budget
        self._make_gate = make_gate
        self._gate: Gate | None = None
        self._verdicts: dict[object, tuple[str, str]] = {}
        self._spent_s = 0.0

    def kept_s(self, startup_s: float) -> float:
        """Seconds that judging is still expected to take, where a run starts for `startup_s`."""
        return max(0.0, self._share(startup_s) * self._budget.seconds - self._spent_s)

    def judge_before(self, name: str, settings: Settings, baseline: Run) -> str:
        """Why they may not be frozen, before any round; empty if they may, or nobody knows.

        Args:
            name: Of the arm.
            settings: To be judged.
            baseline: A run of the baseline that ended well.
        """
        if settings.key() in self._verdicts:
            return self._verdicts[settings.key()][0]
        left_s = min(self._budget.left(), MOST * self._budget.seconds - self._spent_s)
        if left_s <= 0:
            return ""
        return self._judge(name, settings, baseline, left_s)[0]

    def judge(self, name: str, settings: Settings, baseline: Run) -> tuple[str, str]:
        """Why they may not be frozen, and why that is not known; empty if neither."""
        refused, unknown = self._verdicts.get(settings.key(), ("", UNKNOWN))
        if not unknown:
            return refused, ""
        return self._judge(name, settings, baseline, self._budget.left())

    def _judge(
        self, name: str, settings: Settings, baseline: Run, timeout_s: float
    ) -> tuple[str, str]:
        if self._make_gate is None:
            return "", ""
        self._lab.stage("numerics", f"does {name} learn what the baseline learns?")
        if self._gate is None:
            share = self._share(baseline.measurement.startup_s)
            self._gate = self._make_gate(baseline, share * self._budget.seconds)
        before_s = self._budget.spent()
        reason, unknown = self._gate(settings, timeout_s), ""
        self._spent_s += self._budget.spent() - before_s
        if not reason:
            self._lab.note(self._gate.compared)
        elif reason.startswith(UNKNOWN) and not self._gate.must_know(settings):
            reason, unknown = "", reason
        self._verdicts[settings.key()] = reason, unknown
        return reason, unknown

    def _share(self, startup_s: float) -> float:
        if self._make_gate is None:
            return 0.0
        return max(SHARE, min(MOST, STARTS * startup_s / self._budget.seconds))
