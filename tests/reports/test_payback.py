import dataclasses
import math

import pytest

from hotlap.measurement import Rate
from hotlap.settings import Settings
from reports.arm import Arm
from reports.payback import payback

PLAIN = Arm(Settings(), Rate(160.0, 159.0, 161.0), startup_s=3.0, step_time_s=0.2,
            samples_per_step=32, n_epoch_steps=100)  # fmt: skip
COMPILED = dataclasses.replace(
    PLAIN, rate=Rate(320.0, 318.0, 322.0), step_time_s=0.1, startup_s=4.0, compile_s=59.0
)


def test_what_costs_a_minute_and_halves_the_steps_pays_after_a_minute():
    back = payback(COMPILED, PLAIN, 2.0)
    assert back.extra_s == pytest.approx(60.0)
    assert back.seconds == pytest.approx(60.0)
    assert back.steps == pytest.approx(600)
    assert back.epochs == pytest.approx(6.0)
    assert back.words == "after 1:00 of training (600 steps, 6.00 epochs)"
    # By hand: 600 compiled steps take 60 + 60 s, and 600 plain ones 120 s.
    assert back.steps * 0.1 + back.extra_s == pytest.approx(back.steps * 0.2)


def test_the_epochs_are_those_of_the_full_runs_data():
    assert payback(COMPILED, PLAIN, 2.0, n_epoch_samples=19200).epochs == pytest.approx(1.0)


def test_what_is_not_faster_never_earns_its_cost():
    back = payback(COMPILED, PLAIN, 0.99)
    assert back.seconds == math.inf and back.words == "never"
    assert back.within(90) is False


def test_what_is_cheaper_and_faster_is_ahead_at_once():
    back = payback(PLAIN, COMPILED, 1.1)
    assert back.seconds == 0 and back.words == "at once"
    assert back.within(1) is True


def test_what_is_cheaper_and_slower_pays_in_short_runs_only():
    back = payback(PLAIN, COMPILED, 0.5)
    assert back.only_before and back.seconds == pytest.approx(120.0)
    assert back.words == "in runs of less than 2:00 of training (600 steps, 6.00 epochs)"
    assert back.within(5) is True and back.within(7) is False


@pytest.mark.parametrize(("epochs", "pays"), [(5, False), (7, True), (None, None)])
def test_whether_a_run_is_long_enough_is_told_if_its_length_is_known(epochs, pays):
    assert payback(COMPILED, PLAIN, 2.0).within(epochs) is pays


def test_an_unknown_length_is_not_guessed():
    endless = dataclasses.replace(COMPILED, n_epoch_steps=None)
    back = payback(endless, PLAIN, 2.0)
    assert back.words == "after 1:00 of training (600 steps)"
    assert back.within(90) is None


def test_a_start_up_that_was_not_measured_is_taken_as_equal():
    unknown = dataclasses.replace(PLAIN, startup_s=math.nan)
    assert payback(COMPILED, unknown, 2.0).extra_s == pytest.approx(59.0)
