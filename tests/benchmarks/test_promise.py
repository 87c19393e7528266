import pytest

from benchmarks import promise
from benchmarks.machine import Unmeasured
from benchmarks.promise import FullRun, Promise, Row
from hotlap.frozen import dump
from hotlap.settings import Settings


def events(*epochs_s, n_steps=10, batch=32, said=99.0):
    """A full run of `n_steps` an epoch, its epochs of so many seconds each."""
    steps = n_steps * len(epochs_s)
    return [
        {"event": "built", "startup_s": 2.0},
        *({"event": "epoch", "epoch": i, "seconds": s} for i, s in enumerate(epochs_s, 1)),
        {"event": "trained", "steps": steps, "samples": batch * (steps - 1), "samples_per_s": said},
    ]


def test_a_full_runs_figure_is_that_of_its_whole_epochs_after_the_first():
    """The first epoch has start-up in it: 60 s. The others take 4 s and 6 s for 320 samples."""
    run = promise.figures(events(60.0, 4.0, 6.0))
    assert run.epochs == pytest.approx((80.0, 320 / 6))
    assert run.whole == pytest.approx(64.0)
    assert run.said == 99.0


@pytest.mark.parametrize(
    ("rate", "kept"), [(64.0, True), (67.1, True), (67.4, False), (60.9, True), (60.7, False)]
)
def test_a_promise_is_kept_within_five_percent(rate, kept):
    assert Row("m", Promise(64.0, 63.0, 65.0), (FullRun((rate,), rate, rate),)).kept is kept


def test_the_table_has_promise_and_full_run_side_by_side():
    row = Row("resnet18", Promise(8.0, 7.9, 8.1), (FullRun((7.0, 7.4), 7.2, 7.28),))
    head, line = promise.table([row]).splitlines()
    assert line.split() == [
        "resnet18", "8", "[7.9,", "8.1]", "7.2", "0.900", "no", "7.28", "0.910", "7", "7.4",
    ]  # fmt: skip
    assert head.index("full runs") == line.index("7.2 ")


def test_several_full_runs_are_judged_by_their_mean():
    """60 and 68 are each more than 5 % off; their geometric mean is not."""
    runs = tuple(FullRun((rate,), rate, rate) for rate in (60.0, 68.0))
    row = Row("m", Promise(64.0, 63.0, 65.0), runs)
    assert row.rate.value == pytest.approx((60 * 68) ** 0.5)
    assert row.rate.low < 60 and row.rate.high > 68  # two runs say little
    assert row.kept
    assert promise.table([row]).endswith("  60 | 68")


def test_rates_are_written_for_people():
    assert [promise.written(x) for x in (17655.4, 8.0512, float("inf"))] == ["17,655", "8.051", "-"]


def test_a_frozen_file_without_a_rate_promises_nothing(tmp_path):
    dump(tmp_path / "by_hand.yaml", Settings(), {})
    with pytest.raises(Unmeasured, match="promises no rate"):
        promise.promise(tmp_path / "by_hand.yaml")
    dump(tmp_path / "few.yaml", Settings(), {"samples_per_s": 9.0, "samples_per_s_ci95": None})
    with pytest.raises(Unmeasured, match="too few runs to have an interval"):
        promise.promise(tmp_path / "few.yaml")


def test_a_frozen_file_belongs_to_each_model(capsys):
    with pytest.raises(SystemExit):
        promise.arguments(["--models", "resnet18", "detector", "--frozen", "a.yaml"])
    assert "2 models and 1 frozen files" in capsys.readouterr().err


@pytest.fixture
def few(tmp_path):
    """A frozen file of one round: its rate has no interval."""
    path = tmp_path / "few.yaml"
    dump(path, Settings(), {"samples_per_s": 9.0, "samples_per_s_ci95": None})
    return path


def test_models_that_cannot_be_measured_break_no_promise(tmp_path, few, capsys):
    missing = tmp_path / "missing.yaml"
    words = f"--models gpt_small detector --frozen {few} {missing}"
    assert promise.main(words.split()) == 3
    out = capsys.readouterr().out
    assert "too few runs to have an interval" in out and "gpt_small is left out" in out
    assert f"{missing}" in out and "detector is left out" in out
    assert "not so: none; not measured: gpt_small, detector\n" in out


@pytest.mark.slow
def test_a_real_full_run_is_held_against_its_file_whatever_comes_of_others(tmp_path, few, capsys):
    frozen = tmp_path / "frozen.yaml"
    dump(frozen, Settings(), {"samples_per_s": 1e-3, "samples_per_s_ci95": [9e-4, 2e-3]})
    words = f"--models gpt_small digits_mlp nothing --frozen {few} {frozen} {frozen} "
    words += f"--epochs 2 --runs 1 --folder {tmp_path}"
    assert promise.main(words.split()) == 1  # nothing is as slow as that
    lines = capsys.readouterr().out.splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.startswith("digits_mlp ")]
    assert at < lines.index("train.py ended with code 2") < lines.index("nothing is left out")
    row = lines[at].split()
    assert row[:4] == ["digits_mlp", "0.001", "[0.0009,", "0.002]"]
    whole, *epochs = (float(cell.replace(",", "")) for cell in (row[4], *row[-2:]))
    assert min(epochs) <= whole <= max(epochs)
    said = "claim: within 5% of the promise; not so: digits_mlp; not measured: gpt_small, nothing"
    assert said in lines
