"""Numerics: which settings may be frozen, as far as that can be seen without a single round.

Settings are judged before the rounds of their proof: who is refused costs no rounds, and what the
judging leaves of its time is the rounds' as well. One gate judges all of them, so that its runs of
the baseline are done once. Whoever could not be judged for want of time is judged once more if he
has won, and only then refused where nothing may be frozen unseen.

Settings that compile do so once more here: what draws its random numbers as the uncompiled model
does (hotlap/losses.py) is found in no cache of the trials'.
"""

from __future__ import annotations

from collections.abc import Callable

from hotlap.settings import Settings
from runners.protocol import Run
from studies.budget import Budget
from studies.gate import NO_BASELINE, UNKNOWN, WINNER_RUNS, Gate
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
        self._reasons: dict[object, str] = {}
        self._spent_s = 0.0  # without what compilation was expected to take

    def kept_s(self, startup_s: float) -> float:
        """Seconds that judging one more is expected to take, where a run starts for `startup_s`.

        Compilation comes on top. The baseline's runs are done once; a winner's own are not.
        """
        share_s = self._share(startup_s) * self._budget.seconds
        return max(share_s - self._spent_s, share_s * WINNER_RUNS / STARTS)

    def knows(self, settings: Settings) -> bool:
        """Whether more time would tell nothing more of them."""
        return self._make_gate is None or not wants_time(self._reasons.get(settings.key(), UNKNOWN))

    def judge_before(
        self, name: str, settings: Settings, baseline: Run, compile_s: float = 0.0
    ) -> str:
        """Why they may not be frozen, before any round; empty if they may, or nobody knows yet.

        Args:
            name: Of the arm.
            settings: To be judged.
            baseline: A run of the baseline that ended well.
            compile_s: What compiling them is expected to take.
        """
        if not self.knows(settings):
            most_s = MOST * self._budget.seconds - self._spent_s + compile_s
            left_s = min(self._budget.left(), most_s)
            if left_s > 0:
                self._judge(name, settings, baseline, left_s, compile_s)
        return self._outcome(settings)[0] if self.knows(settings) else ""

    def judge(self, name: str, settings: Settings, baseline: Run, left_s: float) -> tuple[str, str]:
        """Why they may not be frozen, and why that is not known; empty if neither.

        Args:
            name: Of the arm.
            settings: To be judged.
            baseline: A run of the baseline that ended well.
            left_s: Seconds in which it has to be known.
        """
        if not self.knows(settings):
            self._judge(name, settings, baseline, left_s)
        return self._outcome(settings)

    def _outcome(self, settings: Settings) -> tuple[str, str]:
        reason = self._reasons.get(settings.key(), "")
        unseen = reason.startswith(UNKNOWN)
        if unseen and self._gate is not None and not self._gate.must_know(settings):
            return "", reason
        return reason, ""

    def _judge(
        self,
        name: str,
        settings: Settings,
        baseline: Run,
        timeout_s: float,
        compile_s: float = 0.0,
    ) -> None:
        assert self._make_gate is not None  # without it everything is known
        self._lab.stage("numerics", f"does {name} learn what the baseline learns?")
        if self._gate is None:
            share = self._share(baseline.measurement.startup_s)
            self._gate = self._make_gate(baseline, share * self._budget.seconds)
        before_s = self._budget.spent()
        reason = self._reasons[settings.key()] = self._gate(settings, timeout_s)
        self._spent_s += max(0.0, self._budget.spent() - before_s - compile_s)
        if not reason:
            self._lab.note(self._gate.compared)

    def _share(self, startup_s: float) -> float:
        if self._make_gate is None:
            return 0.0
        return max(SHARE, min(MOST, STARTS * startup_s / self._budget.seconds))


def wants_time(reason: str) -> bool:
    """Whether somebody was not judged for want of time alone, so that more of it would tell."""
    return reason.startswith(UNKNOWN) and not reason.startswith(NO_BASELINE)
