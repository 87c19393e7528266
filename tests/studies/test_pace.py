"""Trials that take many times as long as others leave time for these."""

from dataclasses import replace

import pytest
from replay import BASE
from test_compiled import compiles_once

from hotlap.settings import Settings

USUAL_S, COMPILE_S, END_S = 8.0, 60.0, 4.0
"""Of a trial without compilation; of compiling; kept back to end in."""

KNOBS = {
    "num_workers": {"choices": [0, 1, 2, 4]},
    "compile_mode": {"choices": ["none", "default"]},
}


def compiled(n_workers):
    return Settings(num_workers=n_workers, compile_mode="default")


def compiles(settings):
    return COMPILE_S if settings.compile_mode == "default" else 0.0


def n_compiled(session):
    return [settings.compile_mode for settings in session.runner.ran].count("default")


@pytest.fixture
def late(replay):
    """A session whose search knows what compiling takes, and has 50 s left."""
    session = replay(lambda s: 100.0, knobs=KNOBS, pruner="none", compile_s=compiles)
    session.search.first("baseline", BASE)
    session.search.run(2, enqueued=[compiled(0)])
    assert [trial.run.wall_s for trial in session.seen.trials] == [USUAL_S, USUAL_S + COMPILE_S]
    session.clock.now = 300 - END_S - 50
    return session


def test_what_is_known_to_take_longer_than_is_left_gives_way_to_what_does_not(late):
    assert late.search.run(None, enqueued=[compiled(2)]) == "the time for searching is spent"
    assert n_compiled(late) == 1
    assert {settings.num_workers for settings in late.runner.ran} == {0, 1, 2, 4}
    assert set(late.outcomes("search")) == {"ok"}


def test_nor_does_a_guide_begin_it(late):
    wanted = [compiled(1), compiled(2), Settings(num_workers=2)]
    late.search.run(3, guide=lambda incumbent: wanted.pop(0) if wanted else None)
    assert late.runner.ran[2:] == [Settings(num_workers=2)]


def test_nor_is_another_graph_begun_that_has_to_be_compiled_first(replay):
    """Those of the graph that was compiled take 10 s by now."""
    knobs = {**KNOBS, "memory_format": {"choices": ["contiguous", "channels_last"]}}
    own = {"knobs": knobs, "pruner": "none", "compile_s": compiles_once(COMPILE_S, 2.0)}
    session = replay(lambda s: 100.0, **own)
    session.search.first("baseline", BASE)
    session.search.run(4, enqueued=[compiled(0), compiled(1), compiled(2)])
    session.clock.now = 300 - END_S - 50
    other = replace(compiled(0), memory_format="channels_last")
    session.search.run(None, enqueued=[other, compiled(4)])
    assert session.runner.ran[4] == compiled(4)
    graphs = {(s.compile_mode, s.memory_format) for s in session.runner.ran[5:]}
    assert graphs and ("default", "channels_last") not in graphs
    assert set(session.outcomes("search")) == {"ok"}


def test_what_is_near_leaves_out_no_compilation_that_the_space_always_has(replay):
    knobs = {**KNOBS, "compile_mode": {"choices": ["default", "max-autotune"]}}
    session = replay(lambda s: 100.0, knobs=knobs, pruner="none")
    session.search.first("baseline", BASE)
    session.search.run(4, near=[compiled(2)])
    tried = session.runner.ran[1:]
    assert tried[0] == compiled(2) and len(tried) == 3
    assert {settings.compile_mode for settings in tried} <= {"default", "max-autotune"}


def test_the_next_session_knows_what_it_took(late, replay):
    again = replay(lambda s: 100.0, knobs=KNOBS, pruner="none", compile_s=compiles)
    again.search.first("baseline", BASE)
    again.clock.now = late.clock.now
    again.search.run(None)
    assert again.runner.ran and not n_compiled(again)


def test_no_trial_takes_more_than_a_third_of_what_is_left_or_three_usual_ones(replay):
    session = replay(lambda s: 100.0, budget_s=200, fails=lambda s: "hang" if s.num_workers else "")
    session.searched()
    left_s = 100 - END_S
    hung = 0
    for trial in session.seen.trials:
        if trial.run.outcome == "timeout":
            most_s = max(left_s / 3, 3 * USUAL_S)
            assert trial.run.wall_s == pytest.approx(min(most_s, left_s))
            hung += 1
        left_s -= trial.run.wall_s
    assert hung >= 3


def test_a_compilation_that_does_not_end_is_not_begun_again(replay):
    """The first one has taken two thirds of the search; with less no other would end."""
    hangs = {"fails": lambda s: "hang" if s.compile_mode == "default" else ""}
    session = replay(lambda s: 100.0, knobs=KNOBS, pruner="none", **hangs)
    session.search.first("baseline", BASE)
    session.search.run(None, enqueued=[compiled(0)])
    assert n_compiled(session) == 1
    assert {settings.num_workers for settings in session.runner.ran} == {0, 1, 2, 4}
