"""Units on a virtual clock: whatever a script does besides, training time is what training took."""

import math
from types import SimpleNamespace

from hotlap.training.first_optimizer import MOVED_ON
from tests.hotlap.training.virtual_script import ASK, BATCH, FORWARD, STEP, UNIT, Loader, Optimizer


def test_a_plain_loop(script):
    for _ in range(3):
        script.train_pass()
    assert script.begun == (script.training, 100.0)
    assert script.seconds == [UNIT] * 15
    assert [n for n, _ in script.finished] == [BATCH] * 15
    assert script.units.taken.wait_s == 15 * ASK
    assert script.units.taken.n_epochs == 3
    assert script.units.taken.n_epoch_steps == 5


def test_the_start_of_workers_is_the_first_batchs_wait(script):
    for _ in range(2):
        script.begins(script.training, 20)
        for _ in range(2):
            script.train()
        script.ends(script.training)
    assert script.seconds == [UNIT + 20, UNIT, UNIT + 20, UNIT]
    assert script.units.taken.wait_s == 4 * ASK + 40


def test_who_watches_the_device_is_told_of_the_waits_for_batches_that_train(script):
    told = []
    script.begins(script.training)
    script.train()
    script.units.taken.stalls = SimpleNamespace(
        begin=lambda: told.append(script.now),
        end=lambda: told.append(script.now),
        seconds=lambda: 5.0,
    )
    starts = []
    for _ in range(2):
        starts.append(script.now)
        script.train()
        script.evaluate(Loader(3))
    assert told == [starts[0], starts[0] + ASK, starts[1], starts[1] + ASK]
    assert script.units.taken.stalled_s() == 5.0


def test_what_is_done_between_the_making_of_an_iterator_and_its_first_batch_is_no_wait(script):
    for _ in range(2):
        script.begins(script.training, 20)
        script.does(500)  # the building of the model
        for _ in range(2):
            script.train()
        script.ends(script.training)
    assert sum(script.seconds[:2]) == 2 * UNIT + 20
    assert script.units.taken.wait_s == 4 * ASK + 40


def test_what_hotlap_itself_looks_at_before_a_pass_is_no_wait(script):
    for looked_s in (3.0, 0.0):
        script.units.begins(script.of(script.training))
        script.does(looked_s + 20)
        script.units.begun(script.of(script.training), looked_s)
        script.train()
        script.train()
        script.ends(script.training)
    assert script.seconds == [UNIT + 20, UNIT, UNIT + 20, UNIT]
    assert script.units.taken.wait_s == 4 * ASK + 40


def test_the_wait_of_a_pass_whose_iterator_is_made_unheard_begins_with_it(script):
    script.units.begins(script.of(script.training))
    script.does(20)  # workers that start
    script.train()
    script.train()
    script.ends(script.training)
    assert script.units.taken.wait_s == 2 * ASK + 20


def test_waiting_is_known_as_it_was_at_the_epochs_begin(script):
    script.train_pass()
    script.begins(script.training, 20)  # workers that start
    script.train()
    script.takes(script.training)
    assert script.units.taken.wait_before_s == 5 * ASK
    assert script.units.taken.wait_s == 6 * ASK + 20


def test_a_pass_that_goes_on_where_an_epoch_should_end_has_none(script):
    taken = script.units.taken
    script.begins(script.training)
    for _ in range(6):
        script.train()
    assert taken.n_left() == 0 and not taken.endless
    for _ in range(6):
        script.train()
    assert taken.endless and taken.n_left() == math.inf
    assert taken.n_epochs == 1 and taken.n_epoch_steps == 5
    script.ends(script.training)
    script.begins(script.training)
    script.train()
    script.train()
    assert not taken.endless and taken.n_epoch_steps == 12


def test_accumulation(script):
    script.begins(script.training)
    for i in range(8):
        script.takes(script.training)
        script.forward()
        if i % 4 == 3:
            script.step()
    script.ends(script.training)
    # The first step comes after four batches; the first three of them belong to nothing yet.
    assert [n for n, _ in script.finished] == [BATCH] * 5
    assert script.seconds == [UNIT] + [ASK + FORWARD] * 3 + [UNIT]


def test_accumulation_in_evaluation_mode(script):
    """Statistics and dropout are frozen by it, as in much fine-tuning."""
    script.begins(script.training)
    for i in range(8):
        script.takes(script.training)
        script.forward(trains=False)
        script.units.backward(0)
        if i % 4 == 3:
            script.step()
    script.ends(script.training)
    assert [n for n, _ in script.finished] == [BATCH] * 5
    assert script.seconds == [UNIT] + [ASK + FORWARD] * 3 + [UNIT]


def test_two_optimizers(script):
    script.begins(script.training)
    for i in range(5):
        script.takes(script.training)
        script.forward()
        script.step("other")
        script.forward(trains=False, seconds=1)  # fakes for the discriminator
        script.forward()
        if i % 2 == 0:
            script.step()
    script.ends(script.training)
    assert [n for n, _ in script.finished] == [BATCH] * 5
    assert sum(script.seconds) == 5 * (ASK + 2 * FORWARD + STEP + 1) + 3 * STEP


def test_one_of_two_loaders_trained_on_together(script):
    labelled, other = script.training, Loader(100)
    script.begins(other)
    script.begins(labelled)
    for _ in range(5):
        script.takes(other)
        script.takes(labelled)
        script.forward()
        script.step()
    script.ends(labelled)
    # A unit ends when its own loader is asked, behind the other one. Before the first step nobody
    # knows that the other's batch will be trained on.
    assert script.seconds == [*[UNIT + ASK] * 4, UNIT]
    assert [n for n, _ in script.finished] == [BATCH, *[2 * BATCH] * 4]


def test_a_script_that_makes_its_batches_itself(script):
    for i in range(6):
        if i % 3 == 0:
            script.forward(trains=False, seconds=50)
        script.does(ASK)
        script.forward()
        script.step()
        script.step("other")
    assert script.begun[0] is None
    assert [n for n, _ in script.finished] == [1] * 6
    # The first unit begins with its forward pass. Making a batch after a picture is not told from
    # the picture.
    first = FORWARD + STEP
    assert script.seconds == [
        first,
        UNIT + STEP,
        UNIT + STEP,
        UNIT + STEP - ASK,
        *2 * [UNIT + STEP],
    ]


def test_the_last_batch_of_a_pass_has_what_is_left(script):
    script.training = Loader(3, n_samples=2 * BATCH + 1)
    script.train_pass()
    assert [n for n, _ in script.finished] == [BATCH, BATCH, 1]


def test_a_loader_that_drops_the_rest(script):
    script.training = Loader(2, n_samples=2 * BATCH + 1, drop_last=True)
    script.train_pass()
    assert [n for n, _ in script.finished] == [BATCH, BATCH]


def test_several_loaders_that_give_batches_for_each_step(script):
    others = [Loader(100), Loader(100)]
    for loader in [*others, script.training]:
        script.begins(loader)
    for _ in range(5):
        for loader in [*others, others[1], script.training]:
            script.takes(loader)
        script.forward()
        script.step()
    script.ends(script.training)
    assert script.seconds == [*[UNIT + 3 * ASK] * 4, UNIT]
    assert [n for n, _ in script.finished] == [BATCH, *[4 * BATCH] * 4]


def test_two_loaders_of_different_batch_sizes(script):
    labelled, other = Loader(5, 3), Loader(5, 7)
    for _ in range(2):
        script.begins(labelled)
        script.begins(other)
        for _ in range(5):
            script.takes(labelled)
            script.takes(other)
            script.forward()
            script.step()
        script.ends(labelled)
        script.does(50)
    assert [n for n, _ in script.finished] == [7, *[10] * 8]


def test_a_script_that_trains_on_with_another_loader(script):
    other = Loader(1000, where="b.py:1")
    script.train_pass()
    script.begins(other)
    for _ in range(MOVED_ON):
        assert script.moved_on_to is None
        script.train(other)
    assert script.moved_on_to is script.of(other)


def test_a_batch_size_that_grows_from_pass_to_pass(script):
    for n in (1, 2, 4):
        script.training = Loader(5, n * BATCH)
        script.train_pass()
        script.does(50)
        script.evaluate(Loader(3, 99))
    assert script.moved_on_to is None
    assert script.seconds == [UNIT] * 15
    assert [n for n, _ in script.finished] == [BATCH] * 5 + [2 * BATCH] * 5 + [4 * BATCH] * 5
    assert script.units.taken.n_epoch_steps == 5 and script.units.taken.wait_s == 15 * ASK


def test_a_batch_size_that_grows_within_a_pass(script):
    script.begins(script.training)
    script.train()
    script.train()
    grown = Loader(1000, 2 * BATCH)
    script.begins(grown)
    for _ in range(MOVED_ON + 3):
        script.train(grown)
    assert script.moved_on_to is None
    # What was trained before it was known to be for good counts as one unit.
    n_before = (MOVED_ON - 1) * 2
    assert [n for n, _ in script.finished] == [BATCH, (1 + n_before) * BATCH, *[2 * BATCH] * 3]
    assert sum(script.seconds) == UNIT * (2 + MOVED_ON + 2)


def test_training_that_goes_on_with_one_of_two_that_are_made_alike(script):
    other = Loader(1000)
    script.begins(other)
    script.begins(script.training)
    for _ in range(3):
        script.takes(other)
        script.train()
    for _ in range(MOVED_ON + 3):
        script.train(other)
    assert script.moved_on_to is None
    assert [n for n, _ in script.finished[-3:]] == [BATCH] * 3
    assert script.units.taken.n_epoch_steps == 1000


def test_loaders_that_take_turns(script):
    other = Loader(1000)
    script.begins(script.training)
    script.begins(other)
    for _ in range(5):
        script.train()
        for _ in range(MOVED_ON - 1):
            script.train(other)
    assert script.moved_on_to is None
    assert [n for n, _ in script.finished] == [MOVED_ON * BATCH] * 4


def test_without_a_loader_a_new_optimizer_takes_the_place_of_one_that_is_gone(script):
    folds = [Optimizer(), Optimizer()]
    for i in range(2):
        for _ in range(3):
            script.forward()
            script.units.stepped(folds[i])
        folds[i] = None
    assert script.seconds == [FORWARD] * 6


def test_without_a_loader_a_new_optimizer_takes_the_place_of_one_that_rests(script):
    script.forward()
    script.step()
    for _ in range(MOVED_ON + 3):
        script.forward()
        script.step("other")
    assert script.seconds == [UNIT - ASK, MOVED_ON * (UNIT - ASK), *[UNIT - ASK] * 3]
