"""What a study says of a winner whose trials were too short to show growth."""

from pathlib import Path

import pytest
from test_growth import GIB, ended_early, trial

from hotlap.settings import Settings
from runners.protocol import Run
from studies import Arm, Confirmed
from studies.found import Found
from studies.found_doubts import doubts_of
from studies.noise import Noise
from studies.protocols import Trial


def arm(name, settings, seconds_a_step, measurement):
    """Five trials of it."""
    runs = {
        i: Trial(
            i, "confirm", settings, Run("ok", measurement), 1 / (seconds_a_step * (1 + i / 1000))
        )
        for i in range(5)
    }
    return Arm(name, settings, runs)


def said(winners):
    """Name -> doubt where the winner's trials measured that."""
    baseline = trial("host_bytes", lambda n: GIB)
    proof = Confirmed(
        [
            arm("baseline", Settings(), 0.4, baseline),
            arm("trial 7", Settings(num_workers=2), 0.2, winners),
        ],
        5,
    )
    doubts = doubts_of(Found(proof, Noise(0)), Path("outputs/mine/1"))
    return {doubt.name: doubt for doubt in doubts}


@pytest.mark.parametrize(
    ("steps", "blocks", "window_s"),
    [
        (2, 4, 12),  # of 0.25 s each: 48 steps
        (30, 2, 6),  # enough steps in blocks of 0.5 s: 12 blocks
        (6, 8, None),
    ],
)
def test_a_winner_whose_trials_could_not_show_growth_is_told_with_the_window_that_does(
    steps, blocks, window_s
):
    measurement = trial("host_bytes", lambda n: GIB, n_blocks=blocks, n_warmup=2, steps=steps)
    doubt = said(measurement).get("growth-unseen")
    assert (doubt is not None) is (window_s is not None)
    if doubt:
        assert "fewer than 24 steps" in doubt.sentence
        assert doubt.advice.endswith(f" window.min_s={window_s} window.max_s={window_s}")


def test_a_winner_whose_script_ended_first_needs_more_steps_and_no_longer_window():
    doubts = said(ended_early(lambda n: GIB, 1, 2, 6, 22, 86, 120))
    unseen, early = doubts["growth-unseen"], doubts["not-settled"]
    assert "let it train for longer" in unseen.advice
    assert (unseen.cause, unseen.advice) == (early.cause, early.advice)
