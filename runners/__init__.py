"""Where and how a trial's process runs."""

from runners.protocol import Outcome, Run, Runner

__all__ = ["Outcome", "Run", "Runner"]
