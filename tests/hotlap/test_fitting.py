"""Whole blocks fill the room between two borders, and hardly a step is left out there."""

import math

import pytest
from virtual import Loader, ScriptFeed, World, measure, right, truth

from hotlap.fitting import fitting
from hotlap.job import Window


def blocks(n_steps, unit, room):
    found = []
    while steps := fitting(n_steps, unit, room - sum(found)):
        found.append(steps)
    return found


@pytest.mark.parametrize(
    ("n_steps", "unit", "room", "expected"),
    [
        (28, 1, 56, [28, 28]),
        (28, 1, 55, [28, 27]),
        (28, 1, 62, [31, 31]),
        (28, 1, 41, [41]),
        (28, 1, 43, [22, 21]),
        (28, 1, 14, [14]),
        (28, 1, 13, []),
        (24, 8, 71, [24, 16, 24]),
        (16, 16, 47, [16, 16]),
        (16, 16, 15, []),
        (16, 16, -3, []),
    ],
)
def test_blocks_are_a_little_longer_or_shorter_where_they_fill_the_room(
    n_steps, unit, room, expected
):
    assert blocks(n_steps, unit, room) == expected


def test_a_border_that_nobody_knows_of_changes_no_block():
    assert fitting(24, 8, math.inf) == 24


@pytest.mark.parametrize("unit", [1, 2, 8])
@pytest.mark.parametrize("n_units", [1, 2, 3, 10])
def test_less_than_a_round_of_workers_is_left_out_of_any_room_for_half_a_block(unit, n_units):
    n_steps = unit * n_units
    for room in range(n_steps // 2 + unit, 8 * n_steps):
        found = blocks(n_steps, unit, room)
        assert room - unit < sum(found) <= room
        assert {steps % unit for steps in found} == {0}
        assert n_steps / 2 <= min(found) <= max(found) <= 1.5 * n_steps


@pytest.mark.parametrize(
    ("workers", "step_s", "batch_s", "n_epoch"),
    [(0, 0.008, 0.009, 64), (1, 0.017, 0.004, 64), (2, 0.017, 0.02, 72), (1, 0.004, 0.017, 64)],
)
def test_most_of_a_window_is_timed_where_two_blocks_fit_into_an_epoch(
    workers, step_s, batch_s, n_epoch
):
    # Steps of 17 ms, so a block has 30: the second or third one was cut by each border.
    def make():
        world = World(step_s)
        return world, Loader(world, batch_s, workers, 2, n_epoch, 0.01, persistent=True)

    world, loader = make()
    window = Window(min_s=2, max_s=2, precision=0.14, patience_s=2)
    found = measure(world, loader, window, n_epoch, feed_of=ScriptFeed)
    assert not found.epochs_in_blocks and found.samples_per_s == right(truth(make))
    assert sum(block.seconds for block in found.blocks) > 0.8 * (world.now - found.warmup_s)
