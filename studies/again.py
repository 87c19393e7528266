"""Again: settings of the bank are proven once more, by the confirm stage alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hotlap.settings import Settings
from studies.budget import Budget
from studies.confirm import Confirmed, confirm
from studies.disproof import disproof, measured
from studies.entry import Entry
from studies.found import Found
from studies.gate import UNKNOWN
from studies.lab import Lab
from studies.noise import LEAST_ROUNDS
from studies.numerics import wants_time
from studies.plan import Plan
from studies.protocols import Observer, Trial
from studies.prover import Prover
from studies.rounds import ENOUGH_ROUNDS, Exceeded, Rounds

ARM = "bank"
"""The settings' name among the arms of their proof."""

AGAIN_S = 120.0
AGAIN_SHARE = 0.2
"""Their rounds have two minutes, or what enough rounds of two arms need if that is more; never more
than this share of the budget, because a search may have to follow."""

N_COMPILED = 2
"""So often a compilation comes on top of that: in the first round, and in the second it has to be
expected once more, since nobody knows yet what torch finds again."""

SEARCHED = {
    True: "the bank's settings are tried by the search alone: {}",
    False: "the bank's settings are not tried: {}",
}
"""What is said where they are not proven again, by whether a search follows; with the reason."""

PROVES = 2
"""So few rounds can prove what is large; one alone says nothing of its own doubt."""


class TooLong(Exception):
    """The rounds would prove nothing within their share of the budget; the text says why."""


def time_for(compile_s: float, typical_s: float, budget_s: float) -> float:
    """Seconds that the rounds of the bank's settings may take.

    Args:
        compile_s: What compiling them will take; inf where nobody knows.
        typical_s: What a trial takes that does not compile.
        budget_s: Of the whole study.

    Raises:
        TooLong: The settings compile, for so long that too few rounds would be left, or nobody
            knows for how long.
    """
    most_s, more_s = AGAIN_SHARE * budget_s, N_COMPILED * compile_s
    if math.isinf(compile_s):
        raise TooLong("they compile, and their entry does not say for how long")
    if compile_s and more_s + 2 * LEAST_ROUNDS * typical_s > most_s:
        raise TooLong(
            f"they compile for {compile_s:.0f} s, too long to be proven again within "
            f"{most_s:.0f} s, their share of the budget"
        )
    return min(max(AGAIN_S, 2 * ENOUGH_ROUNDS * typical_s) + more_s, most_s)


class Again:
    """Proves the bank's settings again, by the confirm stage alone.

    Args:
        lab: Measures settings.
        prover: Judges their numerics.
        budget: The command's wall clock.
        plan: What the user says about the course.
        observer: Who wants to see it.
        exceeded: A sentence for each limit that a measurement exceeds.
    """

    def __init__(
        self,
        lab: Lab,
        prover: Prover,
        budget: Budget,
        plan: Plan,
        observer: Observer,
        exceeded: Exceeded,
    ) -> None:
        self._lab = lab
        self._prover = prover
        self._budget = budget
        self._plan = plan
        self._observer = observer
        self._exceeded = exceeded

    def prove(
        self, base: Settings, expert: Settings, first: Trial, hit: Entry
    ) -> tuple[Confirmed, tuple[list[tuple[str, str]], str], bool | None]:
        """Measure baseline, bank and expert in interleaved rounds, and judge what they find.

        Args:
            base: The baseline.
            expert: The expert's settings, which give way if time is short.
            first: The baseline's first trial, which tells how long one takes.
            hit: The bank's entry.

        Returns:
            The rounds, what the prover answered, and whether the bank's settings have proven
            themselves again (see `verdict`).

        Raises:
            TooLong: There is no time for it.
        """
        budget, typical_s, compile_s = self._budget, self._lab.typical_s(), self._compile_s(hit)
        end_s = budget.spent() + time_for(compile_s, typical_s, budget.seconds)
        self._lab.stage("confirm", "the bank's settings against the baseline, interleaved")
        if compile_s:
            self._lab.expect(typical_s + compile_s, hit.settings)
        kept_s = self._prover.kept_s(base, [hit.settings]) + compile_s
        rounds = Rounds(
            self._lab,
            "confirm",
            lambda: min(budget.left(), end_s - budget.spent()),
            self._plan.max_rounds,
            self._plan.seed,
            self._exceeded,
        )
        arms = {"baseline": base, ARM: hit.settings, "expert": expert}
        proof = confirm(rounds, arms, first)

        # With what the rounds have left over, but with nothing of the search's that may follow.
        def left() -> float:
            return min(budget.left(), end_s + kept_s - budget.spent())

        # They are what is asked about, whoever has won; who else has is frozen in their place.
        refused, unknown = judged = self._prover.refuse(alone(proof, hit.settings), left)
        if not refused and not wants_time(unknown):
            judged = self._prover.refuse(proof, left)
        proven, reason = verdict(hit, proof, unknown)
        self._observer.note(f"the bank's settings {VERDICTS[proven].format(reason)}")
        return proof, judged, proven

    def fits(self, base: Settings, hit: Entry) -> bool:
        """Whether all that is left of the budget can prove them: `PROVES` rounds, and numerics."""
        compile_s, typical_s = self._compile_s(hit), self._lab.typical_s()
        rounds_s = PROVES * (2 * typical_s + compile_s)
        if rounds_s + self._prover.kept_s(base, [hit.settings]) > self._budget.left():
            return False
        self._lab.expect(typical_s + compile_s, hit.settings)
        return True

    def _compile_s(self, hit: Entry) -> float:
        """What compiling them will take; a baseline that compiles the same has left it on disk."""
        return 0.0 if self._lab.compiled.is_on_disk(hit.settings) else hit.compile_s


def alone(proof: Confirmed, settings: Settings) -> Confirmed:
    """The rounds as if these settings alone had stood beside the baseline, to judge nobody else."""
    arms = [arm for arm in proof.arms[1:] if arm.settings.key() == settings.key()]
    return replace(proof, arms=[proof.baseline, *arms])


def still_refused(
    again: Found, proof: Confirmed, refused: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Whom the bank's rounds refused and the proof after the search has no later word on.

    It has of whoever is frozen or refused there, or takes part and was refused for want of time.

    Args:
        again: What the bank's rounds found.
        proof: The confirm rounds after the search.
        refused: Whom these refused: names and reasons.
    """
    names = {name for name, _ in refused}

    def stands(name: str, reason: str) -> bool:
        before = next(arm for arm in again.proof.arms if arm.name == name)
        if (arm := proof.arm_of(before.settings)) is None:
            return True
        later = arm is proof.winner or arm.name in names
        return not later and not reason.startswith(UNKNOWN)

    return [(name, reason) for name, reason in again.refused if stands(name, reason)]


UNMEASURED = "they could not be measured"
"""For want of time, which tells nothing about them."""

VERDICTS = {
    True: "have proven themselves again",
    False: "do not prove themselves again ({}); the ordinary stages follow",
    None: "are neither proven again nor refuted ({}); the ordinary stages follow",
}
"""What a verdict says of the bank's settings, with its reason."""


def verdict(hit: Entry, proof: Confirmed, unknown: str = "") -> tuple[bool | None, str]:
    """Whether the bank's settings have proven themselves again, and why not.

    They have if they are faster than the baseline beyond doubt, if their interval reaches the one
    that was promised, if nothing else in the rounds is better, and if they were seen to learn what
    the baseline learns. Where the baseline's own steps end badly, no study ever sees that: there
    they are what they were when they were stored, proven and unchecked.

    Args:
        hit: The bank's entry.
        proof: Its rounds.
        unknown: Why their own numerics are not known, if they are not.

    Returns:
        True, or False if the rounds speak against them (see studies/disproof.py), or None if they
        tell too little or something else seems better; and the reason unless it is True.
    """
    arm, baseline, winner = proof.arm_of(hit.settings), proof.baseline, proof.winner
    if arm is None or not (arm.reasons or arm.ratios(baseline)):
        return None, UNMEASURED
    promised = hit.interval[0]
    if against := disproof(proof, hit.settings, promised):
        return False, against
    if arm.reasons:
        return None, arm.reasons[-1]
    speedup = arm.speedup(baseline)
    best = arm is winner or (proof.found_better and proof.as_good(arm, winner))
    if best and speedup.low > 1 and speedup.high >= promised:
        return (None, unknown) if wants_time(unknown) else (True, "")
    if proof.found_better and not best:
        return None, f"{winner.name} seems faster"
    return None, f"{measured(arm, baseline)}, which says too little"
