"""What tests of the bank share: facts, goals, entries, and a study that has a bank."""

from replay import EXPERT

from search_spaces import Knob
from studies import Bank, Found, Goal, Noise, Reuse

MACHINE = {"device_name": "chip", "cpu": "chip", "cores": 2, "physical_cores": 2, "torch": "2.14"}
WORKLOAD = {
    "device": "cpu",
    "model_digest": "abc",
    "batch_size": 8,
    "batch_shapes": ["float32 (8, 6)"],
    "dataset_kind": "rows",
    "optimizer": "SGD",
    "n_parameters": 1000,
    "batch_bytes": 100,
    "conv2d": False,
}
FACTS = {**MACHINE, **WORKLOAD}
LARGER = {**FACTS, "model_digest": "def", "n_parameters": 2000}
ELSEWHERE = {**FACTS, "cpu": "another chip", "cores": 64}
DATE = "2026-11-30T10:00:00+00:00"
LATER = "2026-12-24T10:00:00+00:00"


def goal_of(session, budget_s=None, n_trials=None, limits=None):
    """The goal of a simulated session."""
    budget_s = session.budget.seconds if budget_s is None else budget_s
    knobs = session.space.knobs
    own = ("throughput", {}, session.base, knobs, knobs)
    return Goal.of(*own, budget_s, n_trials, limits or {})


def origin_of(goal, facts=FACTS, speedup=2.0, date=DATE, **bank):
    """Where an entry comes from."""
    return {
        "speedup": speedup,
        "speedup_ci95": [0.9 * speedup, 1.1 * speedup],
        "date": date,
        "facts": facts,
        "bank": {"job": "job", "goal": goal.to_dict(), **bank},
    }


def plain_goal(**changes):
    """A goal over one knob."""
    knob = Knob.from_mapping("num_workers", {"choices": [0, 2]})
    values = {"objective": "throughput", "run": {}, "base": {}, "knobs": {knob.name: [0, 2]}}
    return Goal(**{**values, "budget_s": 600.0, **changes})


class Banked:
    """A simulated study with a bank, from its look-up to what it gives back."""

    def __init__(self, session, folder, facts=FACTS, goal=None):
        self.session = session
        self.goal = goal or goal_of(session)
        anyway = (session.base, EXPERT)
        own = (facts, "job", self.goal, session.space, anyway, lambda settings: "")
        self.reuse = Reuse(folder, *own, session.seen.note)
        self.facts = facts

    def studied(self, date=DATE, **options):
        """What the study found, and how it ended for the bank."""
        found = self.session.studied(known=self.reuse.known, **options)
        origin = {"facts": self.facts, "date": date}
        if found.together is not None:
            origin["tuned_together"] = list(found.together)
        counts = self.reuse.keep(found, "work", origin)
        return found, [outcome for outcome, n in counts.items() if n]


def kept(banked, proof):
    """How a study ends for the bank that has proven this."""
    origin = {"facts": FACTS, "date": LATER}
    counts = banked.reuse.keep(Found(proof, Noise(0)), "work", origin)
    return next(outcome for outcome, n in counts.items() if n)


def entries(folder):
    """All entries of the bank in a folder."""
    return Bank(folder, lambda text: None).entries()


def kinds(banked):
    """The kinds of a study's trials."""
    return [trial.kind for trial in banked.session.seen.trials]


def other(settings):
    """A machine of the same kind on which workers are in the way by now."""
    workers = 0.5 if settings.num_workers else 1.0
    return 100 * workers * (1.5 if settings.memory_format == "channels_last" else 1.0)


def crashing(settings):
    """A machine on which workers crash by now."""
    return "crash" if settings.num_workers else ""
