"""Traps (see naive.py): what is measured while a device runs beside the host."""

import pytest
from naive import plain
from virtual import BATCH, Loader, World, measure, right, truth, wrong

from hotlap.job import Window


class Stalls:
    """Waits as the device sees them: it passes what is queued before and after each of them."""

    def __init__(self, device):
        self.device, self.total_s, self.passed = device, 0.0, []

    def begin(self):
        self.start = max(self.device.now, self.device.idle_at)

    def end(self):
        self.passed.append((self.start, max(self.device.now, self.device.idle_at)))

    def seconds(self):
        while self.passed and self.passed[0][1] <= self.device.now:
            start, end = self.passed.pop(0)
            self.total_s += end - start
        return self.total_s


class Device(World):
    """A step takes `host_s` to be queued and `step_s` on the device, beside the host.

    Its ten kernels are queued one after another, and each runs as soon as it can. The host is ahead
    by `n_ahead` steps, by none where the copy of a batch waits for the kernels before it.
    """

    def __init__(self, step_s, host_s, n_ahead=50):
        super().__init__(step_s)
        self.n_ahead = n_ahead
        self.host_s = host_s
        self.idle_at = 0.0
        self.stalls = Stalls(self)

    def step(self, batch):
        self.now = max(self.now, self.idle_at - self.n_ahead * self.step_s)
        for _ in range(10):
            self.now += self.host_s / 10
            self.idle_at = max(self.idle_at, self.now) + self.step_s / 10
        self.n_steps += 1
        return 1.0

    def synchronize(self):
        self.now = max(self.now, self.idle_at)

    def mark(self, loss):
        idle_at = self.idle_at

        def wait():
            self.now = max(self.now, idle_at)
            return loss

        return wait


def test_a_clock_read_without_a_synchronize():
    world = Device(step_s=0.1, host_s=0.001)
    assert wrong(plain(world, Loader(world, 0.0), 3, 20), BATCH / 0.1)

    world = Device(step_s=0.1, host_s=0.001)
    assert measure(world, Loader(world, 0.0)).samples_per_s == right(BATCH / 0.1)


def test_a_synchronize_at_each_step():
    world = Device(step_s=0.1, host_s=0.05)
    assert wrong(plain(world, Loader(world, 0.0), 3, 20, world.synchronize), BATCH / 0.1)

    world = Device(step_s=0.1, host_s=0.05)
    assert measure(world, Loader(world, 0.0)).samples_per_s == right(BATCH / 0.1)


@pytest.mark.parametrize(
    ("batch_s", "host_s", "step_s"),
    [(0.08, 0.005, 0.1), (0.3, 0.005, 0.1), (0.0, 0.08, 0.1), (0.0, 0.2, 0.1), (0.05, 0.04, 0.1)],
)
def test_a_device_that_runs_dry_at_each_block(batch_s, host_s, step_s):
    # Batches are loaded in the training's own process, beside the device's work.
    true = BATCH / max(batch_s + host_s, step_s)
    window = Window(block_s=0.25)
    world = Device(step_s, host_s)
    drained = measure(world, Loader(world, batch_s), window, in_flight=False)
    assert wrong(drained.samples_per_s, true) == (batch_s > 0)

    world = Device(step_s, host_s)
    assert measure(world, Loader(world, batch_s), window).samples_per_s == right(true)


@pytest.mark.parametrize("step_s", [0.02, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.6, 0.75, 0.9, 1.2])
def test_a_short_window_begins_when_the_host_is_ahead(step_s, share):
    """A host that takes 0.75 of a step's time gets ahead within three steps."""
    world = Device(step_s, share * step_s)
    window = Window(max_s=2.0, precision=0.14, patience_s=8.0)
    found = measure(world, Loader(world, 0.0), window)
    assert found.samples_per_s == right(BATCH / (max(1.0, share) * step_s))


@pytest.mark.parametrize("n_ahead", [0, 50])
def test_a_wait_of_a_host_that_is_ahead_is_no_wait_for_data(n_ahead):
    # One worker makes a batch in 57 ms, and the device takes 100 ms for a step.
    world = Device(0.1, 0.001, n_ahead)
    found = measure(world, Loader(world, 0.057, workers=1))
    host = sum(block.data_wait_s for block in found.blocks) / sum(b.seconds for b in found.blocks)
    assert (host > 0.25) == (n_ahead > 0)
    assert found.data_wait_share < 0.01


@pytest.mark.parametrize(("workers", "n_ahead"), [(0, 0), (0, 50), (1, 0), (1, 50)])
@pytest.mark.parametrize("batch_s", [0.15, 0.4])
def test_waiting_for_data_is_how_long_the_device_stands_still(workers, n_ahead, batch_s):
    world = Device(0.1, 0.001, n_ahead)
    found = measure(world, Loader(world, batch_s, workers))
    assert found.data_wait_share == pytest.approx(1 - 0.1 / batch_s, abs=0.02)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_first_border_is_looked_for_once_where_the_device_waits_for_batches(workers):
    world = Device(0.1, 0.005)
    found = measure(world, Loader(world, 0.3, workers))
    first = found.blocks[0]
    assert first.at_step - first.steps - found.warmup[-1].at_step == 1


def test_a_first_border_of_long_steps_is_looked_for_some_seconds_at_the_most():
    world = Device(3.0, 2.9)
    found = measure(world, Loader(world, 0.0), Window(max_s=20.0))
    first = found.blocks[0]
    assert first.at_step - first.steps - found.warmup[-1].at_step <= 3


@pytest.mark.parametrize("n_epoch", [5, 40, 130])
@pytest.mark.parametrize("workers", [0, 2])
def test_epochs_are_counted_with_a_device_in_flight(n_epoch, workers):
    def make():
        world = Device(step_s=0.1, host_s=0.02, n_ahead=0)
        return world, Loader(world, 0.06, workers, 2, n_epoch, start_s=0.5)

    assert measure(*make(), n_epoch_steps=n_epoch).samples_per_s == right(truth(make))


@pytest.mark.parametrize(("host_s", "n_ahead"), [(0.02, 0), (0.02, 50), (0.45, 50)])
@pytest.mark.parametrize(("workers", "behind"), [(1, 0.3), (1, 0.6), (2, 0.45), (2, 0.6)])
def test_a_full_queue_is_seen_although_a_batch_is_taken_before_the_look(
    workers, behind, host_s, n_ahead
):
    world = Device(0.4, host_s, n_ahead)
    step_s = max(0.4, host_s)
    window = Window(max_s=2.0, precision=0.14, patience_s=8.0)
    found = measure(world, Loader(world, behind * workers * step_s, workers), window)
    assert sum(block.seconds for block in found.blocks) < 4
    assert found.samples_per_s == right(BATCH / step_s)
