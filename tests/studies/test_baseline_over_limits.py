"""Where the baseline itself breaks a limit, a winner may use about what it does."""

import pytest
from replay import BASE, EXPERT
from test_search import SMALL

from objectives import Constraints

GIB = 1 << 30
FACTS = {"device": "cuda:0", "device_memory_bytes": 100 * GIB}
RATES = {0: 100.0, 1: 150.0, 2: 200.0, 4: 300.0}
PEAKS = {0: 95, 1: 95, 2: 95, 4: 97}


class Limited:
    """A session of a study whose fastest settings take more memory than the baseline."""

    def __init__(self, replay):
        self.notes = []
        self.kept = Constraints({"device_memory": 0.9}, FACTS, self.notes.append)
        self.session = replay(
            lambda settings: RATES[settings.num_workers],
            knobs=SMALL,
            budget_s=1e6,
            peak_bytes=lambda settings: PEAKS[settings.num_workers] * GIB,
            search={"violations": self.kept.violations, "allow": self.kept.allow},
        )

    def best(self):
        return next(iter(self.session.search.best(1).values()))


def test_what_uses_as_much_as_the_baseline_wins_and_what_uses_more_does_not(replay):
    study = Limited(replay)
    study.session.searched(n_trials=30)
    assert 4 in {settings.num_workers for settings in study.session.runner.ran}
    assert study.best().num_workers == 2
    found = study.session.proven(expert=EXPERT, exceeded=study.kept.reasons)
    assert found.winner.settings.num_workers == 2
    (note,) = study.notes
    assert note.startswith("the baseline itself is at 95%, and constraints.device_memory=0.9")


@pytest.mark.usefixtures("on_disk")
def test_a_study_that_goes_on_knows_what_its_baseline_used(replay):
    Limited(replay).session.search.first("baseline", BASE)
    again = Limited(replay)
    assert len(again.notes) == 1
    again.session.searched(n_trials=30)
    assert len(again.notes) == 1 and again.best().num_workers == 2
