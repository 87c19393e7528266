"""How a search goes: probe, search, confirm; racing; what is kept of it."""

from studies.budget import Budget
from studies.confirm import Arm, Confirmed, confirm
from studies.lab import Lab, known_facts
from studies.ledger import Ledger
from studies.search import Search, constraints_of

__all__ = [
    "Arm",
    "Budget",
    "Confirmed",
    "Lab",
    "Ledger",
    "Search",
    "confirm",
    "constraints_of",
    "known_facts",
]
