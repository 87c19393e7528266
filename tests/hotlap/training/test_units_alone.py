"""Units of a script that asks its loader for nothing more: its steps, until it asks again."""

import pytest
import torch

from hotlap.training.first_optimizer import HOLDS_ON, MOVED_ON
from tests.hotlap.training.virtual_script import (
    ASK,
    BATCH,
    FORWARD,
    STEP,
    UNIT,
    Loader,
    Optimizer,
)


def fetch(script):
    script.begins(script.training)
    for _ in range(len(script.training)):
        script.takes(script.training)
    script.ends(script.training)


def step(script, n=1):
    for _ in range(n):
        script.forward()
        script.step()


def test_all_batches_are_fetched_first(script):
    fetch(script)
    step(script, MOVED_ON - 1)
    assert script.alone_after is None and script.n_steps_on == MOVED_ON - 2
    step(script, 4)
    assert script.alone_after == 0
    # What lies between the first step and the moment that it is known counts to neither kind.
    assert script.seconds == [UNIT, *[FORWARD + STEP] * 3]
    assert [n for n, _ in script.finished] == [BATCH, 1, 1, 1]
    assert script.units.taken.n_left() == float("inf")
    assert script.units.taken.n_epoch_steps is None and script.units.taken.endless


def test_a_pass_whose_batches_come_again(script):
    script.train_pass()
    step(script, MOVED_ON + 3)
    assert script.alone_after == 5
    assert script.seconds == [UNIT] * 5 + [FORWARD + STEP] * 4
    assert [n for n, _ in script.finished] == [BATCH] * 9


def test_a_step_has_the_samples_of_the_batches_that_were_taken_for_one(script):
    script.begins(script.training)
    for i in range(12):
        script.takes(script.training)
        script.forward()
        if i % 4 == 3:
            script.step()
    script.ends(script.training)
    step(script, MOVED_ON + 2)
    assert script.alone_after is not None
    assert script.finished[-1][0] == pytest.approx(4 * BATCH, rel=0.3)


@pytest.mark.parametrize("n", [HOLDS_ON // 2, HOLDS_ON])
def test_one_batch_for_good_while_the_script_has_its_iterator_and_later(script, n):
    iterator = Optimizer()  # anything that can be referred to weakly
    script.begins(script.training)
    script.takes(script.training, iterator=iterator)
    step(script, n - 1)
    assert script.alone_after is None
    if n < HOLDS_ON:
        del iterator
    step(script)
    assert script.alone_after == 0


def test_many_steps_on_each_batch(script):
    iterator = Optimizer()
    for _ in range(4):
        script.takes(script.training, iterator=iterator)
        step(script, 2 * MOVED_ON)
    assert script.alone_after is None
    assert script.seconds == [ASK + 2 * MOVED_ON * (FORWARD + STEP)] * 3


def test_a_script_that_comes_back_to_its_loader(script):
    n = 2 * MOVED_ON
    for _ in range(4):
        fetch(script)
        step(script, n)
    # From the second time on it is known that so many steps come before the next pass.
    one = FORWARD + STEP
    assert script.seconds == [UNIT, *[one] * MOVED_ON, *[5 * ASK + n * one] * 2]
    assert [k for k, _ in script.finished] == [BATCH, *[1] * MOVED_ON, *[5 * BATCH] * 2]


@pytest.mark.parametrize("gradients", [False, True])
def test_an_evaluation_meanwhile_is_no_training(script, gradients):
    test = Loader(3)
    fetch(script)
    for _ in range(8):
        step(script, 5)
        with torch.set_grad_enabled(gradients):
            script.evaluate(test)
        script.does(50)
    assert script.moved_on_to is None
    assert script.seconds == [UNIT, *[FORWARD + STEP] * (40 - MOVED_ON)]


def test_nor_is_one_on_the_loader_that_rests(script):
    fetch(script)
    for _ in range(8):
        step(script, 5)
        with torch.no_grad():
            script.evaluate(script.training)
    assert script.seconds == [UNIT, *[FORWARD + STEP] * (40 - MOVED_ON)]


def test_steps_of_another_optimizer_after_a_pass_are_not_the_units(script):
    script.train_pass()
    for _ in range(2 * MOVED_ON):  # a probe on what was learned
        script.forward()
        script.step("other")
    script.train_pass()
    assert script.alone_after is None
    assert [n for n, _ in script.finished] == [BATCH] * 10
