import dataclasses
import math

import pytest

from hotlap.measurement import Measurement
from hotlap.settings import Settings
from reports.tracking import ended_record, run_name, trial_record


def test_a_trials_record_begins_with_the_goal_and_is_in_small_units(measurement):
    record = trial_record("s", 7, Settings(), "ok", measurement, baseline_samples_per_s=305.0)
    metrics = record["metrics"]
    assert list(metrics)[0] == "samples_per_s"
    assert metrics["speedup"] == pytest.approx(metrics["samples_per_s"] / 305, rel=1e-3)
    assert metrics["step_time_ms"] == pytest.approx(52.5)
    assert metrics["peak_host_mib"] == 2048
    assert metrics["gpu_memory_mib"] == 1024
    assert metrics["gpu_power_w"] == 300


def test_where_the_run_time_is_the_goal_it_comes_first(measurement, run_time_result):
    metrics = trial_record("s", 7, Settings(), "ok", measurement, run_time_s=11525.04)["metrics"]
    assert list(metrics)[:2] == ["run_time_s", "samples_per_s"]
    assert metrics["run_time_s"] == 11525
    failed = trial_record("s", 7, Settings(), "oom", measurement, run_time_s=math.inf)["metrics"]
    assert list(failed)[0] == "run_time_s" and failed["run_time_s"] is None
    ended = ended_record("s", "finished", run_time_result)["metrics"]
    assert (ended["run_time_s"], ended["run_time_s_high"]) == (11525, 11650)
    assert ended["baseline_run_time_s"] > ended["run_time_s"]


def test_a_failed_trial_has_no_speed_but_its_costs(measurement):
    metrics = trial_record("s", 7, Settings(), "oom", measurement, "too big")["metrics"]
    assert metrics["samples_per_s"] is None
    assert "speedup" not in metrics and "step_time_ms" not in metrics
    assert metrics["peak_device_mib"] == 1024


def test_a_trial_that_measured_nothing_has_finite_numbers_only():
    metrics = trial_record("s", 7, Settings(), "ok", Measurement(()), wall_s=3.0)["metrics"]
    assert metrics["wall_s"] == 3.0
    assert all(math.isfinite(value) for value in metrics.values() if value is not None)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("7 workers=2 channels_last", {"settings": Settings(2, memory_format="channels_last")}),
        ("7 oom workers=16", {"settings": Settings(num_workers=16), "outcome": "oom"}),
        ("7 baseline", {"settings": Settings(), "kind": "baseline"}),
        (
            "7 pin_memory bf16 compile=default fused no_set_to_none",
            {
                "settings": Settings(
                    pin_memory=True,
                    amp="bf16",
                    compile_mode="default",
                    optimizer_kernel="fused",
                    set_to_none=False,
                )
            },
        ),
    ],
)
def test_a_runs_name_says_what_is_special(name, arguments):
    assert run_name(7, **arguments) == name


def test_a_study_that_found_nothing_has_the_speedup_one(result):
    same = dataclasses.replace(result, winner=result.baseline)
    metrics = ended_record("s", "finished", same)["metrics"]
    assert metrics["speedup"] == 1.0
    assert metrics["samples_per_s"] == metrics["baseline_samples_per_s"] == 401.2


def test_a_session_that_keeps_what_an_earlier_one_proved_tells_no_figures_of_its_own(result):
    for winner in (result.winner, result.baseline):
        kept = dataclasses.replace(result, winner=winner, kept=True, earlier="It stays frozen.")
        record = ended_record("s", "finished", kept)
        assert record["metrics"] == {"n_trials": 31, "wall_s": 612}
        assert "changed" not in record and "It stays frozen." in record["note"]


def test_the_experts_speedup_stands_with_its_ends(result):
    metrics = ended_record("s", "finished", result)["metrics"]
    ends = {name: metrics[f"expert_speedup{name}"] for name in ("_low", "", "_high")}
    assert ends == {"_low": 1.81, "": 1.85, "_high": 1.89}
