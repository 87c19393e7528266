import math

import pytest

from benchmarks import run_time
from benchmarks.run_time import Row


def row(epochs=1, compile_mode="none", default_s=(60.0, 62.0), compiled_s=(95.0, 99.0)):
    return Row(epochs, compile_mode, (97.0, 61.0), default_s, compiled_s)


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ([row(), row(60, "default", (), ())], []),
        ([row(compile_mode="default"), row(60, "default", (), ())], ["1 epochs"]),
        ([row(), row(60, "none", (), ())], ["60 epochs"]),
        ([row(compiled_s=(50.0, 52.0)), row(60, "default", (), ())], ["the clock"]),
    ],
)
def test_short_runs_stay_as_they_are_and_long_ones_are_compiled(rows, wrong):
    found = run_time.wrong(rows)
    assert len(found) == len(wrong)
    assert all(word in text for word, text in zip(wrong, found, strict=True))


def test_the_table_has_what_was_said_beside_the_clock():
    text = run_time.table([row(), row(60, "default", (), ())])
    short, long = text.splitlines()[1:]
    assert short.split() == ["1", "none", "97", "s", "61", "s", "97", "s", "61", "s"]
    assert long.split() == ["60", "default", "97", "s", "61", "s", "-", "-"]


def test_a_projection_is_that_of_the_winner_or_of_what_came_closest():
    baseline, best = {"run_time": {"value": 61.0}}, {"run_time": {"value": 97.0}}
    won = {"winner": best, "best_tried": None, "baseline": baseline}
    tried = {"winner": None, "best_tried": best, "baseline": baseline}
    assert run_time.projected(won) == run_time.projected(tried) == (97.0, 61.0)
    alone, default = run_time.projected({**tried, "best_tried": None})
    assert math.isnan(alone) and default == 61.0
