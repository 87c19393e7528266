"""How many steps a warm-up's blocks have."""

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
