"""tune.py with a fresh interpreter for each trial: what benchmarks.trial_overhead compares with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hotlap.job import Job
from runners import process
from runners.protocol import Run


class FreshRunner(process.ProcessRunner):
    """Ends its server after each trial, so that every trial imports torch anew."""

    def run(
        self, job: Job, folder: Path, watch: Callable[[dict[str, Any]], bool], timeout_s: float
    ) -> Run:
        """As ProcessRunner's."""
        try:
            return super().run(job, folder, watch, timeout_s)
        finally:
            self.close()


if __name__ == "__main__":
    process.ProcessRunner = FreshRunner  # type: ignore[misc]
    from conf.cli import main
    from tune import tune

    sys.exit(main(sys.argv[1:], "config", tune))
