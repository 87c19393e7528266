import math
import random

import pytest
from replay import BASE, EXPERT
from simulated import Clock, SimulatedRunner, Watching

from hotlap.errors import StudyFailed
from hotlap.job import Job, Window
from hotlap.settings import Settings
from objectives import Throughput
from studies import Arm, Budget, Confirmed, Lab, Noise, Rounds, confirm
from studies.power import Power

FAST = Settings(num_workers=4)
SECOND = Settings(num_workers=1)
ARMS = {"baseline": BASE, "trial 7": FAST, "trial 5": SECOND, "expert": EXPERT}
NOISE = 0.01


@pytest.fixture
def prove(tmp_path):
    """Proves ARMS, each with the true speedup that `speedups` says by name, 1 by default."""

    def run(
        seed=0,
        arms=ARMS,
        budget_s=1e6,
        max_rounds=8,
        exceeded=None,
        after_search=False,
        expected=None,
        power=None,
        **options,
    ):
        speedups = options.pop("speedups", {})
        rates = {settings.key(): 100 * speedups.get(name, 1) for name, settings in arms.items()}
        clock, seen = Clock(), Watching()
        options = {"process_noise": NOISE, "block_noise": 0.002, **options}
        # Not the seed of the order within rounds: the two would be one stream.
        options.setdefault("seed", 10_000 + seed)
        runner = SimulatedRunner(clock, lambda settings: rates[settings.key()], **options)
        folder = tmp_path / f"study-{seed}-{len(list(tmp_path.iterdir()))}"
        job = Job("simulated.workload", window=Window(max_s=1.0))
        lab = Lab(runner, job, folder, Throughput(), seen)
        known = None
        if after_search:  # then it is known what a trial takes: 5 s here
            known = lab.measure("search", BASE, 100)
            clock.now = 0
            seen.trials.clear()
        for name, seconds in (expected or {}).items():  # as a study that goes on knows it
            lab.expect(seconds, arms[name])
        budget = Budget(budget_s, clock=clock)
        more = {"exceeded": exceeded} if exceeded else {}
        rounds = Rounds(lab, "confirm", budget.left, max_rounds, seed, **more)
        proof = confirm(rounds, arms, known, power)
        return proof, seen.trials, budget

    return run


SEEDS = range(200)


def share(found):
    return sum(found) / len(found)


@pytest.mark.parametrize("noise", [0.002, 0.01, 0.05])
def test_equal_settings_are_found_faster_in_fewer_than_five_of_a_hundred_studies(prove, noise):
    found = [prove(seed, process_noise=noise)[0].found_better for seed in SEEDS]
    assert share(found) < 0.05


@pytest.mark.parametrize("speedup", [1.05, 1.3])
def test_a_real_speedup_is_found_and_its_interval_holds_the_truth(prove, speedup):
    found, covered = [], []
    for seed in SEEDS:
        proof, _, _ = prove(seed, speedups={"trial 7": speedup})
        found.append(proof.winner.name == "trial 7")
        if found[-1]:
            rate = proof.winner.speedup(proof.arms[0])
            covered.append(rate.low <= speedup <= rate.high)
    assert share(found) > 0.95
    assert share(covered) >= 0.93


def test_the_best_of_several_equals_is_quoted_without_the_winners_curse(prove):
    speedups = {"expert": 1.1, "trial 7": 1.1, "trial 5": 1.1}
    covered = []
    for seed in SEEDS:
        proof, _, _ = prove(seed, speedups=speedups)
        rate = proof.winner.speedup(proof.arms[0])
        covered.append(proof.found_better and rate.low <= 1.1 <= rate.high)
    assert share(covered) >= 0.93


def step_at(t0, factor):
    return lambda t: factor if t > t0 else 1.0


@pytest.mark.parametrize(
    "drift",
    [
        lambda t: 1 + t / 2000,
        lambda t: 1 - t / 2000,
        lambda t: math.exp(-t / 60),
        step_at(40, 0.5),
        step_at(70, 2.0),
        lambda t: 1 + 0.3 * math.sin(t / 7),
        lambda t: 1 + 0.3 * math.sin(t / 3),
    ],
    ids=[
        "faster",
        "slower",
        "much slower",
        "half as fast",
        "twice as fast",
        "waves",
        "short waves",
    ],
)
def test_a_drift_of_the_machine_chooses_no_winner(prove, drift):
    found = [prove(seed, drift=drift)[0].found_better for seed in SEEDS]
    assert share(found) < 0.05


def test_one_round_with_a_neighbour_on_the_machine_hides_no_large_speedup(prove):
    slowed = [
        prove(seed, speedups={"trial 7": 1.5}, drift=lambda t: 0.7 if 50 < t < 65 else 1.0)
        for seed in range(50)
    ]
    assert share([proof.winner.name == "trial 7" for proof, _, _ in slowed]) > 0.9


def test_without_an_interval_above_one_the_baseline_is_kept(prove):
    proof, _, _ = prove(speedups={"trial 7": 0.97, "expert": 0.9, "trial 5": 0.5})
    assert proof.winner is proof.arms[0] and proof.winner.name == "baseline"
    assert not proof.found_better
    assert proof.best_tried.name == "trial 7"


def test_arms_are_interleaved_in_changing_order(prove):
    _, trials, _ = prove(process_noise=0.05, max_rounds=6)
    rounds = [[t.settings for t in trials[i : i + 4]] for i in range(0, 24, 4)]
    assert all(len(set(map(str, r))) == 4 for r in rounds)
    assert len({str(r) for r in rounds}) >= 4


def test_an_arm_far_behind_is_measured_twice_and_no_more(prove):
    proof, trials, _ = prove(speedups={"trial 7": 2.0, "expert": 1.9})
    assert sum(t.settings == SECOND for t in trials) == 2
    assert sum(t.settings == BASE for t in trials) == proof.n_rounds


def test_who_is_left_out_for_want_of_time_alone_is_not_beaten(prove):
    proof, _, _ = prove(speedups={"trial 7": 0.5, "trial 5": 0.5})
    assert [arm.beaten for arm in proof.arms] == [False, True, True, False]
    noisy = {"process_noise": 0.1, "budget_s": 70, "speedups": {"trial 5": 0.6}}
    proofs = [prove(seed, **noisy)[0] for seed in range(30)]
    seconds = [(proof.arm_of(SECOND), proof.n_rounds) for proof in proofs]
    gone = [arm for arm, n_rounds in seconds if len(arm.trials) == 2 < n_rounds]
    assert len(gone) > 10 and sum(arm.beaten for arm in gone) < len(gone) / 2


def test_a_noisy_machine_leaves_no_arm_out_by_chance_while_there_is_time(prove):
    left_out = [
        len(arm.trials) < proof.n_rounds
        for proof, _, _ in (prove(seed, process_noise=0.2) for seed in range(50))
        for arm in proof.arms
    ]
    assert share(left_out) < 0.02
    found = [prove(seed, process_noise=0.02, speedups={"trial 7": 2.0}) for seed in range(20)]
    assert all(sum(t.settings == SECOND for t in trials) == 2 for _, trials, _ in found)


def test_where_time_presses_what_is_behind_gives_way(prove):
    gone = []
    for seed in range(30):
        speedups = {"trial 5": 0.6}
        proof, trials, _ = prove(seed, process_noise=0.1, budget_s=70, speedups=speedups)
        gone.append(sum(t.settings == SECOND for t in trials) == 2 < proof.n_rounds)
    assert share(gone) > 0.8


def test_rounds_end_when_the_intervals_are_narrow_and_not_before_the_fifth(prove):
    assert prove(process_noise=0.001)[0].n_rounds == 5
    assert prove(process_noise=0.05)[0].n_rounds == 8


@pytest.mark.parametrize("fault", ["crash", "oom", "hang"])
def test_an_arm_that_fails_in_a_round_cannot_win_and_is_not_measured_again(prove, fault):
    n = {"fast": 0}

    def third_time(settings):
        n["fast"] += settings == FAST
        return fault if settings == FAST and n["fast"] == 3 else ""

    proof, trials, _ = prove(speedups={"trial 7": 2.0, "trial 5": 1.9}, fails=third_time)
    assert sum(t.settings == FAST for t in trials) == 3
    assert proof.winner.name == "trial 5"
    lost = next(arm for arm in proof.arms if arm.name == "trial 7")
    assert "in round 3" in lost.reasons[0]


def test_an_arm_that_always_fails_is_no_arm_of_the_answer(prove):
    proof, _, _ = prove(fails=lambda settings: "crash" if settings == FAST else "")
    assert [arm.name for arm in proof.arms] == ["baseline", "trial 5", "expert"]


def test_a_round_without_a_baseline_is_not_compared(prove):
    n = {"base": 0}

    def first_time(settings):
        n["base"] += settings == BASE
        return "crash" if settings == BASE and n["base"] == 1 else ""

    proof, _, _ = prove(speedups={"trial 7": 1.5}, fails=first_time)
    assert proof.winner.name == "trial 7"
    assert len(proof.winner.ratios(proof.arms[0])) == proof.n_rounds - 1


def test_a_baseline_that_always_fails_is_a_failed_study_with_the_reason(prove):
    with pytest.raises(StudyFailed, match="could not be measured again: oom: CUDA out of memory"):
        prove(fails=lambda settings: "oom" if settings == BASE else "")


def test_an_arm_that_breaks_a_limit_cannot_win(prove):
    proof, _, _ = prove(
        speedups={"trial 7": 2.0, "expert": 1.95},
        exceeded=lambda measurement: ["it reserved 96 MiB"] * (measurement.num_workers == 4),
    )
    assert proof.winner.name == "expert"
    barred = next(arm for arm in proof.arms if arm.name == "trial 7")
    assert barred.reasons == ["in round 1 it reserved 96 MiB"]


def test_equal_settings_are_one_arm_under_the_first_name(prove):
    arms = {"baseline": BASE, "expert": BASE, "trial 0": BASE, "trial 3": FAST}
    proof, trials, _ = prove(arms=arms, speedups={"trial 3": 1.2})
    assert [arm.name for arm in proof.arms] == ["baseline", "trial 3"]
    assert len(trials) == 2 * proof.n_rounds


def test_with_the_baseline_alone_there_is_nothing_to_prove(prove):
    proof, trials, _ = prove(arms={"baseline": BASE, "expert": BASE})
    assert not proof.found_better and len(trials) == proof.n_rounds == 2
    assert proof.arms[0].rate().low > 0


@pytest.mark.parametrize("budget_s", [7, 40, 100, 250])
def test_the_budget_is_kept_and_no_round_is_begun_that_could_not_end(prove, budget_s):
    proof, trials, budget = prove(budget_s=budget_s, after_search=True)
    assert budget.spent() <= budget_s
    assert all(t.run.outcome == "ok" for t in trials)
    assert proof.n_rounds >= 1


def test_hanging_arms_do_not_break_the_budget(prove):
    proof, _, budget = prove(budget_s=200, fails=lambda s: "hang" if s == FAST else "")
    assert budget.spent() <= 200
    assert not proof.found_better


@pytest.mark.parametrize(
    ("budget_s", "names"),
    [
        (200, ["baseline", "trial 7", "trial 5", "expert"]),
        (90, ["baseline", "trial 7", "trial 5"]),
        (60, ["baseline", "trial 7"]),
        (15, ["baseline", "trial 7"]),
    ],
)
def test_short_of_time_fewer_arms_get_enough_rounds(prove, budget_s, names):
    proof, _, _ = prove(budget_s=budget_s, after_search=True, speedups={"trial 7": 1.3})
    assert [arm.name for arm in proof.arms] == names
    if budget_s > 15:
        assert proof.winner.name == "trial 7"


@pytest.mark.parametrize(
    ("gain", "budget_s", "n_arms"),
    [(None, 65, 2), (0.18, 65, 2), (0.98, 85, 4), (0.98, 65, 3), (0.98, 50, 2)],
    ids=["nobody knows", "not for sure", "4 rounds", "4 rounds of fewer", "none to spare"],
)
def test_more_arms_have_fewer_rounds_where_these_show_so_large_a_gain(
    prove, gain, budget_s, n_arms
):
    """Trials of 5 s, and 4 s are kept for the study's end."""
    power = None if gain is None else Power(gain, Noise(5, 0.05))
    speedups = dict.fromkeys(("trial 7", "trial 5", "expert"), 2.67)
    options = {"speedups": speedups, "process_noise": 0.05, "power": power}
    proof, _, _ = prove(budget_s=budget_s, after_search=True, **options)
    assert len(proof.arms) == n_arms
    assert proof.n_rounds == (budget_s - 4) // (5 * n_arms)


def test_a_dear_first_arm_hides_none_of_the_others(prove):
    """What compiled for two minutes in an earlier session does not fit into 80 s."""
    options = {"after_search": True, "expected": {"trial 7": 115.0}, "speedups": {"trial 5": 1.3}}
    proof, trials, _ = prove(budget_s=80, **options)
    assert [arm.name for arm in proof.arms] == ["baseline", "trial 5", "expert"]
    assert proof.winner.name == "trial 5" and proof.n_rounds >= 5
    proof, trials, _ = prove(budget_s=8, **options)  # for one trial beside the baseline's own
    assert [t.settings for t in trials] == [SECOND] and not proof.uncompared
    proof, trials, _ = prove(budget_s=4, **options)
    assert not trials and proof.uncompared.startswith("there was no time to measure anything")


def test_with_the_baseline_alone_it_is_measured_again_if_there_is_time(prove):
    for budget_s, n_rounds in ((4, 0), (7, 1), (60, 2)):
        options = {"arms": {"baseline": BASE}, "after_search": True}
        proof, trials, _ = prove(budget_s=budget_s, **options)
        assert len(trials) == proof.n_rounds == n_rounds and proof.baseline.trials
        assert not proof.uncompared


def test_arms_that_were_refused_before_the_rounds_did_not_end_ill_in_them(prove):
    arms = {"baseline": BASE, "trial 5": SECOND}
    proof, _, _ = prove(arms=arms, budget_s=4, after_search=True)
    refused = Arm("trial 7", FAST, reasons=["its loss is nan"])
    later = Confirmed(proof.arms, proof.n_rounds, failed=(refused,), n_wanted=proof.n_wanted)
    assert later.uncompared == "there was no time to measure anything beside the baseline"


def test_values_far_apart_have_an_interval_all_the_same():
    from studies.arm import log_interval

    assert log_interval([1e-30, 1e30], 0.0125).high == math.inf
    rng = random.Random(0)
    inside = 0
    for _ in range(400):
        found = log_interval([math.exp(rng.gauss(0, 0.1)) for _ in range(4)])
        inside += found.low <= 1 <= found.high
    assert 0.92 <= inside / 400 <= 0.98


MORE = Settings(num_workers=4, pin_memory=True)


@pytest.mark.parametrize(("cost", "name"), [(1.0, "less"), (0.85, "more"), (0.96, "more")])
def test_fewer_settings_win_if_they_are_as_good_and_only_then(prove, cost, name):
    arms = {"baseline": BASE, "more": MORE, "less": FAST}
    won = []
    for seed in range(10):
        speedups = {"more": 2.0, "less": 2.0 * cost}
        proof, _, _ = prove(seed, arms=arms, speedups=speedups, process_noise=0.005)
        won.append(proof.winner.name)
    assert won.count(name) >= 9
