"""Units of a script whose library fetches one batch ahead: each has one batch, and its time."""

from tests.hotlap.training.virtual_script import BATCH, UNIT, Loader


def epoch(script, n_batches):
    """The next batch is asked for before the last one is handed on."""
    script.begins(script.training)
    script.takes(script.training)
    for _ in range(n_batches - 1):
        script.takes(script.training)
        script.forward()
        script.step()
    script.ends(script.training)
    script.forward()
    script.step()
    script.does(40)


def test_batches_fetched_ahead(script):
    """accelerate asks for the next batch before it hands on the last one."""
    for _ in range(2):
        epoch(script, 5)
    script.begins(script.training)
    script.takes(script.training)
    script.takes(script.training)
    # The last one of an epoch is trained on behind the pass's end, and is told when it is known
    # that the next epoch's first batch is not the only one that was fetched.
    assert script.seconds == [UNIT] * 10
    assert [n for n, _ in script.finished] == [BATCH] * 10
    assert script.units.taken.n_epochs == 2  # the first one began before the first unit


def test_batches_fetched_ahead_and_an_evaluation_on_the_same_loader(script):
    def one(trains):
        script.begins(script.training)
        script.takes(script.training)
        for _ in range(4):
            script.takes(script.training)
            work(trains)
        script.ends(script.training)
        work(trains)

    def work(trains):
        script.forward(trains)
        if trains:
            script.step()

    for trains in (True, False, True):
        one(trains)
    assert [n for n, _ in script.finished[:4]] == [BATCH] * 4
    assert all(n for n, _ in script.finished)


def test_batches_fetched_ahead_of_a_batch_size_that_grows(script):
    for n in (1, 2):
        script.training = Loader(3, n * BATCH)
        epoch(script, 3)
    assert all(n for n, _ in script.finished)
