"""When a window is over, and when the loader's queue is at rest."""

import itertools

import pytest

from hotlap.block import Block
from hotlap.job import Window
from hotlap.window_end import is_over, rests


def blocks(*looks, steps=4, wait=0.0, seconds=1.0):
    at = itertools.count(100, steps)
    return [
        Block(steps, steps, seconds, wait * seconds, n_ready=ready, at_step=next(at))
        for ready in looks
    ]


def at_rest(found, workers, prefetched, before=None, precision=0.14):
    return rests(found, before, n_workers=workers, n_prefetched=prefetched, precision=precision)


@pytest.mark.parametrize(
    ("looks", "workers", "prefetched", "rest"),
    [
        ((None, None, None), 1, 2, True),  # a system whose queues have no size
        ((2, 2, 2), 1, 2, True),
        ((1, 2, 2), 1, 2, True),  # a batch was on its way
        ((2, 2, None), 1, 2, True),  # towards an epoch's end
        ((2, 2, 1), 1, 2, False),
        ((1, 1, 1), 1, 2, False),  # the worker was never idle
        ((1, 1, 2), 1, 2, False),  # nor at most looks: one step may have stalled
        ((5, 5, 5), 4, 8, True),  # one of the four was idle
        ((4, 4, 4), 4, 8, False),
        ((16, 12, 10), 2, 16, False),  # on its way down
        ((16, 16, 15), 2, 16, True),
        ((0, 0, 0), 1, 2, False),  # empty, and nobody waits
    ],
)
def test_a_full_queue_is_at_rest_where_a_worker_was_idle(looks, workers, prefetched, rest):
    assert at_rest(blocks(*looks), workers, prefetched) is rest


@pytest.mark.parametrize(
    ("before", "looks", "rest"),
    [
        (0, (0, 0, 0), True),
        (0, (1, 0, 0), True),
        (None, (1, 0, 0), False),  # one batch of eight was none that is made meanwhile
        (1, (0, 0, 0), False),
        (None, (0, 0, 0), True),
        (3, (3, 3, 3), False),  # more than one burst
    ],
)
def test_an_empty_queue_is_at_rest_where_each_block_waits_for_what_is_made(before, looks, rest):
    warm, *window = blocks(before, *looks, wait=0.3)
    assert at_rest(window, 2, 8, warm) is rest
    window[1] = blocks(0, wait=0.0)[0]
    assert not at_rest(window, 2, 8, warm)


def test_what_an_epochs_border_parts_from_the_window_tells_nothing_of_its_queue():
    warm, _, *window = blocks(1, None, 0, 0, 0, wait=0.3)
    assert at_rest(window, 2, 8, warm)


def test_a_queue_in_between_is_at_rest_if_many_steps_change_nothing():
    assert not at_rest(blocks(4, 4, 4, steps=16), 1, 8)
    assert at_rest(blocks(4, 4, 4, steps=17), 1, 8)
    assert not at_rest(blocks(7, 5, 4, steps=17), 1, 8)
    assert not at_rest(blocks(40, 40, 40, steps=17), 12, 96)  # not four for each worker


@pytest.mark.parametrize(
    ("seconds", "settled", "rest", "over"),
    [
        ((0.6, 0.6, 0.6), True, True, False),  # shorter than 2 s
        ((1.0, 1.0, 1.0), True, True, True),
        ((1.0, 1.0, 1.0), True, False, False),
        ((1.0, 1.0, 1.0), False, True, False),
        ((1.0, 2.0, 1.0), True, True, False),  # not precise
        ((1.0, 2.0, 2.0), False, True, True),  # as long as it may be
        ((1.0, 2.0, 2.0), True, False, False),
        ((2.0, 3.0, 4.0), True, False, True),  # as long as is waited for the queue
        ((4.0, 5.0), True, True, False),  # two blocks
    ],
)
def test_a_window_is_over_when_it_is_precise_or_long_and_its_queue_rests(
    seconds, settled, rest, over
):
    window = Window(min_s=2.0, max_s=5.0, precision=0.1, patience_s=9.0)
    found = [blocks(0, seconds=s)[0] for s in seconds]
    assert is_over(window, found, sum(seconds), settled, lambda: rest) is over
