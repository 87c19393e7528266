"""What is proposed where little or nothing can be tried any more: no space is walked to its end."""

import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import TrialState
from replay import BASE

import search_spaces.space
from search_spaces import Knob, Space
from studies.proposals import LOOKED, SMALL, Proposals
from studies.samplers import CONSTRAINTS

LARGE = {
    "num_workers": {"low": 0, "high": 40, "step": 1},
    "prefetch_factor": {"low": 2, "high": 40, "step": 1},
    "pin_memory": {"choices": [False, True]},
}
"""2 + 2 * 40 * 39 = 3,122 settings; those of a machine with CUDA are tens of millions."""


@pytest.fixture
def walked(monkeypatch):
    """All settings that were made by walking a grid."""
    made = []
    grid = search_spaces.space.grid

    def noted(*space):
        for settings in grid(*space):
            made.append(settings)
            yield settings

    monkeypatch.setattr(search_spaces.space, "grid", noted)
    return made


def rate(settings):
    return 100.0 + settings.num_workers


@pytest.mark.parametrize("repeats_itself", [True, False])
def test_a_sampler_that_takes_the_rest_of_the_time_to_answer_ends_the_search(
    replay, walked, monkeypatch, repeats_itself
):
    """There was time for one more trial when it was asked, and there is none when it answers."""
    session = replay(rate, knobs=LARGE, sampler="random", budget_s=600)
    session.search.first("baseline", BASE)
    left = lambda: session.budget.left(session.search._keep)  # noqa: E731
    ask = session.ledger.study.ask

    def slowly():
        if repeats_itself:  # the baseline's own values: then something close by would be taken
            session.ledger.study.enqueue_trial(session.space.params_of(BASE))
        asked = ask()
        session.clock.now += 1.0
        return asked

    monkeypatch.setattr(session.ledger.study, "ask", slowly)
    session.clock.now += left() - session.lab.typical_s() - 0.5
    assert left() > session.lab.typical_s()
    assert session.search.run(None) == "the time for searching is spent"
    assert len(session.runner.ran) == 1
    assert len(walked) <= 2  # whether all were tried: the baseline was, and the next one was not


def test_a_large_space_is_not_walked_to_its_end_for_settings_that_fit(walked):
    space = Space([Knob.from_mapping(name, knob) for name, knob in LARGE.items()], BASE)
    assert space.size == 3122
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    assert Proposals(study, space, 0).next(lambda settings: False) is None
    assert len(walked) <= LOOKED + 1


def test_what_is_left_of_a_large_space_is_found_behind_all_that_was_tried(walked):
    """However many these are: the bound counts untried settings alone."""
    knobs = {**LARGE, "num_workers": {"low": 0, "high": 20, "step": 1}}
    space = Space([Knob.from_mapping(name, knob) for name, knob in knobs.items()], BASE)
    every = list(space.grid())
    assert len(every) > max(SMALL, LOOKED + 1)
    proposals = Proposals(optuna.create_study(sampler=RandomSampler(seed=0)), space, 0)
    for settings in every[:-1]:
        attributes = {"settings": settings.to_dict(), CONSTRAINTS: []}
        proposals.tell(None, TrialState.COMPLETE, 1.0, [], attributes)
    settings, _ = proposals.next()
    assert settings == every[-1]
