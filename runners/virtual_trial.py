"""VirtualTrial: one process that never was, drawn from the recorded ones.

Two levels of noise, as on a real machine:

- between processes that run the same: where a settings value was recorded several times, one of
  its rows is drawn, at the machine's pace in the first pass; where it was recorded once, its speed
  is changed by a deviation that was seen between the repeats of others. Of a table that repeats
  nothing no such noise is known, and there is none.
- between the blocks of one process: a stationary bootstrap (Politis and Romano, "The Stationary
  Bootstrap", 1994): runs of neighbouring blocks, of random length, put one after the other. So what
  lasts a few blocks (a neighbour on the machine) lasts as long in the replay.

Warm-up is played as it was. Rates that the recording had to lower (a loader's queue that ran low,
see hotlap/measurement.py) are lowered in each block, because drawn blocks have no queue.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from hotlap.measurement import steady_rate
from hotlap.settings import Settings
from runners.row import Row
from runners.table import Table

MEAN_RUN = 4.0
"""Blocks that stay together on average: two seconds of the default window."""

NOT_DRAWN = ("n_ready", "at_step", "host_bytes", "open_files", "shared_bytes", "device_bytes")
"""Keys of a block that mean something only beside the blocks that it was recorded with: drawn in
another order, a queue would drain and memory would grow where neither did."""


class VirtualTrial:
    """A process that runs `settings`.

    Args:
        table: What was recorded.
        settings: Settings that are in it.
        chance: Draws.

    Attributes:
        row: The recorded process that this one looks like.
    """

    def __init__(self, table: Table, settings: Settings, chance: Random) -> None:
        rows = table.of(settings)
        drawn = chance.randrange(len(rows))
        self.row: Row = rows[drawn]
        self._chance = chance
        slower = table.paces[drawn]
        if len(rows) == 1 and table.process_noise:
            slower = math.exp(-chance.choice(table.process_noise))
        self._slower = slower
        self._made = 1.0
        if self.row.outcome == "ok":
            measured = self.row.measurement
            self._made = measured.steady.value / steady_rate(measured.blocks).value

    def warmup(self) -> Iterator[dict[str, Any]]:
        """The blocks before the window, as they were."""
        for block in self.row.warmup:
            yield _slowed(_alone(block), self._slower)

    def blocks(self) -> Iterator[dict[str, Any]]:
        """The window's blocks: without end where the trial ended well, else as they were."""
        drawn = [_alone(block) for block in self.row.blocks]
        if self.row.outcome != "ok":
            for block in drawn:
                yield _slowed(block, self._slower)
            return
        i = self._chance.randrange(len(drawn))
        while True:
            yield _slowed(drawn[i], self._slower / self._made)
            new_run = self._chance.random() < 1 / MEAN_RUN
            i = self._chance.randrange(len(drawn)) if new_run else (i + 1) % len(drawn)


def _alone(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in NOT_DRAWN}


def _slowed(block: Mapping[str, Any], factor: float) -> dict[str, Any]:
    slowed = {"data_wait_s": 0.0, **block}
    times = [key for key in ("seconds", "data_wait_s", "stalled_s") if slowed.get(key) is not None]
    return slowed | {key: slowed[key] * factor for key in times}
