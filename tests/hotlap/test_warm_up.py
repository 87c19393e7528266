"""How many steps a warm-up's blocks have, and after how many blocks it is over."""

import math
from random import Random

import pytest

from hotlap.block import Block
from hotlap.warm_up import WarmUp

UNIT, QUEUE = 16, 32


def n_next(*steps):
    """Steps of the next block after first steps of (seconds, of these waiting, batches ready)."""
    warm_up = WarmUp(0.5, UNIT, QUEUE)
    for seconds, wait_s, n_ready in steps:
        warm_up.add(Block(1, 8, seconds, wait_s, n_ready=n_ready))
    return warm_up.n_next


def test_the_first_two_steps_are_blocks_and_then_each_worker_has_its_turn():
    assert n_next() == n_next((0.1, 0, 10)) == 1
    assert n_next((0.1, 0, 10), (0.1, 0, QUEUE)) == UNIT


def test_where_steps_take_long_the_third_block_is_a_step_too_so_that_three_can_end_a_trial():
    assert n_next((9.0, 0, 20), (9.0, 0, QUEUE - 1)) == 1
    assert n_next((9.0, 0, 20), (9.0, 0, QUEUE), (9.0, 0, QUEUE)) == UNIT


@pytest.mark.parametrize(
    "second",
    [(9.0, 0, 10), (9.0, 0, None), (9.0, 8.8, QUEUE), (0.4, 0, QUEUE)],
    ids=["workers still take the cores", "nobody knows", "it waited for data", "it is short"],
)
def test_two_steps_do_not_speak_for_those_after_them(second):
    assert n_next((9.0, 0, 10), second) == UNIT


FIRST = (1, 1, 2, 4)
"""Steps of the blocks that are too short to end a warm-up with."""


def over_after(step_s):
    """Blocks of a warm-up whose k-th one takes `step_s(k)` a step; about 1 where it is warm."""
    warm_up = WarmUp(0.5, 1, 0)
    for k in range(30):
        steps = FIRST[k] if k < len(FIRST) else 50
        warm_up.add(Block(steps, steps, steps * 0.01 * step_s(k)))
        if warm_up.is_steady(None):
            return k + 1
    return math.inf


@pytest.mark.parametrize(
    ("times", "over"),
    [
        ((1, 1, 1, 1, 1), 5),
        ((1, 1.1, 0.95, 1.1, 0.97), 5),  # up and down
        ((1, 1, 1, 1.12, 1), 5),  # one was slow by chance
        ((3, 1.2, 1, 1, 1), 5),  # the second step as well
        ((3, 1.6, 1.5, 1.4, 1.3, 1.2, 1.1, 1.0, 1.0, 1.0), 10),
        ((3, 1.7, 1.6, 1.45, 1.3, 1.34, 1.15, 1.1, 1.0, 1.0, 1.0), 11),  # one goes up meanwhile
        ((9, 9, 1, 1, 1), 5),  # the second step compiled, too
    ],
)
def test_a_warm_up_is_over_where_blocks_no_longer_fall_by_more_than_they_rise(times, over):
    assert over_after(lambda k: times[min(k, len(times) - 1)]) == over


def going_on(noise, slow=lambda k: 0.0, n=300):
    """Share of warm-ups that are not over with their first full block; each has its own chance."""
    shares = []
    for seed in range(n):
        chance = Random(seed)
        after = over_after(
            lambda k, chance=chance: (1 + slow(k)) * math.exp(chance.gauss(0, noise))
        )
        shares.append(after > len(FIRST) + 1)
    return sum(shares) / n


@pytest.mark.parametrize(("noise", "most"), [(0.03, 0.12), (0.1, 0.25), (0.2, 0.26)])
def test_blocks_that_differ_by_chance_seldom_prolong_a_warm_up(noise, most):
    assert going_on(noise) < most


@pytest.mark.parametrize(("noise", "least"), [(0.0, 1.0), (0.03, 0.98), (0.1, 0.8), (0.2, 0.5)])
def test_a_slow_start_prolongs_it_through_as_much_noise(noise, least):
    # Twice as long at first, and 5 % longer after ten blocks.
    assert going_on(noise, lambda k: math.exp((1 - k) / 3)) >= least
