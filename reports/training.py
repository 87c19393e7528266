"""What a person sees of a full run: a progress bar, or plain lines, and the promise at the end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from hotlap.spoken import percent
from reports.text import number

LINE_S = 10.0
"""Between two plain lines, where there is no terminal."""

KEPT = 0.05
"""A full run within this share of the promised rate keeps the promise."""


class TrainingProgress:
    """Shows the events of a full run.

    Args:
        console: Where to print.
        epochs: Of the whole run.
        promised: Samples per second that the frozen file promises, None if it does not say.
    """

    def __init__(self, console: Console, epochs: int, promised: float | None) -> None:
        self._console = console
        self._epochs = epochs
        self._promised = promised
        self._printed = 0.0
        self._stopping = False
        self._task: TaskID | None = None
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[numbers]}"),
            console=console,
            refresh_per_second=2,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> TrainingProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def event(self, event: Mapping[str, Any]) -> None:
        """One event of hotlap/full_run.py."""
        name = event["event"]
        if name == "built":
            for note in event["notes"]:
                self.note(f"{note['setting']} is not in force: {note['reason']}")
        elif name == "stopping":
            self._stopping = True
            self.note(
                f"it saves a checkpoint and ends, within {event['limit_s'] / 60:.0f} minutes or it "
                "is killed; Ctrl-C again kills it now"
            )
        elif name == "unsaved":
            self.note(
                f"the checkpoint {event['path']} could not be saved: {event['reason']}; the one "
                "before is kept, training goes on, and the next one is saved when it is due"
            )
        elif name == "unreadable":
            self.note(f"resume= cannot go on from {event['path']}: {event['reason']}")
        elif name == "failed" and self._stopping:
            self.note(f"it ended without a checkpoint: {event['error']}")
        elif name == "preparing" and event["n_done"] == event["n_wanted"]:
            self.note(f"{event['what']}: {event['n_done']} done")
        elif name == "step":
            self._step(event)
        elif name == "epoch":
            self._console.print(
                f"epoch {event['epoch']}/{self._epochs}  loss {_loss(event)}  "
                f"{event['seconds']:.1f} s",
                highlight=False,
            )

    def note(self, text: str) -> None:
        """Something worth a line."""
        self._console.print(f"  {text}", style="yellow", soft_wrap=True, highlight=False)

    def promised_for(self, other: str) -> None:
        """What was promised holds for `other` ("another machine"): told, and compared no more."""
        if self._promised:
            self.note(
                f"the promised {number(self._promised)} samples/s were measured on {other}, so "
                "this run is not compared with them; tune.py here makes a promise for it"
            )
        self._promised = None

    def end(self, trained: Mapping[str, Any], interval: tuple[float, float] | None) -> None:
        """The last event's numbers beside the promised ones, if those hold here."""
        rate = trained["samples_per_s"]
        of_session = (
            f"; {trained['samples']} samples after this session's first step at {number(rate)} "
            "samples/s"
        )
        # A session that had nothing left to train has seen no loss.
        loss = "" if trained["loss"] is None else f", loss {_loss(trained)}"
        text = f"trained {trained['steps']} steps in all{of_session if rate > 0 else ''}{loss}"
        self._console.print(text, soft_wrap=True, highlight=False)
        if self._promised and rate > 0:
            low, high = interval or (self._promised, self._promised)
            share = rate / self._promised
            self._console.print(
                f"promised: {number(self._promised)} samples/s [{number(low)}, {number(high)}]; "
                f"this run reached {share:.1%} of it",
                soft_wrap=True,
                highlight=False,
            )
            if abs(share - 1) > KEPT and not low <= rate <= high:
                self.note(
                    "that is more than 5 % away: the machine may have been busier in one of the "
                    "two, or the run too short to be steady; to measure it anew, run tune.py again"
                )

    def _step(self, event: Mapping[str, Any]) -> None:
        rate = event["samples_per_s"]
        share = f" ({percent(rate / self._promised)} of promised)" if self._promised else ""
        numbers = f"loss {_loss(event)}  {number(rate)} samples/s{share}"
        epoch = f"epoch {event['epoch'] + 1}/{self._epochs}"
        done, total = event["step_in_epoch"], event["n_epoch_steps"]
        if not self._bar.disable:
            if self._task is None:
                self._task = self._bar.add_task(epoch, total=total, numbers=numbers)
            self._bar.update(
                self._task, description=epoch, completed=done, total=total, numbers=numbers
            )
        elif time.monotonic() - self._printed > LINE_S:
            self._printed = time.monotonic()
            self._console.print(f"{epoch}  step {done}/{total or '?'}  {numbers}", highlight=False)


def _loss(event: Mapping[str, Any]) -> str:
    return "-" if event["loss"] is None else f"{event['loss']:.4f}"
