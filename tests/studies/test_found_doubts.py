"""What a study says of a winner whose trials were too short to show growth."""

from pathlib import Path

import pytest
from test_growth import GIB, trial

from hotlap.settings import Settings
from runners.protocol import Run
from studies import Arm, Confirmed
from studies.found import Found
from studies.found_doubts import doubts_of
from studies.noise import Noise
from studies.protocols import Trial


def arm(name, settings, seconds_a_step, **more):
    """Five trials of it; `more` for test_growth.trial."""
    measurement = trial("host_bytes", lambda n: GIB, **more)
    runs = {
        i: Trial(
            i, "confirm", settings, Run("ok", measurement), 1 / (seconds_a_step * (1 + i / 1000))
        )
        for i in range(5)
    }
    return Arm(name, settings, runs)


def said(winner_steps, blocks=4):
    short = {"n_blocks": blocks, "n_warmup": 2, "steps": winner_steps}
    proof = Confirmed(
        [
            arm("baseline", Settings(), 0.4),
            arm("trial 7", Settings(num_workers=2), 0.2, **short),
        ],
        5,
    )
    doubts = doubts_of(Found(proof, Noise(0)), Path("outputs/mine/1"))
    return [doubt for doubt in doubts if doubt.name == "growth-unseen"]


@pytest.mark.parametrize(("steps", "blocks", "told"), [(3, 4, True), (30, 2, True), (6, 8, False)])
def test_a_winner_whose_trials_could_not_show_growth_is_told(steps, blocks, told):
    doubts = said(steps, blocks)
    assert len(doubts) == told
    assert all("fewer than 24 steps" in doubt.sentence for doubt in doubts)
