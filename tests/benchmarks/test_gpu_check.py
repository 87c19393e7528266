import json
import re
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch

from benchmarks import gpu_check
from benchmarks.gpu import knobs, look, plain, trials
from benchmarks.gpu.check import Check, failed, passed
from benchmarks.gpu.knobs import Row, above, one_has, verdict
from hotlap.apply import apply
from hotlap.settings import NAMES, Settings
from tests.conftest import ROOT

NOT_CUDAS = {
    "multiprocessing_context",
    "in_order",
    "intraop_threads",
    "interop_threads",
    "worker_threads",
    "omp_wait_policy",
    "allocator",
}
"""Settings that mean the same on every machine; tests on a CPU try them."""


def check(*words):
    command = [sys.executable, "-m", "benchmarks.gpu_check", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def report(**values):
    plain = {"disagreements": [], "notes": [], "in_force": {"amp": "bf16"}}
    return {**plain, **values}


@pytest.mark.skipif(torch.cuda.is_available(), reason="is about a machine without CUDA")
def test_without_cuda_one_sentence_is_printed_and_the_code_is_2():
    done = check()
    assert done.returncode == 2
    assert done.stdout.startswith("torch finds no CUDA device")
    assert len(done.stdout.splitlines()) == 1


def test_on_a_cpu_the_knobs_that_make_sense_there_take_effect():
    names = ["tuner without torch", "defaults", "amp=bf16", "optimizer_kernel=fused"]
    done = check("--device", "cpu", "--only", *names)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [f"PASS {name}:" in done.stdout for name in names] == [True] * 4
    assert "4 PASS" in done.stdout


def test_a_pattern_that_names_no_check_is_no_success():
    assert check("--device", "cpu", "--only", "amp=int3").returncode == 1


def test_a_plain_loop_tells_its_steps_and_what_they_took(capsys):
    assert plain.main(["digits_mlp", "cpu", "0.1"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["n_steps"] >= plain.MIN_STEPS and answer["seconds"] > 0


@pytest.mark.slow
def test_a_trial_of_its_own_is_compared_with_the_plain_loop(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(trials, "WALL_S", 1.0)
    found = trials.wall_time(runner, tmp_path, "cpu", 240)
    words = r"trial ([\d.]+) steps/s, plain loop ([\d.]+) before and ([\d.]+)"
    rates = re.match(words, found.detail)
    assert rates and all(float(rate) > 0 for rate in rates.groups()), found


def test_jobs_with_a_default_device_come_to_their_ends(runner, tmp_path):
    found = trials.default_device(runner, tmp_path, "cpu", 120)
    assert found.status == "PASS", found.detail


@pytest.mark.parametrize(("changes", "status"), [
    ({}, "PASS"),
    ({"gpu_power_w": None}, "SKIP"),
    ({"gpu_power_w": 0.0}, "FAIL"),
    (dict.fromkeys((*trials.WATCHED, "gpu_memory_bytes")), "FAIL"),
])  # fmt: skip
def test_a_counter_that_the_driver_does_not_have_is_no_fault(changes, status):
    gpu = {**dict.fromkeys((*trials.WATCHED, "gpu_memory_bytes"), 1.0), **changes}
    there = {name: value for name, value in gpu.items() if value is not None}
    assert trials.watched(there).status == status


def test_every_cuda_knob_is_tried():
    tried = {name for row in (*knobs.ROWS, *knobs.LONG) for name in row.settings}
    assert tried == set(NAMES) - NOT_CUDAS


def test_all_rows_are_settings_that_exist():
    for row in (*knobs.ROWS, *knobs.LONG):
        Settings.from_dict(row.settings)


def test_each_row_has_a_name_of_its_own():
    names = [row.name for row in (*knobs.ROWS, *knobs.LONG)]
    assert len(set(names)) == len(names)


def test_a_report_as_promised_passes():
    row = Row({"amp": "bf16"}, {"forward_dtype": "bfloat16", "ops": one_has("fused")})
    found = verdict(row, report(forward_dtype="bfloat16", ops=["aten::_fused_adamw_"]))
    assert found.status == "PASS"
    assert "torch says amp bf16" in found.detail


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"error": 1e-7}, "error should be above 1e-05, and is 1e-07"),
        ({}, "error should be above 1e-05, and is None"),
        ({"error": 1, "disagreements": ["amp should be 'bf16'"]}, "amp should be 'bf16'"),
        ({"error": 1, "notes": [{"setting": "amp", "reason": "not here"}]}, "amp: not here"),
    ],
)
def test_a_report_that_says_otherwise_fails_with_the_reason(values, reason):
    found = verdict(Row({"amp": "bf16"}, {"error": above(1e-5)}), report(**values))
    assert (found.status, found.detail) == ("FAIL", reason)


@pytest.mark.parametrize("settings", [
    {"float32_matmul_precision": "high"},
    {"float32_matmul_precision": "medium"},
    {"cudnn_allow_tf32": True},
])  # fmt: skip
def test_what_needs_tf32_is_skipped_on_a_device_without_it(settings):
    (row,) = (row for row in knobs.ROWS if row.settings == settings)
    exact = {"matmul_error": 1e-7, "conv_error": 1e-7}
    found = verdict(row, report(**exact, tf32=False))
    assert (found.status, found.detail) == (
        "SKIP",
        "this device has no TF32 (NVIDIA Ampere and later do)",
    )
    assert verdict(row, report(**exact, tf32=True)).status == "FAIL"


def test_the_report_says_whether_the_device_has_tf32():
    assert look.look(apply(look.small(), Settings()))["tf32"] is False


def test_a_setting_that_is_not_in_force_is_seen():
    applied = apply(look.small(), Settings())
    only_told = replace(applied, settings=Settings(memory_format="channels_last"))
    found = verdict(Row({"memory_format": "channels_last"}), look.look(only_told))
    assert found.status == "FAIL"
    assert "memory_format should be 'channels_last'" in found.detail


def test_a_check_that_would_not_end_in_time_is_skipped_and_says_so(capsys):
    checks = [Check("long", 60, lambda s: failed("was run")), Check("short", 1, _passes)]
    counts = gpu_check.run_all(checks, time.monotonic() + 30)
    assert counts == {"SKIP": 1, "PASS": 1}
    assert "SKIP long: out of time: it may take 60 s" in capsys.readouterr().out


def test_a_check_that_raises_fails_and_the_others_go_on(capsys):
    def raises(timeout_s):
        raise ValueError("no such thing")

    counts = gpu_check.run_all([Check("bad", 1, raises), Check("good", 1, _passes)], 1e12)
    assert counts == {"FAIL": 1, "PASS": 1}
    assert "FAIL bad: ValueError: no such thing" in capsys.readouterr().out


def test_where_all_is_skipped_no_promise_holds(capsys):
    assert gpu_check.main(["--device", "cpu", "--deadline", "0"]) == 1
    assert "SKIP" in capsys.readouterr().out


def _passes(timeout_s):
    return passed("fine")
