"""Units of a script whose batches are fetched by a thread of its own: what it waits is unknown."""

import threading

from hotlap.training.training_thread import TrainingThread
from tests.hotlap.training.virtual_script import ASK, BATCH, Optimizer


def elsewhere(action):
    thread = threading.Thread(target=action)
    thread.start()
    thread.join()


def test_the_time_of_a_thread_that_fetches_ahead_is_no_wait_of_the_training(script):
    iterator = Optimizer()  # anything that can be referred to weakly
    script.begins(script.training, 20)
    script.takes(script.training, iterator=iterator)
    for _ in range(4):
        script.forward()
        script.units.backward(0)
        script.step()
        elsewhere(lambda: script.takes(script.training, 7.0, iterator))
    assert len(script.finished) == 4
    # The first batch is waited for, whoever asks.
    assert script.units.taken.wait_s == 20 + ASK
    assert not script.units.taken.may_go_on() and script.units.taken.n_ready() is None


def test_nor_is_what_it_fetched_before_the_first_step(script):
    script.begins(script.training)
    for _ in range(3):
        elsewhere(lambda: script.takes(script.training, 7.0))
    script.forward()
    script.step()
    elsewhere(lambda: script.takes(script.training, 7.0))
    assert [n for n, _ in script.finished] == [BATCH]
    assert script.units.taken.wait_s == 0.0


def test_a_pass_that_begins_there_is_waited_for(script):
    def first():
        script.begins(script.training, 20)
        script.takes(script.training)

    script.train_pass()
    elsewhere(first)
    script.forward()
    script.step()
    elsewhere(lambda: script.takes(script.training))
    assert script.units.taken.wait_s == 6 * ASK + 20


def test_the_thread_of_the_backward_pass_trains():
    """Within it autograd may step or go back again in one of its own; another may look first."""
    thread = TrainingThread()
    assert not thread.is_another()
    elsewhere(thread.trains)
    assert thread.is_another()
    thread.trains(surely=True)
    elsewhere(thread.trains)
    elsewhere(lambda: thread.trains(surely=True))
    assert not thread.is_another()


def test_a_thread_that_has_ended_trains_no_more():
    thread = TrainingThread()
    elsewhere(lambda: thread.trains(surely=True))
    assert thread.is_another()
    thread.trains(surely=True)
    assert not thread.is_another()
