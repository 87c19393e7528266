"""How a search goes: probe, search, confirm; racing; what is kept of it."""

from studies.ablate import Ablation, Contribution, ablate
from studies.anchor import Anchor
from studies.arm import Arm
from studies.budget import Budget
from studies.confirm import Confirmed, confirm
from studies.course import Course, Found, Plan
from studies.descent import Descent
from studies.diagnosis import Diagnosis, diagnose
from studies.folder import held, new_folder
from studies.gate import Gate, affordable_steps
from studies.growth import Growth, Limits, growths
from studies.lab import Lab, known_facts
from studies.ledger import Ledger, study_name
from studies.noise import Noise, Repeat
from studies.recorder import record
from studies.rounds import Rounds
from studies.samplers import constraints_of
from studies.search import Search

__all__ = [
    "Ablation",
    "Anchor",
    "Arm",
    "Budget",
    "Confirmed",
    "Contribution",
    "Course",
    "Descent",
    "Found",
    "Gate",
    "Lab",
    "Ledger",
    "Noise",
    "Plan",
    "Repeat",
    "Rounds",
    "Diagnosis",
    "Growth",
    "Lab",
    "Ledger",
    "Limits",
    "Search",
    "ablate",
    "affordable_steps",
    "confirm",
    "constraints_of",
    "diagnose",
    "growths",
    "held",
    "known_facts",
    "new_folder",
    "record",
    "study_name",
]
