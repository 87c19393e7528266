"""Table: trials that were recorded once, and what they say of each settings value in truth."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from hotlap.errors import UserInputError
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from runners.row import Row
from runners.table_check import lines_of

FEW = 8
"""Of fewer settings that were recorded in a pass nothing is said about the machine's pace."""

MOST_FAULTS = 10
"""So many are shown; a table made by a wrong script has one on every line."""


class Table:
    """A recorded table.

    Args:
        header: Its first line: workload, space, settings (the baseline), facts, ...
        rows: One for each process that was measured; a settings value may have several.
        path: The file.
        allows: Whether a winner may measure that: limits, such as the device's memory.
    """

    def __init__(
        self,
        header: Mapping[str, Any],
        rows: Sequence[Row],
        path: Path = Path(),
        allows: Callable[[Measurement], bool] = lambda measurement: True,
    ) -> None:
        self.header = header
        self._allows = allows
        self.path = path
        self.rows = tuple(rows)
        self._of: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            self._of.setdefault(row.settings.key(), []).append(row)

    @classmethod
    def read(cls, path: Path) -> Table:
        """The table at `path`.

        Raises:
            UserInputError: It is not in the format of docs/tables.md.
        """
        lines, faults = lines_of(path)
        if faults:
            raise UserInputError(told(faults))
        return cls(lines[0], [Row.of(line) for line in lines[1:]], path)

    def within(self, allows: Callable[[Measurement], bool]) -> Table:
        """The same trials, for winners that keep limits."""
        return Table(self.header, self.rows, self.path, allows)

    @property
    def name(self) -> str:
        """The workload's."""
        return str(self.header["workload"]["name"])

    @property
    def base(self) -> Settings:
        """The baseline's settings."""
        return Settings.from_dict(self.header.get("settings", {}))

    @property
    def known(self) -> tuple[Settings, ...]:
        """Each settings value that it has, once, in the order of the lines."""
        return tuple(rows[0].settings for rows in self._of.values())

    def of(self, settings: Settings) -> list[Row]:
        """The rows of `settings`; none if they are not in the table."""
        return self._of.get(settings.key(), [])

    def true_rate(self, settings: Settings) -> float:
        """Samples per second of `settings`, from all the blocks of all their rows.

        Repeats count alike, by their geometric mean, each at the machine's pace in the first pass.
        0 if a row of them failed: what fails once in a few runs is nothing for a long one.

        Raises:
            KeyError: They are not in the table.
        """
        rates = self._rates(self._of[settings.key()])
        return statistics.geometric_mean(rates) if all(rate > 0 for rate in rates) else 0.0

    @cached_property
    def best(self) -> Settings:
        """The settings of the highest true rate among those that keep the limits; else the base."""
        return max(filter(self._keeps, self.known), key=self.true_rate, default=self.base)

    def regret(self, settings: Settings) -> float:
        """By which share (0..1) the true rate of `settings` stays behind the table's best.

        1 if they break a limit, fail, or are not in the table: then they are no answer.
        """
        if not self.of(settings) or not self._keeps(settings):
            return 1.0
        rate = self.true_rate(settings)
        return 1 - rate / self.true_rate(self.best) if rate > 0 else 1.0

    def _keeps(self, settings: Settings) -> bool:
        """Whether `settings` keep the limits in each repeat that ended well."""
        ended = [row for row in self.of(settings) if row.outcome == "ok"]
        return all(self._allows(row.measurement) for row in ended)

    @cached_property
    def paces(self) -> tuple[float, ...]:
        """The machine's pace in each pass over the space, as a share of that in the first.

        Repeats are recorded in passes, minutes apart, and a machine with neighbours is slower in
        one than in another: that is no noise from process to process. What all settings have in
        common is taken for it: the median of their ratios, as in Tukey's median polish.
        """
        every = list(self._of.values())
        paces = [1.0]
        for k in range(1, max(map(len, every))):
            pairs = [(r[0].samples_per_s, r[k].samples_per_s) for r in every if len(r) > k]
            logs = [math.log(later / first) for first, later in pairs if min(first, later) > 0]
            paces.append(math.exp(statistics.median(logs)) if len(logs) >= FEW else 1.0)
        return tuple(paces)

    def _rates(self, rows: Sequence[Row]) -> list[float]:
        return [row.samples_per_s / pace for row, pace in zip(rows, self.paces, strict=False)]

    @cached_property
    def process_noise(self) -> tuple[float, ...]:
        """How far processes that run the same lie from their mean, as logarithms of the ratio.

        Empty if no settings value was repeated. Each is scaled up by sqrt(n / (n - 1)), since a
        mean of n lies closer to its own n than the truth does.
        """
        found: list[float] = []
        for rows in self._of.values():
            logs = [math.log(rate) for rate in self._rates(rows) if rate > 0]
            n = len(logs)
            if n > 1:
                mean = sum(logs) / n
                found += [(log - mean) * math.sqrt(n / (n - 1)) for log in logs]
        return tuple(found)

    @cached_property
    def overhead_s(self) -> float:
        """Median seconds that a trial from a running fork server takes besides its own work."""
        known = [r.seconds("overhead_s") for r in self.rows if not r.data.get("new_environment")]
        return statistics.median(known) if known else 0.0

    @cached_property
    def server_start_s(self) -> float:
        """How much longer a trial takes for which a fork server has to be started."""
        new = [self.served_s(row) for row in self.rows if row.data.get("new_environment")]
        return statistics.median(new) if new else 0.0

    def served_s(self, row: Row) -> float:
        """Seconds of the row's `overhead_s` and `wall_s` in which a server was started for it."""
        new = row.data.get("new_environment")
        return max(0.0, row.seconds("overhead_s") - self.overhead_s) if new else 0.0


def told(faults: Sequence[str]) -> str:
    """The faults as one text, not more than a screen shows."""
    more = len(faults) - MOST_FAULTS
    rest = [f"and {more} more; python -m runners.table_check shows all"] if more > 0 else []
    return "\n".join([*faults[:MOST_FAULTS], *rest])
