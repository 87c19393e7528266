import json
import math
import random

import pytest

from benchmarks.rival import judge
from benchmarks.rival.start import BlockFailed

CHANCE = random.Random(0)


def rounds(**rates):
    """Rounds from arm=[rate, ...]."""
    return [dict(zip(rates, one, strict=True)) for one in zip(*rates.values(), strict=True)]


def test_a_ratio_is_taken_within_each_round_so_that_a_slow_round_falls_out():
    speeds = [100.0, 20.0, 50.0, 80.0, 100.0, 60.0]
    found = judge.ratio(rounds(default=speeds, ours=[2 * s for s in speeds]), "ours")
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))


def test_the_interval_holds_the_median_and_widens_with_the_spread():
    narrow = judge.ratio(rounds(default=[1.0] * 9, ours=[2 + i / 100 for i in range(9)]), "ours")
    wide = judge.ratio(rounds(default=[1.0] * 9, ours=[2 + i / 10 for i in range(9)]), "ours")
    assert narrow.value == pytest.approx(2.04)
    assert wide.low < wide.value < wide.high
    assert wide.high - wide.low > 5 * (narrow.high - narrow.low)


def test_one_stalled_block_in_nine_does_not_move_the_judgement():
    found = judge.ratio(rounds(default=[1.0] * 9, ours=[2.0] * 8 + [0.01]), "ours")
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))


def test_the_interval_covers_the_truth_in_about_95_of_100_judgements():
    chance, n_held = random.Random(3), 0
    for _ in range(200):
        drawn = [1.5 * chance.lognormvariate(0, 0.05) for _ in range(9)]
        found = judge.ratio(rounds(default=[1.0] * 9, ours=drawn), "ours")
        n_held += found.low <= 1.5 <= found.high
    assert 180 <= n_held < 200  # a seeded draw: always the same count


def test_rounds_that_lack_an_arm_do_not_count_and_too_few_are_no_number():
    whole, lacking = {"default": 1.0, "ours": 3.0}, {"default": 1.0, "ours": None}
    some = [whole] * judge.LEAST + [lacking, {"default": None, "ours": 9.0}]
    found = judge.ratio(some, "ours")
    assert (found.value, found.low, found.high) == (3.0, 3.0, 3.0)
    assert judge.n_failed(some, "ours") == judge.n_failed(some, "default") == 1
    for few in (some[1:], [whole] + [lacking] * 8, []):
        found = judge.ratio(few, "ours")
        assert math.isnan(found.value) and math.isnan(found.low) and math.isnan(found.high)


def test_arms_with_the_same_settings_share_a_block_and_no_change_is_the_control():
    played = []

    def rate_of(loop, settings, seconds):
        played.append(json.dumps(settings))
        return float(len(played))

    answers = {"hotlap": {"amp": "bf16"}, "train-doctor": {"prefetch_factor": 4}}
    arms = judge.arms(answers, {"amp": "bf16", "num_workers": 0})
    one = judge.one_round("convnet", arms, 1.0, CHANCE, rate_of)
    assert sorted(played) == ['{"amp": "bf16"}', "{}", "{}"]
    assert one["hotlap"] == one["grid's best"]
    assert one["train-doctor"] == one["control"] != one["default"]


def test_the_order_differs_from_round_to_round():
    orders = []
    arms = judge.arms({"hotlap": {"amp": "bf16"}}, {"num_workers": 1})

    def rate_of(loop, settings, seconds):
        orders[-1].append(json.dumps(settings))
        return 1.0

    for i in range(6):
        orders.append([])
        judge.one_round("convnet", arms, 1.0, random.Random(i), rate_of)
    assert len({tuple(order) for order in orders}) > 1


def test_a_block_that_fails_is_said_and_leaves_the_other_arms(capsys):
    def rate_of(loop, settings, seconds):
        if settings:
            raise BlockFailed("no bf16 here")
        return 1.0

    one = judge.one_round("convnet", judge.arms({}, {"amp": "bf16"}), 1.0, CHANCE, rate_of)
    assert one == {"default": 1.0, "control": 1.0, "grid's best": None}
    assert "convnet grid's best: no bf16 here" in capsys.readouterr().out
