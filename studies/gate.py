"""Gate: a winner passes only if it is shown to train what the baseline trains.

Both train some steps on the same batches with the same random numbers (hotlap/losses.py), the
baseline more than once, so that its own spread is known. Two things are looked at:

- The batches themselves. The winner loads them in its own way: its workers, its start method. Its
  batches have to be the baseline's, bit for bit or to rounding, wherever the dataset gives the same
  sample for the same index and random numbers. So a winner that changes nothing but the loader is
  proven as well, and one whose workers read a shared file at the wrong place is found out.
- The losses (objectives/numerics.py), as strictly as the settings that differ allow.

Where the losses disagree, the baseline is run with other dice: other random numbers for the model,
and its parameters nudged by their last bits. Dropout hands its numbers out in the order of memory,
so another layout is another roll of the dice; and some training amplifies any rounding. What these
runs spread over is allowed too.

Where a dataset has random numbers or an order of its own (a stream, a generator it holds, batches
in any order), batches cannot be the same. There the winner trains once more with the baseline's
way of loading, and the losses alone are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from hotlap.measurement import Measurement
from hotlap.settings import Settings
from runners.protocol import Run
from studies.answer import Answer, difference, unsound
from studies.lab import Lab

LEAST_STEPS, MOST_STEPS = 5, 30
"""Fewer say too little about a mean; more drift apart by chaos alone (objectives/numerics.py)."""

REPEATS = 2

DICE = 4
"""Runs of the baseline with other dice, once they are needed."""

WINNER_RUNS = 2
"""Its own way of loading, and if need be the baseline's."""

UNKNOWN = "its numerics could not be checked: "
"""How a reason begins where the winner was not refused for what it does, but nothing is known."""

NO_BASELINE = f"{UNKNOWN}the baseline: "
"""How it begins where the baseline's own steps do not end well, so that time would not help."""


class Gate:
    """Compares winners with the baseline.

    Args:
        lab: Runs the steps.
        baseline: The user's own settings.
        class_of: The most that settings change beside the baseline: exact, rounding or precision.
        n_steps: Steps to compare; see `affordable_steps`.
        accepts: objectives.accepts.
        same_data: objectives.same_data.
        repeats: Runs of the baseline; they are done once and kept.
        clock: Seconds.
    """

    def __init__(
        self,
        lab: Lab,
        baseline: Settings,
        class_of: Callable[[Settings], str],
        n_steps: int,
        *,
        accepts: Callable[..., tuple[bool, str]],
        same_data: Callable[[Settings, Settings], Settings],
        repeats: int = REPEATS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lab = lab
        self._baseline = baseline
        self._class_of = class_of
        self._n_steps = n_steps
        self._accepts = accepts
        self._same_data = same_data
        self._n_repeats = repeats
        self._clock = clock
        self._repeats: list[Answer] = []
        self._rolled: list[Answer] = []
        self.compared = ""

    def __call__(self, settings: Settings, timeout_s: float) -> str:
        """Why `settings` may not be frozen, in a sentence; empty if they may.

        Never raises for what a run does: a crash, a lack of memory or of time is a reason.
        `compared` says afterwards what was looked at.

        Args:
            settings: The winner.
            timeout_s: Wall clock for all runs together.
        """
        self.compared = ""
        if settings.key() == self._baseline.key():
            return ""
        deadline = self._clock() + timeout_s
        if reason := self._fill(self._n_repeats, deadline):
            return reason
        answer, reason = self._train("its", settings, deadline)
        if reason:
            return reason
        base = self._repeats[0]
        kind = self._class_of(settings)
        data = difference(answer, base)
        if data == "rounding":
            kind = max(kind, "rounding", key=("exact", "rounding", "precision").index)
        elif data and base["repeatable"] and settings.in_order:
            return (
                f"its {data}, although the dataset gives the same sample for the same index and "
                "random numbers in one process: its way of loading changes what is trained"
            )
        elif data:
            settings = self._same_data(settings, self._baseline)
            if settings.key() == self._baseline.key():
                self.compared = (
                    "only its way of loading differs; the dataset has random numbers or an order "
                    f"of its own, so {len(answer['losses'])} steps were seen to be sound, not equal"
                )
                return ""
            answer, reason = self._train("its", settings, deadline)
            if reason:
                return reason
            kind = self._class_of(settings)
        return self._judge(answer, kind, deadline)

    def must_know(self, settings: Settings) -> bool:
        """Whether settings may only be frozen if they were compared: they change the precision."""
        return self._class_of(settings) == "precision"

    def _judge(self, answer: Answer, kind: str, deadline: float) -> str:
        accepted, said = self._verdict(answer, self._repeats, kind)
        if not accepted and kind == "exact" and not self._fill(self._n_repeats + 1, deadline):
            # Does the baseline differ from itself, only not so in its first runs?
            accepted, said = self._verdict(answer, self._repeats, kind)
        elif not accepted and kind != "exact":
            unrolled = self._fill(DICE, deadline, rolled=True)
            accepted, said = self._verdict(answer, [*self._repeats, *self._rolled], kind)
            if unrolled and not accepted:
                # What was seen speaks against it: that more could not be seen does not clear it.
                why = unrolled.removeprefix(UNKNOWN)
                said = f"{said}; whether other random numbers explain that was not seen: {why}"
        n_steps = len(answer["losses"])
        self.compared = f"{n_steps} steps on the same batches, class {kind}: {said}"
        return "" if accepted else f"it does not train as the baseline does: {said}"

    def _verdict(self, answer: Answer, repeats: list[Answer], kind: str) -> tuple[bool, str]:
        return self._accepts(
            answer["losses"],
            [repeat["losses"] for repeat in repeats],
            kind,
            answer["first_update"],
            [repeat["first_update"] for repeat in repeats],
        )

    def _fill(self, n: int, deadline: float, rolled: bool = False) -> str:
        """Have `n` runs of the baseline, `rolled`: each with other dice; why not, or nothing."""
        runs = self._rolled if rolled else self._repeats
        while len(runs) < n:
            dice = len(runs) + 1 if rolled else 0
            answer, reason = self._train("the baseline's", self._baseline, deadline, dice)
            if reason:
                return reason if reason.startswith(UNKNOWN) else f"{NO_BASELINE}{reason}"
            runs.append(answer)
        return ""

    def _train(
        self, whose: str, settings: Settings, deadline: float, dice: int = 0
    ) -> tuple[Answer, str]:
        """What came of `whose` steps, and why it is not sound; empty if it is.

        Settings are spoken of as "its": most are judged before any round, and have not won.
        """
        left_s = deadline - self._clock()
        if left_s <= 0:
            return {}, f"{UNKNOWN}there was no time left for {whose} steps"
        run = self._lab.losses(settings, self._n_steps, left_s, dice)
        if run.outcome != "ok":
            late = run.outcome == "timeout" and run.wall_s >= left_s
            unknown = UNKNOWN if late or run.outside else ""
            return {}, f"{unknown}{whose} steps ended as {run.outcome}: {run.reason}"
        answer: Answer = run.events[-1]
        return answer, unsound(answer)


def affordable_steps(baseline: Run, seconds: float, repeats: int = REPEATS) -> int:
    """Steps that fit into `seconds` for all runs that the gate may need for one winner.

    Args:
        baseline: A trial of the baseline: it says how long a step and a start take.
        seconds: For all these runs together.
        repeats: As Gate's.

    Returns:
        `LEAST_STEPS` to `MOST_STEPS`.
    """
    measurement: Measurement = baseline.measurement
    blocks = [*measurement.warmup, *measurement.blocks]
    steps = sum(block.steps for block in blocks)
    if not steps:
        return LEAST_STEPS
    trained_s = sum(block.seconds for block in blocks)
    start_s = max(0.0, baseline.wall_s - trained_s)
    each_s = seconds / (repeats + WINNER_RUNS + DICE) - start_s
    return max(LEAST_STEPS, min(MOST_STEPS, int(each_s / (trained_s / steps))))
