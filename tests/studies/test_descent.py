from dataclasses import replace

import pytest

from hotlap.settings import Settings
from search_spaces import Knob, Space
from search_spaces.knob import When
from studies.descent import Descent

KNOBS = [
    Knob("num_workers", (0, 1, 2)),
    Knob("memory_format", ("contiguous", "channels_last")),
    Knob("multiprocessing_context", ("default", "spawn")),
]


def walk(descent, better=lambda settings: False):
    """All proposals, where the incumbent moves to what is better."""
    incumbent, found = Settings(), []
    while (settings := descent.propose(incumbent)) is not None:
        found.append(settings.changed())
        incumbent = settings if better(settings) else incumbent
    return found


def test_each_value_of_a_likely_knob_is_tried_once_from_the_incumbent():
    found = walk(Descent(Space(KNOBS, Settings()), data_wait_share=0.05))
    assert found == [{"memory_format": "channels_last"}, {"num_workers": 1}, {"num_workers": 2}]


def test_what_helped_stays_while_the_next_knob_is_tried():
    descent = Descent(Space(KNOBS, Settings()), data_wait_share=0.05)
    found = walk(descent, lambda settings: settings.memory_format == "channels_last")
    assert found[1] == {"memory_format": "channels_last", "num_workers": 1}


def test_a_baseline_that_waits_for_data_tries_the_loader_first():
    found = walk(Descent(Space(KNOBS, Settings()), data_wait_share=0.5))
    assert found[0] == {"num_workers": 1}


def test_a_baseline_that_never_waits_leaves_the_loader_alone():
    found = walk(Descent(Space(KNOBS, Settings()), data_wait_share=0.001))
    assert found == [{"memory_format": "channels_last"}]


def test_a_value_that_was_tried_is_not_tried_again_from_a_new_incumbent():
    found = walk(Descent(Space(KNOBS, Settings()), 0.5), lambda s: s.num_workers > 0)
    assert [f.get("num_workers") for f in found].count(1) >= 1
    assert len(found) == len({tuple(f.items()) for f in found})


def test_a_value_that_only_a_later_incumbent_can_have_is_not_lost_before():
    """The table has two workers beside channels_last alone."""
    layout = {"memory_format": "channels_last"}
    known = [{}, {"num_workers": 1}, layout, {"num_workers": 2, **layout}]
    space = Space(KNOBS, Settings()).within(map(Settings.from_dict, known))
    found = walk(Descent(space, 0.5), lambda s: s.memory_format == "channels_last")
    assert found == known[1:]


LOADS = {"num_workers": 2, "persistent_workers": True}
COMPUTES = {"memory_format": "channels_last", "optimizer_kernel": "fused"}
SIDES = [
    Knob("num_workers", (0, 1, 2)),
    Knob("persistent_workers", (False, True), when=When("num_workers", 0)),
    Knob("memory_format", ("contiguous", "channels_last")),
    Knob("optimizer_kernel", ("default", "fused")),
]


@pytest.mark.parametrize(("waits", "side"), [(0.5, LOADS), (0.05, COMPUTES)])
def test_an_incumbent_of_both_sides_is_tried_without_the_one_that_does_not_bind(waits, side):
    descent = Descent(Space(SIDES, Settings()), waits, baseline=Settings())
    both = Settings(**LOADS, **COMPUTES)
    assert descent.propose(Settings()) is not None  # an incumbent of no side changes nothing
    assert descent.propose(both).changed() == side
    assert descent.propose(both).changed() != side  # once


@pytest.mark.parametrize(("waits", "side"), [(0.5, COMPUTES), (0.05, LOADS)])
def test_an_incumbent_of_one_side_is_not_tried_as_the_baseline(waits, side):
    descent = Descent(Space(SIDES, Settings()), waits, baseline=Settings())
    assert descent.propose(Settings(**side)).changed() != {}


@pytest.mark.parametrize(("base_waits", "waits"), [(0.5, 0.02), (0.02, 0.5)])
def test_an_incumbent_that_moved_what_binds_to_the_other_side_owes_its_speed_to_both(
    base_waits, waits
):
    both = Settings(**LOADS, **COMPUTES)
    apart = [Settings(**LOADS), Settings(**COMPUTES)]
    given = (Space(SIDES, Settings()), base_waits, lambda settings: waits)
    assert Descent(*given, baseline=Settings()).propose(both) not in apart
    # On shared cores workers slow the model down, so that it waits less and is no faster.
    assert Descent(*given, shares_cores=True, baseline=Settings()).propose(both) in apart


@pytest.mark.parametrize(("waits", "first", "then"), [(0.5, LOADS, COMPUTES), (0, COMPUTES, LOADS)])
def test_an_expert_that_lost_is_tried_once_with_each_side_that_binds(waits, first, then):
    shares = {"waits": waits}
    given = (Space(SIDES, Settings()), waits, lambda settings: shares["waits"])
    descent = Descent(*given, baseline=Settings(), expert=Settings(**LOADS, **COMPUTES))
    assert descent.propose(Settings()).changed() == first
    assert descent.propose(Settings()).changed() != first  # once
    shares["waits"] = 0.5 - waits
    assert descent.propose(Settings()).changed() == then
    assert descent.propose(Settings()).changed() not in (first, then)


def test_in_another_layout_a_precision_that_lost_has_one_more_turn():
    knobs = [Knob("amp", ("none", "bf16")), Knob("memory_format", ("contiguous", "channels_last"))]
    won = {"memory_format": "channels_last"}
    found = walk(
        Descent(Space(knobs, Settings()), 0.05), lambda settings: settings.changed() == won
    )
    assert found == [{"amp": "bf16"}, won, {**won, "amp": "bf16"}]


TOGETHER = {
    "num_workers": {"choices": [0, 1]},
    "amp": {"choices": ["none", "bf16"]},
    "memory_format": {"choices": ["contiguous", "channels_last"]},
}


@pytest.mark.parametrize("fault", ["", "crash", "oom"])
def test_what_is_good_in_an_expert_that_lost_is_found_within_two_trials(replay, fault):
    """The worker costs more than its other half gains, which gains together alone."""
    pair = Settings(amp="bf16", memory_format="channels_last")

    def rate(settings):
        gain = {"amp": 0.9, "memory_format": 1.0, "amp memory_format": 1.6}
        compute = gain.get(" ".join(sorted(set(settings.changed()) - {"num_workers"})), 1.0)
        return 100 * compute * (0.5 if settings.num_workers else 1.0)

    session = replay(
        rate, knobs=TOGETHER, in_memory=True, fails=lambda s: fault if s.num_workers else ""
    )
    session.studied(replace(pair, num_workers=1), n_trials=4)
    assert pair in [trial.settings for trial in session.seen.trials if trial.kind == "search"]


WORKERS = [
    Knob("num_workers", (0, 1, 2, 4, 8, 16)),
    Knob("memory_format", ("contiguous", "channels_last")),
]


def proposals(waits_of, better=lambda settings: False, start=None):
    """All proposals from `start`, where what waits is known of each settings value."""
    descent = Descent(Space(WORKERS, Settings()), 0.5, waits_of)
    incumbent, found = start or Settings(), []
    while (settings := descent.propose(incumbent)) is not None:
        found.append(settings)
        incumbent = settings if better(settings) else incumbent
    return found


def test_as_many_workers_are_tried_as_would_end_the_waiting():
    found = proposals(lambda s: 0.7, start=Settings(num_workers=2))
    assert found[0].num_workers == 8  # 2 / (1 - 0.7) is 6.7, and 4 would not do
    found = proposals(lambda s: 0.9)
    assert found[0].num_workers == 16  # one worker beside the model instead of none: 9 of them


def test_where_even_the_most_workers_would_not_do_they_are_tried():
    assert proposals(lambda s: 0.99, start=Settings(num_workers=2))[0].num_workers == 16


def test_as_soon_as_the_incumbent_no_longer_waits_the_models_knobs_are_next():
    found = proposals(lambda s: 0.0 if s.num_workers else 0.75, better=lambda s: s.num_workers == 4)
    assert found[0].num_workers == 4
    assert found[1] == Settings(num_workers=4, memory_format="channels_last")
    assert found[2].num_workers == 2  # fewer may do, and leave the model their cores


def test_what_lies_behind_a_value_that_lost_comes_last():
    found = proposals(lambda s: 0.4, start=Settings(num_workers=2))
    assert [s.num_workers for s in found][:2] == [4, 2]  # 4 lost, then the layout with 2
    assert found[1].memory_format == "channels_last"
    assert {s.num_workers for s in found[2:]} == {0, 1, 8, 16}


def test_what_is_not_known_of_the_incumbent_is_taken_from_the_baseline():
    assert proposals(lambda s: None)[0].num_workers == 1


def test_where_one_worker_lost_against_none_several_have_one_turn():
    found = proposals(lambda s: 0.4)
    assert [(s.num_workers, s.memory_format) for s in found][:3] == [
        (1, "contiguous"),
        (8, "contiguous"),
        (0, "channels_last"),
    ]


SHARED = [
    Knob("num_workers", (0, 1, 2)),
    Knob("omp_wait_policy", ("default", "passive")),
]


def test_on_shared_cores_workers_come_with_threads_that_sleep_while_they_wait():
    descent = Descent(Space(SHARED, Settings()), data_wait_share=0.5, shares_cores=True)
    found = walk(descent, lambda settings: settings.omp_wait_policy == "passive")
    assert found[0] == {"num_workers": 1, "omp_wait_policy": "passive"}
    assert {"num_workers": 1} not in found[:2]  # the incumbent has both


def test_workers_that_have_lost_with_passive_waiting_are_tried_alone():
    descent = Descent(Space(SHARED, Settings()), data_wait_share=0.5, shares_cores=True)
    found = walk(descent)
    assert found[:2] == [{"num_workers": 1, "omp_wait_policy": "passive"}, {"num_workers": 1}]
    assert {"num_workers": 2} in found and len(found) == 5


def test_workers_come_alone_where_nothing_waits_or_the_cores_are_not_shared():
    waits_little = Descent(Space(SHARED, Settings()), data_wait_share=0.05, shares_cores=True)
    assert walk(waits_little) == [
        {"omp_wait_policy": "passive"},
        {"num_workers": 1},
        {"num_workers": 2},
    ]
    found = walk(Descent(Space(SHARED, Settings()), data_wait_share=0.5))
    assert found[0] == {"num_workers": 1}


THREADS = [
    Knob("intraop_threads", (None, 1, 2, 4, 8, 16, 32)),
    Knob("memory_format", ("contiguous", "channels_last")),
    Knob("optimizer_kernel", ("default", "fused")),
    Knob("compile_mode", ("none", "default")),
]


def differences(descent, start, better=lambda settings: False):
    """What each proposal changes of the incumbent, from `start`."""
    incumbent, found = start, []
    while (settings := descent.propose(incumbent)) is not None:
        old, new = incumbent.to_dict(), settings.to_dict()
        found.append({name: value for name, value in new.items() if value != old[name]})
        incumbent = settings if better(settings) else incumbent
    return found


def test_threads_are_climbed_from_the_count_that_null_stands_for():
    """And on a CPU what an expert's values did is seen early: they may harm there."""
    start = Settings(memory_format="channels_last", optimizer_kernel="fused")
    given = {"shares_cores": True, "baseline": Settings(), "own_threads": 32}
    found = differences(Descent(Space(THREADS, Settings()), 0.0, **given), start)
    assert found[:2] == [{"memory_format": "contiguous"}, {"optimizer_kernel": "default"}]
    assert found[2:4] == [{"intraop_threads": 16}, {"compile_mode": "default"}]
    assert len(found) == 6 + 1 + 2


def test_where_fewer_threads_win_they_are_halved_again():
    given = {"shares_cores": True, "own_threads": 32}
    won = (16, 8)
    found = differences(
        Descent(Space(THREADS[:1], Settings()), 0.0, **given),
        Settings(),
        lambda settings: settings.intraop_threads in won,
    )
    assert [change["intraop_threads"] for change in found] == [16, 8, 4, 1, 2, 32]


@pytest.mark.parametrize("own", [2, None])
def test_on_two_cores_one_thread_is_the_half(own):
    space = Space([Knob("intraop_threads", (None, 1))], Settings())
    found = differences(Descent(space, 0.0, shares_cores=True, own_threads=own), Settings())
    assert found == [{"intraop_threads": 1}]


DEVICE = [
    Knob("num_workers", (0, 1, 2, 4, 8, 16, 32)),
    Knob("amp", ("none", "bf16", "fp16")),
    Knob("float32_matmul_precision", ("highest", "high", "medium")),
    Knob("memory_format", ("contiguous", "channels_last")),
    Knob("cudnn_benchmark", (False, True)),
    Knob("omp_wait_policy", ("default", "active", "passive")),
    Knob("optimizer_kernel", ("default", "for_loop", "fused")),
    Knob("intraop_threads", (None, 1, 2, 4, 8, 16)),
    Knob("compile_mode", ("none", "default", "reduce-overhead", "max-autotune")),
]
BY_HAND = Settings(
    num_workers=8,
    amp="bf16",
    float32_matmul_precision="high",
    memory_format="channels_last",
    cudnn_benchmark=True,
    optimizer_kernel="fused",
)


def on_a_device(base_waits, waits, busy=None):
    """What is proposed after the expert, in a space as a computer with a GPU has it."""
    space = Space(DEVICE, Settings())
    known = (lambda settings: waits, False, Settings(), BY_HAND, 32, lambda settings: busy)
    return differences(Descent(space, base_waits, *known), BY_HAND)


@pytest.mark.parametrize(
    ("base_waits", "busy", "mode"),
    [(0.03, 0.98, "default"), (0.03, None, "default"), (0.03, 0.4, "reduce-overhead")],
)
def test_a_model_that_binds_on_a_device_is_compiled_at_once_for_what_is_seen(
    base_waits, busy, mode
):
    found = on_a_device(base_waits, 0.03, busy)
    assert found[:2] == [{"num_workers": 0}, {"compile_mode": mode}]


def test_where_data_no_longer_bind_the_experts_settings_compilation_is_the_first_trial():
    found = on_a_device(0.8, 0.03)
    assert found[0] == {"compile_mode": "default"}
    changed = {name for change in found for name in change}
    assert changed.isdisjoint({"omp_wait_policy", "intraop_threads"})  # left to the sampler
    back = [change for change in found if all(change[n] == getattr(Settings(), n) for n in change)]
    assert back == found[-len(back) :] and len(back) == 6


def test_what_seldom_wins_comes_after_all_that_may():
    found = on_a_device(0.8, 0.03)
    seldom = (
        {"amp": "fp16"},
        {"float32_matmul_precision": "medium"},
        {"optimizer_kernel": "for_loop"},
    )
    first = min(found.index(change) for change in seldom)
    assert {change["compile_mode"] for change in found[:first] if "compile_mode" in change} == {
        "default", "reduce-overhead", "max-autotune"}  # fmt: skip


def test_what_is_the_best_of_its_knob_here_has_its_turn():
    space = Space([Knob("amp", ("none", "fp16"))], Settings())
    assert differences(Descent(space, 0.0), Settings()) == [{"amp": "fp16"}]


def test_while_data_bind_the_loader_comes_first_and_threads_have_their_turn():
    found = on_a_device(0.8, 0.4)
    assert found[1] == {"num_workers": 16}
    names = [name for change in found[1:] for name in change]
    assert names.index("intraop_threads") < names.index("compile_mode")
