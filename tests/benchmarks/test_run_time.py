import math

import pytest

from benchmarks import run_time
from benchmarks.commands import words_of
from benchmarks.machine import Unmeasured
from benchmarks.run_time import Row


def row(epochs=1, compile_mode="none", default_s=(60.0, 62.0), compiled_s=(95.0, 99.0)):
    return Row(epochs, compile_mode, (97.0, 61.0), default_s, compiled_s)


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ([row(), row(60, "default", (), ())], []),
        ([row(compile_mode="default"), row(60, "default", (), ())], ["1 epochs"]),
        ([row(), row(60, "none", (), ())], []),  # that it pays is not known
        ([row(60, "default", (), ())], []),
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


def test_a_long_run_that_proves_nothing_of_compilation_is_not_judged(monkeypatch, capsys):
    def measured(folder, epochs, n_runs, args):
        return row(epochs) if n_runs else row(epochs, "none", (), ())

    monkeypatch.setattr(run_time, "measured", measured)
    assert run_time.main(["--lengths", "60", "1"]) == 3
    says = "not so: none; not measured: 60 epochs, where nothing proves that compilation pays\n"
    assert says in capsys.readouterr().out


def test_a_length_that_fails_hides_no_other(monkeypatch, capsys):
    def measured(folder, epochs, n_runs, args):
        if not n_runs:
            raise Unmeasured("tune.py ended with code 1")
        return row(epochs, compile_mode="default")

    monkeypatch.setattr(run_time, "measured", measured)
    assert run_time.main([]) == 1
    out = capsys.readouterr().out
    assert "\n1       default" in out and "tune.py ended with code 1\n3000 epochs are left" in out
    assert "not so: 1 epochs are compiled; not measured: 3000 epochs\n" in out


def test_a_study_that_cannot_begin_is_told_in_its_own_words(capsys):
    assert run_time.main(["--model", "nothing"]) == 3
    out = capsys.readouterr().out
    assert out.count("tune.py ended with code 2") == 2
    assert "not measured: 1 epochs, 3000 epochs\n" in out


def test_a_model_has_a_size_of_its_own_unless_that_is_not_wanted():
    def words(*argv):
        return words_of("small_decoder", run_time.SMALL, run_time.arguments(list(argv)))

    assert words("--", "a=1") == [*run_time.SMALL["small_decoder"], "a=1"]
    assert words("--no-sizes", "--", "a=1") == ["a=1"]
