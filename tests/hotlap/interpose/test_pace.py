"""Steps with each batch: told where that is known, and nothing is said of what is fetched ahead."""

import threading

import pytest

from hotlap.interpose.pace import Pace


def pace(*batches_before):
    """After steps before which so many batches came."""
    found = Pace()
    for n in batches_before:
        for _ in range(n):
            found.gives()
        found.steps()
    return found.steps_per_batch


@pytest.mark.parametrize(
    ("batches", "steps_per_batch"),
    [
        ([1, 1, 1, 1], 1),
        ([4, 4, 4, 4], 1 / 4),  # accumulation
        ([1, 0, 1, 0, 1, 0], 2),  # a GAN
        ([5, 1, 1, 1], 1),  # a queue that is filled before the first step
        ([2, 1, 1, 0, 2, 1], None),  # accelerate: one ahead, in each epoch anew
        ([8, 0, 0, 0], None),  # a list of batches
        ([8, *[0] * 7, 8, *[0] * 7, 8], None),  # a store that is filled again and again
        ([1], None),
        ([], None),
    ],
)
def test_what_came_before_the_first_step_says_nothing(batches, steps_per_batch):
    assert pace(*batches) == steps_per_batch


def test_of_batches_that_another_thread_fetches_nothing_is_said():
    found = Pace()
    for n in (5, 1, 1, 2, 1):
        fetches = threading.Thread(target=lambda n=n: [found.gives() for _ in range(n)])
        fetches.start()
        fetches.join()
        found.steps()
    assert found.steps_per_batch is None
