"""Two noisy rounds give an interval that says nothing; everybody is told so in the same way."""

import dataclasses
import io
import math

import pytest

from hotlap.measurement import Rate, Ratio
from reports.result import to_dict
from reports.screen import Screen
from reports.table import markdown, print_result
from reports.tracking import ended_record


@pytest.fixture(params=[(0.01, 90.0), (0.0, math.inf)])
def unsure(result, request):
    """A study whose candidate and baseline were measured twice, or once."""
    low, high = request.param
    baseline = dataclasses.replace(result.baseline, rate=Rate(400.0, 400 * low, 400 * high))
    winner = dataclasses.replace(result.winner, speedup=Ratio(1.2, low, high))
    expert = dataclasses.replace(result.expert, speedup=Ratio(1.67, low, high))
    return dataclasses.replace(result, baseline=baseline, winner=winner, expert=expert)


def test_the_screen_and_the_description_have_words_for_it(unsure):
    screen = Screen(width=120, file=io.StringIO())
    print_result(unsure, screen)
    for text in (" ".join(screen.file.getvalue().split()), markdown(unsure)):
        assert "1.20x (too uncertain)" in text and "400.0 (too uncertain)" in text
        assert "1.20x, and was measured too few times for that to mean anything." in text
        assert "90.0" not in text and "0.01," not in text


def test_json_and_mlflow_have_no_ends_for_it(unsure):
    data = to_dict(unsure)
    assert data["best_tried"]["speedup"] == {"value": 1.2, "low": None, "high": None}
    assert data["baseline"]["rate"] == {"value": 400.0, "low": None, "high": None}
    metrics = ended_record("s", "finished", unsure)["metrics"]
    assert metrics["samples_per_s"] == 400
    assert not [name for name in metrics if name.endswith(("_low", "_high"))]
    assert metrics["speedup"] == 1.0 and "expert_speedup" not in metrics


def test_a_speedup_that_is_proven_keeps_its_ends_however_far_apart(result):
    winner = dataclasses.replace(result.winner, speedup=Ratio(5.0, 1.2, 21.0))
    proven = dataclasses.replace(result, winner=winner)
    assert to_dict(proven)["winner"]["speedup"] == {"value": 5.0, "low": 1.2, "high": 21.0}
    assert "5.00x [1.20, 21.00]" in markdown(proven)


def test_so_does_one_that_is_proven_to_be_slower():
    assert Ratio(0.2, 0.05, 0.9).known and Ratio(0.2, 0.05, 0.2).known
    assert not Ratio(0.2, 0.05, 1.1).known and not Ratio(0.2, 0.0, 0.9).known
