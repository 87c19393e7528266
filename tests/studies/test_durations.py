"""What the next trial of some settings is expected to take."""

import pytest

from hotlap.measurement import Measurement
from hotlap.settings import Settings
from runners.protocol import Run
from studies.durations import Durations

EAGER = Settings(num_workers=2)
COMPILED = Settings(compile_mode="default")
OTHER = Settings(compile_mode="default", num_workers=2)


def ran(own_s, compile_s=0.0, outcome="ok"):
    measured = Measurement((), compile_s=compile_s)
    return Run(outcome, measured, wall_s=own_s + 3, served_s=3)


def after(*trials):
    durations = Durations()
    for settings, run in trials:
        durations.remember(settings, run)
    return durations


def test_what_has_run_once_takes_as_long_again_and_what_has_not_as_long_as_is_usual():
    durations = after((EAGER, ran(6)), (Settings(), ran(10)), (OTHER, ran(50, 45)))
    assert durations.expected_s(EAGER) == 6
    assert durations.expected_s(Settings(num_workers=1)) == durations.usual_s() == 10


@pytest.mark.parametrize(("others", "expected_s"), [([], 104), ([7.0], 12), ([200.0], 104)])
def test_a_first_compilation_is_expected_again_until_another_one_took_less(others, expected_s):
    durations = after((COMPILED, ran(104, 99)), *((OTHER, ran(9 + c, c)) for c in others))
    assert durations.expected_s(COMPILED) == expected_s


def test_what_the_warm_up_of_eager_settings_took_longer_is_no_compilation():
    durations = after((EAGER, ran(6, 2)), (Settings(), ran(5, 0)), (Settings(), ran(5, 0)))
    assert durations.expected_s(EAGER) == 6


def test_of_several_runs_the_first_and_those_of_long_ago_do_not_count():
    durations = after(*((COMPILED, ran(seconds)) for seconds in (104, 40, 9, 11, 10)))
    assert durations.expected_s(COMPILED) == 11


def test_what_an_earlier_session_took_counts_until_they_have_run_in_this_one():
    durations = after((Settings(), ran(10)))
    durations.expect(30, EAGER)
    assert durations.expected_s(EAGER) == 30
    durations.remember(EAGER, ran(7))
    assert durations.expected_s(EAGER) == 7


def test_a_trial_whose_time_was_over_is_expected_to_take_as_long_and_is_not_usual():
    durations = after((EAGER, ran(6)), (COMPILED, ran(90, outcome="timeout")))
    assert (durations.expected_s(COMPILED), durations.usual_s()) == (90, 6)
