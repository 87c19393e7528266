"""Progress: what a person sees while a study runs.

Every finished trial is a line, on a terminal and in a log file alike. On a terminal the last lines
are alive: the stage, the trial, its rate and the time left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from hotlap.progress import tenths
from hotlap.settings import Settings
from hotlap.spoken import MISSING
from reports.text import assignments, clock, number, times

REFRESH_PER_S = 2
"""Twice a second is alive enough; each refresh takes CPU from the trial that is being timed."""

TURNS = "|/-\\"
"""What turns before the live status, so that nobody takes a long start for a standstill."""

STYLES = {"ok": "green", "pruned": "dim"}
"""Every other outcome is a failure and red."""


BASELINE = ("baseline", "repeat")

NEW = ("baseline", "expert", "search")
"""Kinds of trials that try settings for the first time."""


class Progress:
    """Prints one line a trial, and on a terminal, within a `with`, a live status below them.

    Args:
        console: Where to print; its `is_terminal` decides whether there is a live status.
        budget_s: Wall-clock seconds of the whole study, counted from now; None without a limit.
        now: Clock in seconds that only moves forward.

    Attributes:
        baseline: Samples per second of the baseline, the median of its runs; None until then.
        best: The best of the trials so far, the baseline and the expert included.
    """

    def __init__(
        self,
        console: Console,
        budget_s: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._budget_s = budget_s
        self._now = now
        self._start = self._stage_start = now()
        self._stage = ""
        self._trial = ""
        self._tenth = 0
        self._rate: float | None = None
        self.baseline: float | None = None
        self._baselines: list[float] = []
        self.best: float | None = None
        self._live: Live | None = None
        if console.is_terminal:
            self._live = Live(
                get_renderable=self._status,
                console=console,
                refresh_per_second=REFRESH_PER_S,
                transient=True,
            )

    def __enter__(self) -> Progress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take the live status away; what was printed stays."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def stage(self, name: str, detail: str = "") -> None:
        """A new stage of the study begins: probe, search, confirm, ..."""
        self._stage, self._trial, self._rate = name, "", None
        self._stage_start = self._now()
        self._print(Text.assemble((name, "bold"), f"  {detail}" if detail else ""))

    def note(self, text: str) -> None:
        """Something worth a line: a knob that was dropped, a warning."""
        self._print(Text(f"  {text}", style="yellow"))

    def preparing(self, what: str, n_done: int, n_wanted: int) -> None:
        """How far long work before the first trial is; in a log, a line each tenth of the way."""
        self._trial = f"{what}: {n_done} of {n_wanted}"
        tenth = tenths(n_done, n_wanted)
        if self._live is None and (tenth != self._tenth or n_done == n_wanted):
            self._print(Text(f"  {self._trial}"))
        self._tenth = tenth

    def doing(self, what: str) -> None:
        """What takes a while between trials; it stands in the live status only."""
        self._trial, self._rate = what, None

    def trial_started(self, number: int | str, settings: Settings) -> None:
        """A trial is about to run; it stands in the live status only."""
        self._trial = f"trial {number}  {assignments(settings.changed())}"
        self._rate = None

    def block(self, samples_per_s: float) -> None:
        """The running trial's rate so far, in samples per second."""
        self._rate = samples_per_s

    def trial_ended(
        self,
        number: int | str,
        outcome: str,
        samples_per_s: float | None,
        reason: str,
        settings: Settings,
        wall_s: float,
        kind: str = "search",
    ) -> None:
        """Print the trial's line, and its reason below it if there is one.

        Args:
            number: The trial's.
            outcome: How it ended, see runners.protocol.Outcome.
            samples_per_s: What it reached; None for a failure.
            reason: One line; empty for an ok trial.
            settings: What was tried.
            wall_s: Seconds from the order until its processes were gone.
            kind: "baseline", "expert", "search", or a repeat's ("confirm"), which is no new best.
        """
        if outcome == "ok" and samples_per_s is not None and kind in BASELINE:
            self._baselines.append(samples_per_s)
            self.baseline = median(self._baselines)
        if outcome == "ok" and samples_per_s is not None and kind in NEW:
            self.best = max(samples_per_s, self.best or 0.0)
        self._trial, self._rate = "", None
        name = "trial" if kind == "search" else kind
        self._print(
            Text.assemble(
                f"{name} {number}  ",
                (outcome, STYLES.get(outcome, "red")),
                # Elsewhere the ratios that count are those within a round.
                self._rate_and_speedup(samples_per_s, compare=kind in NEW),
                f"  {assignments(settings.changed())}",
                (f"  ({wall_s:.1f} s{self._left(', ')})", "dim"),
            )
        )
        if reason:
            self._print(Text(f"  {reason}", style=STYLES.get(outcome, "red")))

    def _rate_and_speedup(self, samples_per_s: float | None, compare: bool) -> str:
        if samples_per_s is None:
            return ""
        text = f"  {_rate(samples_per_s)}"
        if self.baseline is None or not compare:
            return text
        return f"{text}  {times(samples_per_s / self.baseline)}"

    def _left(self, before: str) -> str:
        if self._budget_s is None:
            return ""
        return f"{before}{clock(self._budget_s - (self._now() - self._start))} left"

    def _print(self, line: Text) -> None:
        # soft_wrap: a line in a log file stays one line, and can be searched for.
        self._console.print(line, soft_wrap=True)

    def _status(self) -> Text:
        speedup = f" ({times(self.best / self.baseline)})" if self.best and self.baseline else ""
        now = self._now()
        turn = TURNS[int(now * REFRESH_PER_S) % len(TURNS)]
        parts: list[Any] = [
            f"{turn} ",
            (self._stage, "bold cyan"),
            f" {clock(now - self._stage_start)}",
            f"  now {_rate(self._rate)}  best {_rate(self.best)}{speedup}{self._left('  ')}",
            f"\n{self._trial}" if self._trial else "",
        ]
        return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _rate(samples_per_s: float | None) -> str:
    return f"{number(samples_per_s, 3)} samples/s" if samples_per_s else MISSING
