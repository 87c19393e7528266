"""Row: one line of a recorded table, from a trial's events and back to them.

docs/tables.md has the format for whoever writes a table by other means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from hotlap.measurement import Measurement
from hotlap.settings import Settings
from hotlap.window_end import rests
from runners.protocol import FAILED, Outcome, Run

BUILT = ("startup_s", "device", "tokens_per_sample", "num_workers", "n_epoch_steps", "notes",
         "side", "resident")  # fmt: skip
WARM = ("warmup_s", "compile_s")
TIMED = ("compile_s", "epoch_start_s", "epoch_start_known", "epochs_in_blocks", "n_epoch_steps")
FINISHED = ("peak_device_bytes", "peak_host_bytes", "n_skipped_steps", "left_out_share")
"""Keys of a row by the event that carries them; see hotlap/job.py."""

PROCESS = ("omp_wait_policy", "intraop_threads", "allocator", "cuda_alloc_conf")
"""Settings that a process reads when it starts: another value needs another fork server.

Of `intraop_threads` it is numpy's BLAS that does (hotlap/environment.py)."""

TRACEBACK_CHARS = 4000


@dataclass(frozen=True)
class Row:
    """One process that was measured.

    Attributes:
        settings: What was tried.
        outcome: How it ended; never pruned, since a recorder lets every trial run.
        data: The line as it stands in the table.
    """

    settings: Settings
    outcome: Outcome
    data: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Row:
        """The row of a line that runners/table_check.py has found right."""
        settings = Settings.from_dict(data["settings"])
        return cls(settings, cast(Outcome, data["outcome"]), data)

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The window's blocks."""
        return list(self.data.get("blocks", ()))

    @property
    def warmup(self) -> list[dict[str, Any]]:
        """The blocks before it."""
        return list(self.data.get("warmup_blocks", ()))

    @property
    def environment(self) -> tuple[Any, ...]:
        """Equal for two rows whose processes can come from one fork server."""
        return environment(self.settings)

    @cached_property
    def measurement(self) -> Measurement:
        """What the trial measured."""
        events = [
            self.event("built"),
            *({"event": "warmup", **block} for block in self.warmup),
            self.event("warm"),
            *({"event": "block", **block} for block in self.blocks),
            self.event("timed"),
            self.event("finished"),
        ]
        return Measurement.from_events(events, self.data.get("gpu"))

    @cached_property
    def samples_per_s(self) -> float:
        """Its rate from all its blocks; 0 if it did not end well."""
        return self.measurement.samples_per_s if self.outcome == "ok" else 0.0

    def rests(self, n_blocks: int, precision: float) -> bool:
        """Whether a worker would have found the loader's queue at rest after so many blocks.

        A window with blocks of whole epochs has no queue to run low.
        """
        measured = self.measurement
        return measured.epochs_in_blocks or rests(
            measured.blocks[:n_blocks],
            measured.warmup[-1] if measured.warmup else None,
            n_workers=measured.num_workers,
            n_prefetched=measured.num_workers * self.settings.prefetch_factor,
            precision=precision,
        )

    def event(self, name: str) -> dict[str, Any]:
        """The event `name` (built, warm, timed or finished) with what the row knows of it."""
        keys = {"built": BUILT, "warm": WARM, "timed": TIMED, "finished": FINISHED}[name]
        event = {"event": name, **{key: self.data[key] for key in keys if key in self.data}}
        if name == "built":
            event.setdefault("startup_s", 0.0)
            event.setdefault("num_workers", self.settings.num_workers)
        if name == "warm":
            event["reason"] = "settled" if self.data.get("settled", True) else "cap"
        return event

    def seconds(self, key: str) -> float:
        """The number at `key`, 0 where the table does not have it."""
        return float(self.data.get(key) or 0.0)


def environment(settings: Settings) -> tuple[Any, ...]:
    """Equal for two settings whose processes can come from one fork server."""
    return tuple(getattr(settings, name) for name in PROCESS)


def line_of(settings: Settings, run: Run) -> dict[str, Any]:
    """The line of a trial that was recorded: with `settings`, `run` came of it."""
    line: dict[str, Any] = {"settings": settings.to_dict(), "outcome": run.outcome}
    if run.outcome in FAILED:
        line |= {"reason": run.reason, "traceback": run.traceback[-TRACEBACK_CHARS:]}
    warmup, blocks = [], []
    for event in run.events:
        values = {key: value for key, value in event.items() if key not in ("event", "t")}
        if event["event"] == "warmup":
            warmup.append(values)
        elif event["event"] == "block":
            blocks.append(values)
        elif event["event"] == "warm":
            line |= {"settled": values.pop("reason") == "settled", **values}
        elif event["event"] in ("built", "timed", "finished"):
            line |= values
            line.pop("device_uuid", None)  # which card it was is nothing to hand on
    line |= {"wall_s": run.wall_s, **_between(run.events, run.wall_s)}
    if run.served_s > 0:  # also if there had been such a server, and it had made room for others
        line["new_environment"] = True
    if run.measurement.gpu:
        line["gpu"] = run.measurement.gpu
    return {**line, "warmup_blocks": warmup, "blocks": blocks}


def _between(events: Sequence[Mapping[str, Any]], wall_s: float) -> dict[str, float]:
    """What passed outside of the blocks, so that a replayed trial takes as long."""
    began = _time(events, "started")
    if began is None:
        return {}
    last = events[-1]["t"]
    found = {"overhead_s": max(0.0, wall_s - (last - began))}
    warm, end = _time(events, "warm"), _time(reversed(events), "block")
    if warm is not None and end is not None:
        timed_s = sum(event["seconds"] for event in events if event["event"] == "block")
        found["lost_share"] = max(0.0, (end - warm) / timed_s - 1)
        found["end_s"] = last - end
    return found


def _time(events: Iterable[Mapping[str, Any]], name: str) -> float | None:
    return next((float(event["t"]) for event in events if event["event"] == name), None)
