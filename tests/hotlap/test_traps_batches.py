"""Traps (see naive.py): a step is not a batch, nor a batch a fixed size."""

import pytest
from naive import plain
from virtual import BATCH, Loader, World, measure, right, wrong


def test_batches_of_different_sizes():
    # Every other batch is half empty; a step costs 10 ms a sample.
    def size(batch):
        return 8 if batch % 2 else 4

    def make():
        world = World()

        def step(batch):
            world.now += 0.01 * size(batch)
            world.n_steps += 1

        world.step = step
        return world

    world = make()
    steps_per_s = plain(world, Loader(world, 0.0), 5, 40) / BATCH
    assert wrong(8 * steps_per_s, 100)

    world = make()
    assert measure(world, Loader(world, 0.0), count=size).samples_per_s == right(100)


def test_the_model_alone_on_batches_that_differ():
    torch = pytest.importorskip("torch")
    sizes = [20, 10, 10, 40, 10, 30, 10, 10]

    def make():
        world = World()

        def step(batch):
            world.now += 0.001 * len(batch) ** 2
            world.n_steps += 1

        world.step = step
        loader = Loader(world, 0.0)
        loader.__class__ = Shapes
        return world, loader

    class Shapes(Loader):
        def __iter__(self):
            return (torch.zeros(sizes[i % 8]) for i in range(self.n))

    exact = sum(sizes) / sum(0.001 * n**2 for n in sizes)
    assert wrong(sizes[0] / (0.001 * sizes[0] ** 2), exact)  # the first batch stands for all
    each_once = sorted(set(sizes))
    assert wrong(sum(each_once) / sum(0.001 * n**2 for n in each_once), exact)  # each shape once

    found = measure(*make(), side="compute", count=len)
    assert found.samples_per_s == right(exact)
    assert {block.steps % 8 for block in found.blocks} == {0}
