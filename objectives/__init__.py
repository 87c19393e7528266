"""What is better, what limits a winner keeps, and whether it still learns the same."""

from objectives.constraints import reasons, violations
from objectives.numerics import accepts, same_data
from objectives.protocol import Objective
from objectives.throughput import Throughput

__all__ = ["Objective", "Throughput", "accepts", "reasons", "same_data", "violations"]
