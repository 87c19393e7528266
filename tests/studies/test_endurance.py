"""Whether the full run has room for what grows with a winner's steps."""

import pytest
from test_growth import FREE, GIB, MIB, trial

from hotlap.settings import Settings
from runners.protocol import Run
from studies import Arm, Endurance
from studies.protocols import Trial


def arm(per_step):
    """Three trials whose host memory grows by `per_step` bytes a step; epochs have 1,000 steps."""
    seen = trial("host_bytes", lambda n: GIB + per_step * n, n_epoch_steps=1000)
    runs = {i: Trial(i, "confirm", Settings(), Run("ok", seen), 80.0) for i in range(3)}
    return Arm("trial 7", Settings(), runs)


STEADY = arm(0)
FAST, SLOW = arm(3 * MIB), arm(0.1 * MIB)
"""11 GiB are used up after some 3,755 steps, and after some 112,640."""


@pytest.mark.parametrize(("winner", "epochs", "refused"), [(FAST, 90, True), (FAST, 3, False)])
def test_a_winner_that_outgrows_a_run_of_known_length_is_refused(winner, epochs, refused):
    reason = Endurance(epochs, limits=FREE).outgrown(winner, STEADY)
    assert bool(reason) is refused
    assert not refused or reason.endswith("after 3,755 steps, and the full run has 90,000")


def test_of_a_run_whose_length_was_not_said_a_hundred_thousand_steps_are_assumed():
    unsaid = Endurance(limits=FREE)
    assert unsaid.outgrown(FAST, STEADY).endswith(
        "(run.epochs= is not given, and 100,000 steps are assumed)"
    )
    assert unsaid.outgrown(SLOW, STEADY) == ""
    assert [growth.what for growth in unsaid.growth(SLOW)] == ["host_bytes"]  # it is told
    assert Endurance(epochs=150, limits=FREE).outgrown(SLOW, STEADY)


def test_what_grows_with_the_baseline_too_refuses_nothing():
    assert Endurance(90, limits=FREE).outgrown(FAST, FAST) == ""
