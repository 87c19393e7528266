"""What is better, what limits a winner keeps, and whether it still learns the same."""

from objectives.constraints import Constraints, device_bytes, reasons, violations
from objectives.make import make
from objectives.numerics import accepts, same_data
from objectives.protocol import Objective
from objectives.run_time import RunTime
from objectives.throughput import Throughput

__all__ = [
    "Constraints",
    "Objective",
    "RunTime",
    "Throughput",
    "accepts",
    "device_bytes",
    "make",
    "reasons",
    "same_data",
    "violations",
]
