"""What does not pay is dropped, on a virtual clock."""

from dataclasses import replace

import pytest
from simulated import Clock, SimulatedRunner, Watching
from test_compiled import compiles_once

from hotlap.job import Job, Window
from hotlap.settings import Settings
from objectives import Throughput
from studies import Budget, Lab, Rounds, ablate
from studies.arm import log_interval, shared_error
from studies.changes import differing, without

BASE = Settings()
WHOLE = Settings(
    num_workers=4,
    prefetch_factor=8,
    persistent_workers=True,
    pin_memory=True,
    memory_format="channels_last",
    cudnn_benchmark=True,
)
LIKELY = ("num_workers", "memory_format", "cudnn_benchmark", "pin_memory")


def taken_apart(tmp_path, rate, whole=WHOLE, budget_s=1e6, noise=0.01, seed=0, tried=(), **machine):
    clock = Clock()
    runner = SimulatedRunner(clock, rate, process_noise=noise, seed=seed, **machine)
    folder = tmp_path / f"{seed}-{len(list(tmp_path.iterdir()))}"
    job = Job("simulated.workload", window=Window(max_s=2.0))
    lab = Lab(runner, job, folder, Throughput(), Watching())
    for settings in (BASE, *tried):
        lab.measure("search", settings, 1000)
    budget = Budget(budget_s, start=clock.now, clock=clock)
    rounds = Rounds(lab, "ablate", budget.left, 6, seed, behind_rounds=3)
    return ablate(rounds, whole, BASE, LIKELY), budget


def workers_only(settings):
    return 300.0 if settings.num_workers else 100.0


def test_where_only_workers_matter_only_workers_are_left(tmp_path):
    found = [taken_apart(tmp_path, workers_only, seed=s)[0].left.changed() for s in range(30)]
    assert sum(changed == {"num_workers": 4} for changed in found) >= 24
    assert all("num_workers" in changed for changed in found)


def test_what_pays_stays_with_its_contribution(tmp_path):
    def rate(s):
        return workers_only(s) * (1.2 if s.memory_format == "channels_last" else 1.0)

    ablation, _ = taken_apart(tmp_path, rate)
    assert set(ablation.left.changed()) >= {"num_workers", "memory_format"}
    by_name = {c.settings: c for c in ablation.contributions}
    layout = by_name[("memory_format",)]
    assert layout.kept and layout.ratio.low <= 1.2 <= layout.ratio.high
    workers = by_name[("num_workers",)]
    assert workers.ratio.value == pytest.approx(3.0, rel=0.05)
    assert not by_name[("pin_memory",)].kept
    assert ablation.contributions[0] is workers


def test_a_setting_that_harms_is_dropped(tmp_path):
    def rate(s):
        return workers_only(s) * (0.9 if s.pin_memory else 1.0)

    ablation, _ = taken_apart(tmp_path, rate)
    assert "pin_memory" not in ablation.left.changed()


def test_where_either_of_two_would_do_one_stays(tmp_path):
    whole = Settings(pin_memory=True, cudnn_benchmark=True)
    ablation, _ = taken_apart(
        tmp_path,
        lambda s: 200.0 if s.pin_memory or s.cudnn_benchmark else 100.0,
        whole,
        noise=0.001,
    )
    assert len(ablation.left.changed()) == 1
    assert sum(c.kept for c in ablation.contributions) == 1
    # What is left of one alone is known from its own rounds: nobody measures that again.
    whole_arm = ablation.contributions[0].whole
    n_in_rounds = len(whole_arm.trials) + sum(len(c.without.trials) for c in ablation.contributions)
    n_measured = len(list(tmp_path.glob("*/trials/*")))
    assert n_measured == 1 + n_in_rounds + 2  # the baseline before, one look at what is left


def test_of_two_that_do_the_same_work_one_stays_and_brings_no_useless_ones(tmp_path):
    """One thread does not spin, and a passive wait does not either; spinning costs half."""
    whole = Settings(
        num_workers=4,
        intraop_threads=1,
        omp_wait_policy="passive",
        pin_memory=True,
        optimizer_kernel="fused",
    )

    def rate(s):
        quiet = s.intraop_threads == 1 or s.omp_wait_policy == "passive"
        return workers_only(s) * (1.0 if quiet else 0.5)

    left = []
    for seed in range(12):
        ablation, budget = taken_apart(tmp_path, rate, whole, seed=seed, budget_s=190 + 20 * seed)
        assert budget.spent() <= 190 + 20 * seed
        left.append(ablation.left)
    # In one of them no time was left to see which one to put back; the proof keeps the whole then.
    assert [rate(one) for one in left].count(rate(whole)) >= 11
    either = ({"num_workers", "intraop_threads"}, {"num_workers", "omp_wait_policy"})
    assert sum(set(one.changed()) in either for one in left) >= 9


def test_what_cannot_be_put_back_stays_and_that_is_said(tmp_path):
    whole = Settings(num_workers=4, pin_memory=True, memory_format="channels_last")
    slow, less = replace(whole, num_workers=0), replace(whole, pin_memory=False)
    ablation, _ = taken_apart(tmp_path, workers_only, whole, known=[BASE, whole, slow, less])
    assert ablation.left == less
    assert {c.settings for c in ablation.contributions} == {("num_workers",), ("pin_memory",)}
    assert ablation.note.startswith("what memory_format brings is not known: the table does not")
    ablation, _ = taken_apart(tmp_path, workers_only, whole, known=[BASE, whole, less])
    assert ablation.left == less and ablation.note.startswith("what num_workers, memory_format")
    ablation, _ = taken_apart(tmp_path, workers_only, whole, known=[BASE, whole])
    assert ablation.left == whole and not ablation.contributions
    assert "num_workers, memory_format, pin_memory" in ablation.note


def test_no_more_is_dropped_than_leaves_what_can_be_proven(tmp_path):
    whole = Settings(num_workers=4, pin_memory=True, cudnn_benchmark=True)
    one_less = [without([name], whole, BASE) for name in differing(whole, BASE)]
    ablation, _ = taken_apart(tmp_path, workers_only, whole, known=[BASE, whole, *one_less])
    assert ablation.left in one_less and ablation.left.num_workers == 4
    assert not ablation.note and len(ablation.contributions) == 3


def test_what_fails_without_a_setting_keeps_it(tmp_path):
    whole = Settings(num_workers=4, pin_memory=True)
    ablation, _ = taken_apart(
        tmp_path,
        workers_only,
        whole,
        fails=lambda s: "oom" if s.num_workers and not s.pin_memory else "",
    )
    kept = {c.settings: c for c in ablation.contributions}[("pin_memory",)]
    assert kept.kept and kept.reason.startswith("needed: without it oom in round 1: CUDA out of")
    assert ablation.contributions[0] is kept  # it never ran, so there is no ratio


def test_the_intervals_of_contributions_hold_all_together(tmp_path):
    ablation, _ = taken_apart(tmp_path, workers_only)
    for c in ablation.contributions:
        error = shared_error(len(ablation.contributions))
        assert c.ratio == c.whole.over(c.without, error)
        alone = log_interval(c.whole.ratios(c.without), error)
        assert c.ratio.low <= alone.low < alone.high <= c.ratio.high


def test_one_of_eight_useless_settings_is_taken_for_proven_in_few_studies(tmp_path):
    """Each alone would be in 2 of 100, and so one of them in 6."""
    whole = replace(WHOLE, non_blocking=True, amp="bf16", optimizer_kernel="fused")
    proven = []
    for seed in range(150):
        ablation, _ = taken_apart(tmp_path, workers_only, whole, seed=seed)
        others = [c for c in ablation.contributions if "num_workers" not in c.settings]
        assert len(others) == 8
        proven.append(any(c.ratio.low > 1 for c in others))
    assert sum(proven) <= 0.05 * len(proven)


def test_short_of_time_the_least_likely_are_put_back_together(tmp_path):
    ablation, budget = taken_apart(tmp_path, workers_only, budget_s=70)
    names = [c.settings for c in ablation.contributions]
    assert ("num_workers",) in names
    assert max(len(n) for n in names) > 1
    assert all(c.merged == (len(c.settings) > 1) for c in ablation.contributions)
    assert budget.spent() <= 70
    assert set(ablation.left.changed()) == {"num_workers"}


def test_with_time_for_one_arm_all_but_the_likeliest_is_put_back(tmp_path):
    """All of them put back would be the baseline, which the proof measures anyway."""
    ablation, budget = taken_apart(tmp_path, workers_only, budget_s=40)
    (only,) = ablation.contributions
    assert "num_workers" not in only.settings and len(only.settings) > 1
    assert only.without.settings.changed() == {"num_workers": 4}
    assert ablation.left.changed() == {"num_workers": 4}
    assert "all but num_workers together" in ablation.note
    assert budget.spent() <= 40


def test_with_time_for_one_arm_what_pays_beside_the_likeliest_stays(tmp_path):
    ablation, _ = taken_apart(
        tmp_path, lambda s: 300.0 if s.memory_format == "channels_last" else 100.0, budget_s=40
    )
    assert ablation.left == WHOLE


def test_without_time_nothing_is_dropped_and_it_is_said(tmp_path):
    ablation, budget = taken_apart(tmp_path, workers_only, budget_s=10)
    assert ablation.left == WHOLE and "no time" in ablation.note
    assert budget.spent() <= 10


def test_a_graph_that_nobody_has_compiled_is_compiled_once_beside_fewer_arms(tmp_path):
    """Trials of 8 s; of the whole without its layout 104 s longer, once."""
    whole = Settings(
        num_workers=4, memory_format="channels_last", compile_mode="default", set_to_none=False
    )
    options = {"compile_s": compiles_once(104.0, 2.0), "tried": [whole] * 3, "budget_s": 227}
    ablation, budget = taken_apart(tmp_path, workers_only, whole, **options)
    assert "too few" not in ablation.note and budget.spent() <= 227
    assert [len(c.without.trials) for c in ablation.contributions] == [3, 3, 3]
    assert ("memory_format",) in [c.settings for c in ablation.contributions]


def test_workers_take_what_they_would_do_with_them():
    assert without(["num_workers"], WHOLE, BASE).changed() == {
        "pin_memory": True,
        "memory_format": "channels_last",
        "cudnn_benchmark": True,
    }
    assert differing(WHOLE, BASE)[0] == "num_workers"
    assert differing(BASE, BASE) == []


def test_small_gains_that_are_not_proven_alone_are_not_all_dropped(tmp_path):
    """Three settings bring 4 % each; with this noise hardly any of them is proven alone."""

    def rate(s):
        small = (s.pin_memory, s.cudnn_benchmark, s.memory_format == "channels_last")
        return workers_only(s) * 1.04 ** sum(small)

    lost = []
    for seed in range(20):
        left = taken_apart(tmp_path, rate, noise=0.03, seed=seed)[0].left
        lost.append(rate(WHOLE) / rate(left) - 1)
    assert sum(lost) / len(lost) < 0.05


def test_a_whole_that_fails_now_has_nothing_to_be_taken_apart(tmp_path):
    """It ended well in the search; what each of its settings brings cannot be told without it."""
    ablation, _ = taken_apart(
        tmp_path, workers_only, fails=lambda s: "oom" if s.key() == WHOLE.key() else ""
    )
    assert ablation.left == ablation.whole == WHOLE and not ablation.contributions
    assert "all of them together failed: oom: CUDA out of memory" in ablation.note
