"""The projected time is the whole run's: checked against a run whose every cost is constructed."""

import pytest
from virtual import BATCH, Loader, ScriptFeed, World, measure

from hotlap.feed import Feed
from objectives import RunTime


def whole_run_s(make, n_epochs):
    """Seconds of plain training from the first epoch's start to the last step."""
    world, loader = make()
    for _ in range(n_epochs):
        for batch in loader:
            world.step(batch)
    return world.now


@pytest.mark.parametrize("epochs", [1, 3, 30])
@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, False), (2, True)])
@pytest.mark.parametrize("n_epoch", [5, 60, 300])
@pytest.mark.parametrize("start_s", [0.0, 4.0])
@pytest.mark.parametrize("batch_s", [0.01, 0.3])
@pytest.mark.parametrize("first_step_s", [0.1, 40.0])
@pytest.mark.parametrize("feed_of", [Feed, ScriptFeed])
def test_the_projection_is_the_time_of_the_whole_run(
    epochs, workers, persistent, n_epoch, start_s, batch_s, first_step_s, feed_of
):
    def make():
        world = World(0.1, first_step_s)
        return world, Loader(world, batch_s, workers, 2, n_epoch, start_s, persistent)

    world, loader = make()
    measured = measure(world, loader, n_epoch_steps=n_epoch, feed_of=feed_of)
    found = RunTime(epochs).value(measured)
    # Where whole epochs are timed, what the first start costs more is known to an epoch's waiting.
    waiting_s = measured.data_wait_share * n_epoch * measured.step_time_s
    known_to_s = waiting_s if measured.epochs_in_blocks else 0.0
    truth = whole_run_s(make, epochs)
    assert found == pytest.approx(truth, abs=0.03 * truth + known_to_s)


def test_a_study_on_part_of_the_data_projects_the_run_on_all_of_it():
    def make(n_epoch):
        world = World(0.1, 10.0)
        return world, Loader(world, 0.01, 2, 2, n_epoch, start_s=4.0)

    measured = measure(*make(300), n_epoch_steps=300)
    found = RunTime(3, n_samples=2000 * BATCH).value(measured)
    assert found == pytest.approx(whole_run_s(lambda: make(2000), 3), rel=0.03)
