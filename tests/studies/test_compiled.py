"""What is compiled once is found by all later processes here; the full run may stand elsewhere."""

from dataclasses import replace
from pathlib import Path

import pytest
from replay import BASE
from simulated import Clock, SimulatedRunner, Watching

from hotlap.job import Job, Window
from hotlap.measurement import Block, Measurement
from hotlap.settings import Settings
from objectives import RunTime, Throughput
from studies import Arm, Lab, Rounds
from studies.compiled import GRAPH, Compiled

COMPILED, EAGER = Settings(compile_mode="default"), Settings()
OTHER_GRAPH = replace(COMPILED, amp="bf16")
CHOOSING = replace(COMPILED, cudnn_benchmark=True)


def compiles_once(cold_s=80.0, warm_s=5.0):
    """A machine on which a graph's first trial compiles, and later ones find that."""
    seen = set()

    def compile_s(settings):
        if settings.compile_mode == "none":
            return 0.0
        graph = tuple(getattr(settings, name) for name in GRAPH)
        found = graph in seen
        seen.add(graph)
        return warm_s if found else cold_s

    return compile_s


@pytest.fixture
def lab(tmp_path: Path):
    runner = SimulatedRunner(Clock(), lambda settings: 100.0, compile_s=compiles_once())
    job = Job("simulated.workload", window=Window())
    return Lab(runner, job, tmp_path, Throughput(), Watching())


def compile_s_of(trial):
    return trial.run.measurement.compile_s


def test_every_trial_says_what_compilation_costs_where_nothing_was_compiled(lab):
    kinds = [("search", COMPILED), ("confirm", EAGER), ("confirm", COMPILED)]
    trials = [lab.measure(kind, settings, 1000) for kind, settings in kinds]
    assert [compile_s_of(trial) for trial in trials] == [80.0, 0.0, 80.0]


def test_a_trial_that_was_stopped_has_compiled_all_the_same(lab):
    stopped = lab.measure("search", COMPILED, 1000, lambda warmup, window: len(window) > 1)
    assert stopped.run.outcome == "pruned" and compile_s_of(stopped) == 80.0
    assert compile_s_of(lab.measure("search", COMPILED, 1000)) == 80.0


def test_a_session_and_its_continuation_agree_on_it(replay):
    """Racing stops the first one, whose 80 s are dear in a run of 10 s."""
    knobs = {"compile_mode": {"choices": ["none", "default"]}, "num_workers": {"choices": [0, 2]}}
    own = {"knobs": knobs, "objective": RunTime(1, n_samples=1000), "n_epoch_steps": 50}
    session = replay(lambda s: 100.0, compile_s=compiles_once(), budget_s=2000, **own)
    session.search.first("baseline", BASE)
    session.search.run(3, enqueued=[COMPILED, replace(COMPILED, num_workers=2)])
    first, second = (t for t in session.seen.trials if t.kind == "search")
    assert first.run.outcome == "pruned"
    assert compile_s_of(first) == compile_s_of(second) == 80.0
    again = replay(lambda s: 100.0, budget_s=2000, **own)
    assert again.lab.compiled.expected_s(COMPILED) == 80.0
    assert session.lab.compiled.expected_s(COMPILED) == 80.0


def test_one_that_was_stopped_in_its_warm_up_tells_by_its_steps_what_it_compiled(lab):
    stopped = lab.measure("search", COMPILED, 1000, lambda warmup, window: len(warmup) > 1)
    assert stopped.run.outcome == "pruned" and not stopped.run.measurement.blocks
    trials = [stopped, lab.measure("search", COMPILED, 1000)]
    assert [compile_s_of(trial) for trial in trials] == pytest.approx([80.0, 80.0])
    assert lab.compiled.expected_s(COMPILED) == pytest.approx(80.0)


def test_one_that_was_stopped_before_it_could_tell_leaves_its_modes_dearest(lab):
    lab.measure("search", COMPILED, 1000)
    lab.measure("search", OTHER_GRAPH, 1000, lambda warmup, window: len(warmup) > 0)
    assert compile_s_of(lab.measure("search", OTHER_GRAPH, 1000)) == 80.0


@pytest.mark.parametrize(
    ("settings", "compile_s"),
    [
        (COMPILED, 80.0),
        (replace(COMPILED, num_workers=2, optimizer_kernel="fused"), 80.0),
        (replace(COMPILED, compile_mode="max-autotune"), 3.0),
        (OTHER_GRAPH, 3.0),  # it was compiled by this very trial
        (EAGER, 3.0),
    ],
)
def test_an_earlier_sessions_compilation_counts_for_the_same_graph(settings, compile_s):
    compiled = Compiled()
    compiled.learn(COMPILED, 80.0)
    compiled.learn(COMPILED, 5.0)
    compiled.learn(EAGER, 9.0)  # cuDNN's choice of algorithms, say: it is made in each process
    found = compiled.from_nothing(settings, Measurement((), compile_s=3.0))
    assert found.compile_s == compile_s


@pytest.mark.parametrize("other", [COMPILED, replace(COMPILED, amp="bf16")])
def test_what_cudnn_takes_to_choose_is_charged_to_nobody_else(other):
    """It takes 100 s in each process."""
    compiled = Compiled()
    for settings, compile_s in ((COMPILED, 80.0), (CHOOSING, 105.0), (OTHER_GRAPH, 80.0)):
        compiled.learn(settings, compile_s)
    warm = Measurement((), compile_s=5.0)
    assert compiled.from_nothing(other, warm).compile_s == 80.0
    assert compiled.from_nothing(CHOOSING, warm).compile_s == 105.0


def test_where_the_first_compilation_had_to_choose_too_nobody_can_tell_the_two_apart():
    compiled = Compiled()
    compiled.learn(CHOOSING, 180.0)
    warm = Measurement((), compile_s=5.0)
    assert compiled.from_nothing(COMPILED, warm).compile_s == 180.0
    assert compiled.from_nothing(OTHER_GRAPH, warm).compile_s == 5.0


def test_what_nobody_has_compiled_is_expected_to_take_as_long_as_the_dearest_with_its_mode():
    compiled = Compiled()
    assert compiled.expected_s(COMPILED) == 0.0
    compiled.learn(COMPILED, 80.0)
    compiled.learn(OTHER_GRAPH, 30.0)
    assert compiled.expected_s(OTHER_GRAPH) == 30.0
    assert compiled.expected_s(replace(COMPILED, memory_format="channels_last")) == 80.0
    assert compiled.expected_s(replace(COMPILED, compile_mode="max-autotune")) == 0.0


def test_rounds_compile_each_graph_once_that_no_trial_of_the_session_has_compiled(lab):
    """Trials of 12 s, and of 5 s more with what is on disk."""
    for settings in (EAGER, EAGER, EAGER, COMPILED, COMPILED):
        lab.measure("search", settings, 1000)
    rounds = Rounds(lab, "confirm", lambda: 1e6, 40)
    others = [OTHER_GRAPH, replace(OTHER_GRAPH, num_workers=2)]
    arms = [Arm(str(i), settings) for i, settings in enumerate([EAGER, COMPILED, *others])]
    assert rounds.cold_s(arm.settings for arm in arms) == 80.0
    assert rounds.round_s(arms) == 3 * 12 + 17
    seconds = [79, 80, 80 + 53, 80 + 5 * 53, 1e6]
    assert [rounds.n_fitting(arms, s) for s in seconds] == [0, 0, 1, 5, 40]
    assert [rounds.n_fitting(arms[:2], s) for s in (0, 29, 80)] == [0, 1, 2]


def test_what_an_earlier_session_compiled_is_compiled_once_more(lab):
    lab.compiled.learn(COMPILED, 80.0)
    lab.measure("search", EAGER, 1000)
    rounds = Rounds(lab, "confirm", lambda: 1e6, 40)
    for earlier_s, cold_s in ((17.0, 75.0), (92.0, 0.0)):  # its trial was not the first, or was
        lab.expect(earlier_s, COMPILED)
        assert rounds.cold_s([COMPILED]) == cold_s
    lab.measure("search", COMPILED, 1000)
    assert rounds.cold_s([COMPILED]) == 0.0


def test_what_was_compiled_without_a_word_of_its_cost_is_on_disk():
    compiled = Compiled()
    block = Block(steps=1, samples=8, seconds=1.0)
    compiled.remember(OTHER_GRAPH, Measurement((), warmup=(block,)))
    assert compiled.is_on_disk(OTHER_GRAPH) and not compiled.is_on_disk(COMPILED)
