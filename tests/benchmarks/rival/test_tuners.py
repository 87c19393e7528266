import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.rival import tuners
from benchmarks.rival.tuners import Asking, NoAnswer
from benchmarks.rival.venvs import CannotInstall
from hotlap.frozen import dump
from hotlap.settings import Settings

WINNER = {"precision": "amp_bf16", "compile": "default", "channels_last": True, "fused_opt": True}


@pytest.fixture
def how(tmp_path):
    return Asking(60.0, 1.0, tmp_path / "venvs", False, tmp_path)


def test_a_frozen_file_gives_what_it_changes_and_its_interval(tmp_path):
    path = tmp_path / "frozen.yaml"
    dump(path, Settings(num_workers=2), {"speedup": 1.5, "speedup_ci95": [1.4, 1.6]})
    assert tuners.parse_ours(path) == ({"num_workers": 2}, (1.5, 1.4, 1.6))
    dump(path, Settings(), {"speedup": 1.0, "speedup_ci95": None})
    assert tuners.parse_ours(path) == ({}, (1.0, None, None))


def test_autotunes_report_becomes_settings_by_our_names():
    report = {"env": {"torch": "2.9"}, "winner": WINNER, "speedup": 1.7}
    settings, claim = tuners.parse_autotune(report)
    assert settings == {
        "amp": "bf16",
        "compile_mode": "default",
        "memory_format": "channels_last",
        "optimizer_kernel": "fused",
    }
    assert claim == (1.7, None, None)


def test_autotunes_tf32_and_cudnn_flags_count_on_a_gpu_only():
    report = {"env": {}, "winner": {**WINNER, "precision": "tf32", "compile": "off"}, "speedup": 1}
    assert "cudnn_benchmark" not in tuners.parse_autotune(report)[0]
    settings, _ = tuners.parse_autotune({**report, "env": {"gpu_name": "H200"}})
    assert settings["float32_matmul_precision"] == "high" and settings["cudnn_benchmark"] is True
    assert (settings["amp"], settings["compile_mode"]) == ("none", "none")


def fixed(**more):
    ratio = {"point": 1.3, "low": 1.18, "high": 1.9, "n_pairs": 5}
    tried = [
        {"candidate": "dataloader_workers", "env": {"TRAIN_DOCTOR_FIX_NUM_WORKERS": "4"}},
        {"candidate": "cudnn_benchmark", "env": {"TRAIN_DOCTOR_FIX_CUDNN_BENCHMARK": "1"}},
    ]
    proven = {"candidate": "dataloader_workers", "ratio": ratio}
    return {"candidates": tried, "proven": proven, **more}


def test_train_doctors_proven_change_becomes_settings():
    assert tuners.parse_doctor(fixed()) == ({"num_workers": 4}, (1.3, 1.18, 1.9))
    both = {
        "candidate": "combined",
        "env": {"TRAIN_DOCTOR_FIX_NUM_WORKERS": "4", "TRAIN_DOCTOR_FIX_PIN_MEMORY": "1"},
    }
    proven = {"candidate": "combined", "ratio": {"point": 2, "low": 1, "high": 3}}
    settings, _ = tuners.parse_doctor(fixed(combined=both, proven=proven))
    assert settings == {"num_workers": 4, "pin_memory": True}


def test_train_doctor_without_a_proof_changes_nothing_and_without_a_profile_has_no_answer():
    assert tuners.parse_doctor(fixed(proven=None)) == ({}, (1.0, None, None))
    with pytest.raises(NoAnswer, match="could not profile the loop: install torch"):
        tuners.parse_doctor({"error": {"hint": "install torch"}})


def test_the_engineers_answer_is_taken_as_it_is():
    answer = {"settings": {"amp": "bf16"}, "speedup": 1.2, "trials": 8}
    assert tuners.parse_optuna(answer) == ({"amp": "bf16"}, (1.2, None, None))


def test_the_last_json_of_an_output_is_found_on_one_line_or_on_many():
    value = {"settings": {"a": 1}, "b": [1, 2]}
    assert tuners.last_json(f"warning {{x}}\n{json.dumps(value)}\n") == value
    assert tuners.last_json(f"{{not json\n{json.dumps(value, indent=2)}\n") == value
    with pytest.raises(NoAnswer, match="printed no answer"):
        tuners.last_json("nothing\n")


@pytest.mark.parametrize("tuner", ["pytorch-autotune", "train-doctor", "optuna"])
def test_a_rival_that_cannot_be_installed_is_an_answer_with_the_reason(monkeypatch, how, tuner):
    def prepare(*_):
        raise CannotInstall("ERROR: no such release")

    monkeypatch.setattr(tuners, "prepare", prepare)
    answer = tuners.ask(tuner, "convnet", how)
    assert answer.failed == "cannot be installed: ERROR: no such release"
    assert answer.settings == {} and answer.claimed is None


def test_a_tuner_that_fails_is_an_answer_with_its_last_line_and_its_log_is_kept(monkeypatch, how):
    monkeypatch.setitem(
        tuners._ASK, "optuna", lambda *_: tuners._run([sys.executable, "-c", "1/0"], Path(), how)
    )
    monkeypatch.setattr(tuners, "prepare", lambda *_: Path(sys.executable))
    answer = tuners.ask("optuna", "convnet", how)
    assert answer.failed == "ended with code 1: ZeroDivisionError: division by zero"
    assert "ZeroDivisionError" in (how.place / "log.txt").read_text()


def test_a_setting_that_the_judge_does_not_know_is_no_answer(monkeypatch, how):
    answer = {"warp": 9}, (2.0, None, None)
    monkeypatch.setitem(tuners._ASK, "hotlap", lambda *_: answer)
    assert tuners.ask("hotlap", "convnet", how).failed == "the judge has no setting warp"


def test_an_answer_of_another_shape_is_told_and_the_others_go_on(monkeypatch, how):
    monkeypatch.setitem(tuners._ASK, "hotlap", lambda *_: tuners.parse_optuna({"settings": {}}))
    assert tuners.ask("hotlap", "convnet", how).failed == "its answer has no 'speedup'"
    nothing = {"env": {}, "winner": None}
    monkeypatch.setitem(tuners._ASK, "hotlap", lambda *_: tuners.parse_autotune(nothing))
    assert "NoneType" in tuners.ask("hotlap", "convnet", how).failed
    no_list = {"proven": {"candidate": "a"}, "candidates": [{"candidate": "a", "env": None}]}
    monkeypatch.setitem(tuners._ASK, "hotlap", lambda *_: tuners.parse_doctor(no_list))
    assert "no attribute 'items'" in tuners.ask("hotlap", "convnet", how).failed


def test_a_command_that_is_not_there_is_an_answer_too(monkeypatch, how):
    monkeypatch.setattr(tuners, "prepare", lambda *_: Path("/nowhere/python"))
    assert "/nowhere/train-doctor" in tuners.ask("train-doctor", "convnet", how).failed


def commands(monkeypatch, how, tuner):
    """The words of a tuner's command, without running it."""
    said = []

    def run(words, cwd, environment, limit_s):
        said.append(list(words))
        return subprocess.CompletedProcess(words, 1, "", "stopped here")

    monkeypatch.setattr(tuners, "run", run)
    monkeypatch.setattr(tuners, "prepare", lambda *_: Path("/venv/bin/python"))
    assert "stopped here" in tuners.ask(tuner, "convnet", how).failed
    (words,) = said
    return words


def test_ours_and_train_doctor_get_the_same_unchanged_script(monkeypatch, how):
    ours = commands(monkeypatch, how, "hotlap")
    doctor = commands(monkeypatch, how, "train-doctor")
    assert f"script={doctor[-1]}" in ours and {"budget=60s", "bank=none"} <= set(ours)
    assert doctor[:2] == ["/venv/bin/train-doctor", "fix"] and doctor[-2] == sys.executable


def test_those_who_take_a_budget_get_ours(monkeypatch, how):
    assert commands(monkeypatch, how, "pytorch-autotune")[-2:] == ["convnet", "60"]
    assert commands(monkeypatch, how, "optuna")[-2:] == ["60.0", "1.0"]
