"""Traps (see naive.py): first steps that cost more than all later ones."""

import pytest
from naive import Steps, plain
from virtual import BATCH, ENDLESS, Loader, World, measure, right, wrong


def test_compilation_in_the_first_step():
    world = World(0.05, first_step_s=30.0)
    assert wrong(plain(world, Loader(world, 0.001), 0, 100), BATCH / 0.051)

    world = World(0.05, first_step_s=30.0)
    found = measure(world, Loader(world, 0.001), n_epoch_steps=ENDLESS)
    assert found.samples_per_s == right(BATCH / 0.051)
    assert found.compile_s == pytest.approx(29.95, rel=0.01)


@pytest.mark.parametrize(
    "step_s",
    [
        lambda i: 0.05 + 0.3 * 0.9**i,  # an allocator and caches that still grow
        lambda i: 0.05 + 0.3 * 0.9**i + 0.2 * (i == 12),  # and a step that stalls meanwhile
        lambda i: 1.0 if i in (0, 7, 14, 21) else 0.05,  # kernels chosen for a new shape
    ],
)
def test_a_warm_up_of_a_fixed_count(step_s):
    world = Steps(step_s)
    assert wrong(plain(world, Loader(world, 0.0), 5, 20), BATCH / 0.05)

    world = Steps(step_s)
    found = measure(world, Loader(world, 0.0), n_epoch_steps=ENDLESS)
    assert found.samples_per_s == right(BATCH / 0.05)
