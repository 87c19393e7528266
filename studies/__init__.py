"""How a search goes: probe, search, confirm; racing; what is kept of it."""

from studies.ablate import Ablation, ablate
from studies.anchor import Anchor
from studies.arm import Arm
from studies.bank import Bank
from studies.budget import Budget
from studies.confirm import Confirmed, confirm
from studies.course import Course
from studies.descent import Descent
from studies.descent_sampler import DescentSampler
from studies.diagnosis import Diagnosis, diagnose
from studies.endurance import Endurance
from studies.facts import known_facts, knows_facts
from studies.folder import held, new_folder
from studies.found import Found
from studies.found_doubts import doubts_of
from studies.freezing import freeze, proven_before
from studies.gate import Gate, affordable_steps
from studies.goal import Goal
from studies.growth import Growth, Limits, growths
from studies.keeping import Contribution
from studies.lab import Lab
from studies.ledger import Ledger, study_name
from studies.noise import Noise, Repeat
from studies.offer import offer
from studies.plan import Plan
from studies.prover import PROVE
from studies.racing import RacingPruner
from studies.recorder import record
from studies.reuse import Known, Reuse
from studies.rounds import Rounds
from studies.same_workload import same_workload
from studies.samplers import constraints_of
from studies.search import Search

__all__ = [
    "PROVE",
    "Ablation",
    "Anchor",
    "Arm",
    "Bank",
    "Budget",
    "Confirmed",
    "Contribution",
    "Course",
    "Descent",
    "DescentSampler",
    "Endurance",
    "Found",
    "Gate",
    "Goal",
    "Known",
    "Lab",
    "Ledger",
    "Noise",
    "Plan",
    "RacingPruner",
    "Repeat",
    "Reuse",
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
    "doubts_of",
    "freeze",
    "constraints_of",
    "diagnose",
    "growths",
    "held",
    "known_facts",
    "knows_facts",
    "new_folder",
    "offer",
    "proven_before",
    "record",
    "same_workload",
    "study_name",
]
