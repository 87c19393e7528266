import pytest
from optuna.trial import TrialState

from hotlap.measurement import Measurement
from runners.protocol import FAILED, Run
from studies.outcomes import told


@pytest.mark.parametrize("outcome", FAILED)
def test_a_failed_trial_is_told_without_a_value_even_if_blocks_were_timed(outcome):
    assert told(Run(outcome, Measurement(())), 123.0) == (TrialState.PRUNED, None)


def test_a_pruned_trial_is_told_with_the_rate_that_lost():
    assert told(Run("pruned", Measurement(())), 50.0) == (TrialState.COMPLETE, 50.0)
    assert told(Run("ok", Measurement(())), 100.0) == (TrialState.COMPLETE, 100.0)


def test_a_trial_pruned_before_any_block_has_no_value():
    assert told(Run("pruned", Measurement(())), 0.0) == (TrialState.PRUNED, None)
