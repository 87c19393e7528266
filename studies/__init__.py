"""How a search goes: probe, search, confirm; racing; what is kept of it."""

from studies.arm import Arm
from studies.budget import Budget
from studies.confirm import Confirmed, confirm
from studies.descent import Descent
from studies.diagnosis import Diagnosis, diagnose
from studies.folder import held, new_folder
from studies.growth import Growth, Limits, growths
from studies.lab import Lab, known_facts
from studies.ledger import Ledger, study_name
from studies.samplers import constraints_of
from studies.search import Search

__all__ = [
    "Arm",
    "Budget",
    "Confirmed",
    "Descent",
    "Diagnosis",
    "Growth",
    "Lab",
    "Ledger",
    "Limits",
    "Search",
    "confirm",
    "constraints_of",
    "diagnose",
    "growths",
    "held",
    "known_facts",
    "new_folder",
    "study_name",
]
