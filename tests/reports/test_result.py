import dataclasses
import json
import math

import pytest

from hotlap.measurement import Rate, Ratio
from hotlap.settings import Settings
from reports.arm import Arm
from reports.result import to_dict, write_json


def test_result_json_holds_the_headline_numbers_under_stable_keys(result, tmp_path):
    write_json(result, tmp_path / "result.json")
    data = json.loads((tmp_path / "result.json").read_text())
    assert data["format"] == 2
    assert data["found_better"] is True
    assert data["winner"]["speedup"] == {"value": 2.02, "low": 1.98, "high": 2.07}
    assert data["winner"]["rate"]["value"] == 812.4
    assert data["winner"]["changed"]["num_workers"] == 6
    assert data["winner"]["settings"]["amp"] == "none"
    assert data["baseline"]["changed"] == {}
    assert data["contributions"][1]["kept"] is False
    assert data["n_outcomes"]["pruned"] == 9
    assert data["frozen"] == str(result.frozen)


def test_result_json_holds_the_doubts_as_objects(full_result):
    (doubt,) = to_dict(full_result)["warnings"]
    assert doubt["name"] == "machine-busy"
    assert doubt["sentence"].startswith("others used 31 %")
    assert doubt["cause"] and doubt["advice"]


def test_result_json_holds_what_the_stages_found(full_result):
    data = json.loads(json.dumps(to_dict(full_result)))
    assert data["searched"] == 2.31
    assert data["noise"].startswith("Processes")
    assert list(data["diagnosis"]) == ["baseline", "winner"]
    assert data["refused"] == [{"name": "trial 12", "why": "its loss is nan at step 3"}]
    assert data["winner"]["compute"]["value"] == 820.0
    assert data["winner"]["stall_share"] == 0.009
    assert data["baseline"]["run_time"] is None
    together = data["contributions"][-1]
    assert together["setting"] == "pin_memory + non_blocking"
    assert together["value"] == [True, True] and together["reason"]
    assert together["without"]["compile_s"] == 41.2


def test_result_json_holds_the_run_time(run_time_result):
    data = json.loads(json.dumps(to_dict(run_time_result)))
    assert (data["objective"], data["epochs"]) == ("run_time", 90.0)
    assert data["winner"]["run_time"] == {"value": 11525.0, "low": 11400.0, "high": 11650.0}


def test_result_json_has_only_finite_numbers(result, tmp_path):
    unsure = dataclasses.replace(
        result.baseline, rate=Rate(5.0, 0.0, math.inf), step_time_s=math.nan
    )
    write_json(dataclasses.replace(result, baseline=unsure), tmp_path / "result.json")

    def refuse(word: str) -> None:
        pytest.fail(f"{word} in result.json")

    text = (tmp_path / "result.json").read_text()
    data = json.loads(text, parse_constant=refuse)
    assert data["baseline"]["rate"]["high"] is None
    assert data["baseline"]["step_time_s"] is None


def test_result_json_is_renamed_into_place(result, tmp_path):
    write_json(result, tmp_path / "result.json")
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_settings_that_mean_nothing_without_workers_are_not_reported(result):
    assert "prefetch_factor" not in to_dict(result)["baseline"]["settings"]


def test_an_arm_takes_means_of_its_processes_and_the_peak_of_their_memory(measurement):
    other = dataclasses.replace(
        measurement, startup_s=4.0, peak_host_bytes=99, gpu={"gpu_power_w": 100.0}
    )
    arm = Arm.of(Settings(), Rate(600.0, 590.0, 610.0), [measurement, other])
    assert arm.startup_s == 3.0
    assert arm.peak_host_bytes == measurement.peak_host_bytes
    assert arm.gpu["gpu_power_w"] == 200.0
    assert arm.n_runs == 2
    assert arm.samples_per_step == 32
    assert arm.rate.value == 600.0


@pytest.mark.parametrize(
    ("low", "names"),
    [(1.01, ["baseline", "expert", "winner"]), (0.99, ["baseline", "expert", "best tried"])],
)
def test_who_is_not_faster_beyond_doubt_is_no_winner(result, low, names):
    winner = dataclasses.replace(result.winner, speedup=Ratio(1.05, low, 1.1))
    assert list(dataclasses.replace(result, winner=winner).arms) == names


def test_the_baseline_is_not_listed_twice(result):
    same = dataclasses.replace(result, winner=result.baseline)
    assert list(same.arms) == ["baseline", "expert"]


def test_what_was_fast_and_may_not_be_frozen_is_no_winner(result):
    barred = dataclasses.replace(result.winner, barred="its loss is nan")
    refused = dataclasses.replace(result, winner=barred)
    assert result.found_better and not refused.found_better
    assert list(refused.arms) == ["baseline", "expert", "best tried"]


def test_without_a_proof_json_has_no_winner(result):
    slower = dataclasses.replace(result.winner, speedup=Ratio(0.5, 0.4, 0.6))
    data = to_dict(dataclasses.replace(result, winner=slower))
    assert data["found_better"] is False and data["winner"] is None
    assert data["best_tried"]["speedup"]["value"] == 0.5
    assert to_dict(result)["best_tried"] is None and to_dict(result)["winner"]
