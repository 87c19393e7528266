"""Units on a virtual clock: no evaluation is training, whenever and on whatever it runs."""

import pytest
import torch

from tests.hotlap.training.virtual_script import (
    ASK,
    BATCH,
    UNIT,
    Loader,
    Optimizer,
)


def test_an_evaluation_after_each_pass_is_no_training(script):
    test = Loader(3)
    for _ in range(3):
        script.train_pass()
        script.does(50)  # a checkpoint
        script.evaluate(test)
        script.does(50)
    assert script.seconds == [UNIT] * 15


def test_an_evaluation_between_two_steps_is_no_training(script):
    test = Loader(3)
    script.train_pass(lambda i: script.evaluate(test) if i in (1, 2) else None)
    assert script.seconds == [UNIT] * 5


@pytest.mark.parametrize("kind", ["whole", "stopped", "with gradients", "no root"])
def test_an_evaluation_with_a_batch_in_hand_is_no_training(script, kind):
    test = Loader(3)
    for _ in range(2):
        script.begins(script.training)
        for i in range(5):
            script.takes(script.training)
            if i in (0, 3):
                script.begins(test)
                for _ in range(3):
                    with torch.set_grad_enabled(kind == "with gradients"):
                        script.takes(test, 7.0)
                    if kind != "no root":
                        script.forward(trains=kind == "with gradients", seconds=11.0)
                if kind != "stopped":
                    script.ends(test)
                script.does(50)
            script.forward()
            script.units.backward(0)
            script.step()
        script.ends(script.training)
    assert script.seconds == [UNIT + 3 * 7 + 50 + (33 if kind != "no root" else 0), *[UNIT] * 9]
    assert [n for n, _ in script.finished] == [BATCH] * 10


def test_one_without_a_loader_neither(script):
    def picture(i):
        if i == 2:
            script.forward(trains=False, seconds=30)
            script.does(30)

    script.train_pass(picture)
    assert script.seconds == [UNIT] * 5


def test_an_evaluation_on_the_training_loader_neither(script):
    for _ in range(2):
        script.train_pass()
        script.evaluate(script.training, 5)
        script.evaluate(script.training, 5)
    assert script.seconds == [UNIT] * 10
    assert script.units.taken.wait_s == 10 * ASK
    assert script.units.taken.n_epochs == 2


def test_nor_is_one_on_the_training_loader_within_its_pass(script):
    script.training = Loader(5, n_samples=4 * BATCH + 1)
    ours, theirs = Optimizer(), Optimizer()  # anything that can be referred to weakly
    script.begins(script.training)
    for i in range(5):
        script.takes(script.training, iterator=ours)
        script.forward()
        script.step()
        if i == 1:
            with torch.no_grad():
                script.begins(script.training)
                for _ in range(5):
                    script.takes(script.training, iterator=theirs)
                    script.forward(trains=False)
                script.ends(script.training)
    script.ends(script.training)
    assert [n for n, _ in script.finished] == [*[BATCH] * 4, 1]
    assert script.seconds == [UNIT] * 5
    assert script.units.taken.n_epochs == 1


def test_a_teacher_called_without_gradients_is_training(script):
    script.begins(script.training)
    for _ in range(4):
        script.takes(script.training)
        script.forward(trains=False, seconds=5)
        script.forward()
        script.step()
    script.ends(script.training)
    assert script.seconds == [UNIT + 5] * 4


def test_an_evaluations_batches_are_no_samples(script):
    def between(i):
        if i in (1, 3):
            script.evaluate(test, n=1)  # so short that its time is not told from training

    test = Loader(1)
    for _ in range(2):
        script.train_pass(between)
        script.evaluate(test, n=3)
    assert [n for n, _ in script.finished] == [BATCH] * 10


def test_an_evaluation_that_calls_no_root_between_two_steps_is_no_training(script):
    def between(i):
        script.begins(other)
        for _ in range(3):
            script.takes(other, 7.0)
        script.ends(other)

    other = Loader(3)
    script.train_pass(between)
    assert script.seconds == [UNIT] * 5


@pytest.mark.parametrize("ends", [True, False])
def test_an_evaluation_with_gradients_and_in_training_mode_is_no_training(script, ends):
    def evaluate():
        script.begins(other)
        for _ in range(3):
            script.takes(other, 7.0)
            script.forward(seconds=11.0)
        script.ends(other)

    other = Loader(3)
    for _ in range(2):
        script.train_pass(lambda i: None if ends else evaluate())
        if ends:
            evaluate()
    assert script.seconds == [UNIT] * 10


def test_an_evaluation_between_a_passs_begin_and_its_first_batch_is_no_training(script):
    script.train_pass()
    script.begins(script.training)
    script.evaluate(Loader(3))
    for _ in range(5):
        script.train()
    script.ends(script.training)
    assert script.seconds == [UNIT] * 10


def test_one_before_the_first_step_is_no_training_of_a_script_that_makes_its_batches(script):
    with torch.no_grad():
        script.evaluate(Loader(3))
    for _ in range(3):
        script.forward()
        script.step()
    assert script.begun[0] is None
    assert [n for n, _ in script.finished] == [1] * 3


def test_nor_of_one_that_fetches_its_batches_without_gradients(script):
    with torch.no_grad():
        script.evaluate(Loader(3))
        script.begins(script.training)
        for _ in range(5):
            script.takes(script.training)
            script.forward()
            script.step()
        script.ends(script.training)
    assert script.begun[0] is script.training
    assert script.seconds == [UNIT] * 5


def test_what_a_script_does_after_its_last_unit_is_no_part_of_it(script):
    script.train_pass()
    script.evaluate(Loader(3))
    script.begins(script.training)
    script.takes(script.training)  # one batch, for a picture
    assert script.units.done_at == script.begun[1] + 5 * UNIT


def test_nor_is_an_evaluation_in_one_that_is_never_done(script):
    script.begins(script.training)
    for i in range(5):
        script.takes(script.training)
        if i == 4:
            script.evaluate(Loader(3))
        script.forward()
        script.step()
    assert len(script.finished) == 4
    assert script.units.done_at == script.begun[1] + 4 * UNIT
