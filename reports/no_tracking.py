"""NoTracking: `tracking=none`. Nothing is kept but the study's own folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reports.tracking import Record


class NoTracking:
    """Keeps no record; MLflow is never imported."""

    def study_started(self, record: Record) -> None:
        """Nothing to do."""

    def trial(self, record: Record) -> None:
        """Nothing to do."""

    def study_ended(self, record: Record, artifacts: Sequence[Path]) -> None:
        """Nothing to do."""

    def run_started(self, record: Record) -> None:
        """Nothing to do."""

    def run_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """Nothing to do."""

    def run_ended(self, record: Record, artifacts: Sequence[Path]) -> None:
        """Nothing to do."""

    def send_missing(self) -> None:
        """Nothing is ever missing."""

    def ui_command(self) -> str:
        """There is nothing to look at."""
        return ""

    def close(self) -> None:
        """Nothing to do."""
