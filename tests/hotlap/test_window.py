"""The window's number is the true rate: checked on a loader and a step whose cost is constructed.

Time is virtual, so nothing here depends on this machine's speed.
"""

from dataclasses import replace

import pytest
from virtual import BATCH, ENDLESS, Loader, ScriptFeed, World, measure, ready, right, truth

from hotlap.errors import Diverged, InvalidTrial
from hotlap.job import Window

SHORT = Window(min_s=2, max_s=2, precision=0.14, patience_s=8)


@pytest.mark.parametrize("slower", [1.02, 1.1, 1.3, 2.0])
def test_a_queue_that_still_runs_low_is_seen(slower):
    # The loader is a little slower than the model: a full queue of 16 hides that for a long time.
    world = World(0.1, 20.0)
    loader = Loader(world, 0.2 * slower, workers=2, prefetch=8)
    found = measure(world, loader, n_epoch_steps=ENDLESS)
    assert found.samples_per_s == right(BATCH / (0.1 * slower))


def test_prefetch_2_and_16_come_out_equal_when_the_loader_binds():
    rates = []
    for prefetch in (2, 16):
        world = World(0.005, 1.0)
        found = measure(world, Loader(world, 0.1, 1, prefetch), n_epoch_steps=ENDLESS)
        rates.append(found.samples_per_s)
    assert rates[0] == pytest.approx(rates[1], rel=0.01)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("n_epoch", [5, 40, 300])
@pytest.mark.parametrize("start_s", [0.0, 0.5])
@pytest.mark.parametrize("batch_s", [0.01, 0.3])
def test_epoch_starts_are_counted_at_any_length(workers, n_epoch, start_s, batch_s):
    def make():
        world = World(0.1)
        return world, Loader(world, batch_s, workers, 2, n_epoch, start_s)

    world, loader = make()
    found = measure(world, loader, n_epoch_steps=n_epoch)
    assert found.samples_per_s == right(truth(make))


def test_an_epoch_of_unknown_length_is_learned():
    world = World(0.1)
    found = measure(world, Loader(world, 0.01, n=3, start_s=0.3), n_epoch_steps=None)
    assert found.n_epoch_steps == 3
    assert found.samples_per_s == right(3 * BATCH / (0.3 + 3 * 0.11))


def test_blocks_are_whole_multiples_of_the_workers():
    world = World(0.07)
    found = measure(world, Loader(world, 0.01, workers=3), n_epoch_steps=ENDLESS)
    assert {block.steps % 3 for block in found.blocks} == {0}


def test_compilation_is_told_apart():
    world = World(0.05, first_step_s=30.0)
    found = measure(world, Loader(world, 0.001), n_epoch_steps=ENDLESS)
    assert found.compile_s == pytest.approx(29.95, rel=0.01)
    assert found.settled
    assert found.samples_per_s == pytest.approx(BATCH / 0.051, rel=0.01)


def test_compilation_is_known_before_the_window():
    world = World(0.05, first_step_s=30.0)
    found = measure(world, Loader(world, 0.001), n_epoch_steps=ENDLESS, until="warm")
    assert not found.blocks
    assert found.compile_s == pytest.approx(29.95, rel=0.01)


def test_warm_up_ends_at_its_cap_and_says_so():
    class NeverSteady(World):
        def step(self, batch):
            self.n_steps += 1
            self.now += 10.0 * 0.9**self.n_steps
            return 1.0

    world = NeverSteady()
    found = measure(world, Loader(world, 0.0), n_epoch_steps=ENDLESS)
    assert not found.settled


def test_a_block_that_is_slow_by_chance_does_not_prolong_the_warm_up():
    # Blocks of 1, 1, 4, 16 and 38 steps; the fourth one is an eighth slower than all others.
    class Uneven(World):
        def step(self, batch):
            self.now += 0.0135 if 6 <= self.n_steps < 22 else 0.012
            self.n_steps += 1
            return 1.0

    world = Uneven()
    found = measure(world, Loader(world, 0.0), n_epoch_steps=ENDLESS, until="warm")
    assert [block.steps for block in found.warmup] == [1, 1, 4, 16, 38]


def test_without_a_warm_up_the_first_step_is_left_out_all_the_same():
    world = World(0.1, first_step_s=3.0)
    found = measure(world, Loader(world, 0.0), Window(max_warmup_s=0.0), n_epoch_steps=ENDLESS)
    assert len(found.warmup) == 1 and found.samples_per_s == right(BATCH / 0.1)


@pytest.mark.parametrize("max_warmup_s", [0.0, 0.01])
@pytest.mark.parametrize("behind", [0.5, 3.0])
def test_without_a_warm_up_blocks_are_whole_multiples_of_the_workers(max_warmup_s, behind):
    world = World(0.1, first_step_s=20.0)
    loader = Loader(world, behind * 8 * 0.1, workers=8, prefetch=2)
    found = measure(world, loader, Window(max_warmup_s=max_warmup_s), ENDLESS)
    assert {block.steps % 8 for block in found.blocks} == {0}
    # What the queue held at first is in the window, and the warm-up that was forbidden is missed.
    assert found.samples_per_s == pytest.approx(BATCH / (0.1 * max(1.0, behind)), rel=0.1)


def test_a_quiet_window_ends_early_and_a_noisy_one_at_its_limit():
    class Noisy(World):
        def step(self, batch):
            self.n_steps += 1
            self.now += 0.5 if self.n_steps % 3 else 0.1
            return 1.0

    quiet, noisy = World(0.1), Noisy()
    window = Window(min_s=2, max_s=8, block_s=0.5)
    short = measure(quiet, Loader(quiet, 0.0), window, ENDLESS)
    long = measure(noisy, Loader(noisy, 0.0), window, ENDLESS)
    assert sum(b.seconds for b in short.blocks) < 3
    assert sum(b.seconds for b in long.blocks) >= 8


def test_a_machine_that_suddenly_slows_down_does_not_make_a_block_of_minutes():
    class Slowing(World):
        def step(self, batch):
            self.n_steps += 1
            self.now += 0.001 if self.n_steps < 300 else 0.1
            return 1.0

    world = Slowing()
    found = measure(world, Loader(world, 0.0), Window(block_s=0.5), n_epoch_steps=ENDLESS)
    assert max(b.seconds for b in (*found.warmup, *found.blocks)) <= 2.2


def test_waiting_for_data_is_its_share_of_the_window():
    world = World(0.1)
    found = measure(world, Loader(world, 0.3), n_epoch_steps=ENDLESS)
    assert found.data_wait_share == pytest.approx(0.75, rel=0.01)


def test_a_loss_that_is_not_finite_ends_the_trial():
    world = World()
    world.step = lambda batch: float("nan")
    with pytest.raises(Diverged, match="loss became nan"):
        measure(world, Loader(world, 0.01))


def test_a_loader_without_a_batch_is_said():
    world = World()
    with pytest.raises(InvalidTrial, match="fewer samples than batch_size"):
        measure(world, Loader(world, 0.01, n=0))


def test_a_short_window_goes_on_while_the_queue_is_on_its_way():
    # 64 batches are ready after a slow first step, and a loader that is slower than the model.
    for patience_s in (2, 8):
        world = World(0.1, 20.0)
        loader = Loader(world, 0.8 * 1.25, workers=8, prefetch=8)
        window = replace(SHORT, patience_s=patience_s)
        found = measure(world, loader, window, ENDLESS, feed_of=ScriptFeed)
        seconds = sum(block.seconds for block in found.blocks)
        assert (seconds > 4) == (patience_s > 2)
        assert (found.samples_per_s == right(BATCH / 0.125)) == (patience_s > 2)


@pytest.mark.parametrize("looks", [ready, lambda iterator: None])
@pytest.mark.parametrize("behind", [0.5, 1.1, 1.5, 4.0])
@pytest.mark.parametrize("workers", [1, 4])
def test_a_queue_from_a_slow_first_step_is_thrown_away_and_not_waited_for(looks, behind, workers):
    # It has no size on some systems, and other libraries' loaders tell none.
    world = World(2.0, 60.0)
    loader = Loader(world, behind * workers * 2.0, workers, 8)
    found = measure(world, loader, SHORT, ENDLESS, looks=looks)
    assert found.samples_per_s == right(BATCH / (2.0 * max(1.0, behind)))
    # The first step, 15 s of warm-up, a batch that is waited for, a window of 8 s or three blocks.
    block_s = workers * 2.0 * max(1.0, behind)
    assert world.now < 60.0 + 15.0 + 8.0 + (1 + 1 + 1 + 3) * max(block_s, loader.batch_s)


def test_a_short_window_times_whole_epochs_as_a_long_one_does():
    for window in (Window(min_s=2, max_s=2, patience_s=8), Window(min_s=8, max_s=8)):
        world = World(0.1)
        found = measure(world, Loader(world, 0.01, n=20, start_s=0.5), window, n_epoch_steps=20)
        assert found.epochs_in_blocks


@pytest.mark.parametrize(("workers", "prefetch"), [(0, 2), (8, 2), (16, 2), (16, 4)])
def test_borders_that_cut_nearly_every_block_are_timed_with_them(workers, prefetch):
    # Three epochs are a little longer than the window, and a block is most of one.
    window = Window(min_s=2, max_s=2, precision=0.14, max_warmup_s=6)

    def make():
        world = World(0.005 if workers else 0.001)
        loader = Loader(world, 0.011 * max(1, workers), workers, prefetch, 64, 0.01, True)
        return world, loader

    world, loader = make()
    found = measure(world, loader, window, n_epoch_steps=64)
    assert found.epochs_in_blocks and found.samples_per_s == right(truth(make))
    window_s = world.now - found.warmup_s
    assert sum(block.seconds for block in found.blocks) > 0.6 * window_s


@pytest.mark.parametrize("workers", [0, 2])
def test_whole_epochs_begin_where_the_warm_up_ends_from_the_second_one_on(workers):
    def make():
        world = World(0.1, 20.0)
        return world, Loader(world, 0.07, workers, 2, 7, start_s=0.4)

    world, loader = make()
    found = measure(world, loader, n_epoch_steps=7)
    assert found.epochs_in_blocks and found.samples_per_s == right(truth(make))
    last, first = found.warmup[-1], found.blocks[0]
    assert last.at_step % 7 and first.at_step - first.steps == max(7, last.at_step)


def test_borders_that_cost_nothing_leave_blocks_as_short_as_they_are():
    # A full queue of 16, an epoch of 20 steps: after a border nothing has to fill anew.
    world = World(0.3)
    loader = Loader(world, 0.002, 2, 8, 20, 0.0, persistent=True)
    window = Window(min_s=2, max_s=2, precision=0.14, patience_s=8)
    found = measure(world, loader, window, n_epoch_steps=20)
    assert not found.epochs_in_blocks and found.samples_per_s == right(BATCH / 0.3)
    assert world.now - found.warmup_s < 6


def test_a_script_that_ends_before_its_first_whole_epoch_still_has_its_epochs_starts():
    def make():
        world = World(0.02)
        return world, Loader(world, 0.001, 2, 2, 64, 2.0)

    world, loader = make()
    window = Window(min_s=8, max_s=8)
    found = measure(world, loader, window, 64, feed_of=ScriptFeed, ends_at=120)
    assert not found.epochs_in_blocks and found.samples_per_s == right(truth(make))


def test_no_epoch_is_timed_whole_in_which_nothing_would_be_heard_for_long():
    world = World(0.9)
    loader = Loader(world, 16 * 0.95, 16, 2, 50, 1.0, persistent=True)
    window = Window(min_s=60, max_s=60, precision=0.14)
    found = measure(world, loader, window, n_epoch_steps=50)
    assert max(block.seconds for block in found.blocks) < window.silence_s / 2


@pytest.mark.parametrize(
    ("workers", "prefetch", "step_s", "behind"),
    [
        (1, 2, 0.9, 0.05),
        (1, 2, 0.9, 0.99),
        (2, 2, 0.4, 0.9),  # one worker works, whenever one looks
        (4, 2, 0.2, 0.7),
        (1, 8, 0.1, 2.0),
        (1, 2, 0.2, 5.0),
        (2, 2, 0.3, 1.6),
        (4, 2, 0.1, 2.0),
    ],
)
def test_a_queue_plainly_full_or_empty_is_not_waited_for(workers, prefetch, step_s, behind):
    world = World(step_s, 20.0)
    loader = Loader(world, behind * workers * step_s, workers, prefetch)
    found = measure(world, loader, SHORT, ENDLESS)
    assert sum(block.seconds for block in found.blocks[:-1]) < 2 or len(found.blocks) == 3
    assert found.samples_per_s == right(BATCH / (step_s * max(1.0, behind)))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_script_s_queue_that_is_neither_is_waited_for_however_slow_a_step_is(workers):
    # The loader is a tenth slower than the model, and four or eight batches hide it.
    world = World(0.9, 20.0)
    loader = Loader(world, 1.1 * workers * 0.9, workers, 4)
    found = measure(world, loader, SHORT, ENDLESS, feed_of=ScriptFeed)
    assert sum(block.seconds for block in found.blocks) >= 8
