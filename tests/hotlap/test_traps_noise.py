"""Traps (see naive.py): somebody else on the machine."""

from naive import Steps, plain
from virtual import BATCH, ENDLESS, Loader, World, measure, right, wrong

from hotlap.job import Window
from hotlap.measurement import steady_rate


def test_a_neighbour_for_a_while():
    # Steps take three times as long for 0.8 of the window's seconds.
    def step_s(i):
        return 0.3 if 20 <= i < 23 else 0.1

    world = Steps(step_s)
    assert wrong(plain(world, Loader(world, 0.0), 10, 45), BATCH / 0.1)

    world = Steps(step_s)
    found = measure(world, Loader(world, 0.0), n_epoch_steps=ENDLESS)
    assert max(block.seconds / block.steps for block in found.blocks) > 0.11
    assert found.samples_per_s == right(BATCH / 0.1)


def test_two_modes_of_the_machine():
    # A neighbour comes after a third of the window and stays: one number stands for neither mode,
    # the blocks say which of them is whose.
    class Shared(World):
        def step(self, batch):
            self.busy = self.n_steps >= 60
            self.now += 0.2 if self.busy else 0.1
            self.n_steps += 1
            return 1.0

    world = Shared()
    found = measure(
        world,
        Loader(world, 0.0),
        Window(min_s=16, max_s=16),
        ENDLESS,
        other_cpu_share=lambda: 0.5 if world.busy else 0.0,
    )
    quiet = [block for block in found.blocks if block.other_cpu_share == 0]
    busy = [block for block in found.blocks if block.other_cpu_share == 0.5]
    seconds = sum(block.seconds for block in found.blocks)
    naive = sum(block.samples for block in found.blocks) / seconds
    assert wrong(naive, BATCH / 0.1) and wrong(naive, BATCH / 0.2)
    assert steady_rate(quiet).value == right(BATCH / 0.1)
    assert steady_rate(busy).value == right(BATCH / 0.2)
