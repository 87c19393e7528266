"""The full run, as a user starts it."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
import torch

from hotlap.frozen import dump
from hotlap.settings import Settings
from tests.conftest import ROOT

TRAIN = [sys.executable, str(ROOT / "train.py"), "+model=digits_mlp", "tracking=none"]

pytestmark = pytest.mark.slow


def train(folder, *words):
    return subprocess.run([*TRAIN, *words], cwd=folder, capture_output=True, text=True, timeout=200)


def checkpoint(folder):
    (path,) = folder.glob("outputs/digits_mlp/full-*/checkpoint.pt")
    return torch.load(path, weights_only=True)


def test_a_full_run_trains_and_compares_with_the_promise(tmp_path):
    provenance = {"samples_per_s": 1000.0, "samples_per_s_ci95": [900.0, 1100.0], "study": "s"}
    dump(tmp_path / "frozen.yaml", Settings(optimizer_kernel="foreach"), provenance)
    done = train(tmp_path, "settings=./frozen.yaml", "epochs=2")
    assert done.returncode == 0, done.stderr
    assert "epoch 2/2" in done.stdout
    assert "promised: 1,000 samples/s [900" in done.stdout
    assert checkpoint(tmp_path)["position"] == {"epoch": 2, "step_in_epoch": 0, "steps": 56}


def test_a_resumed_run_ends_with_the_weights_of_one_that_was_never_stopped(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    assert train(tmp_path / "whole", "epochs=2").returncode == 0
    assert train(tmp_path / "parts", "epochs=2", "max_steps=40").returncode == 0
    (folder,) = (tmp_path / "parts").glob("outputs/digits_mlp/full-*")
    assert checkpoint(tmp_path / "parts")["position"]["step_in_epoch"] == 12
    assert train(tmp_path / "parts", "epochs=2", f"resume={folder}").returncode == 0
    whole, parts = checkpoint(tmp_path / "whole"), checkpoint(tmp_path / "parts")
    assert whole["position"] == parts["position"]
    for name, tensor in whole["model"].items():
        assert torch.equal(tensor, parts["model"][name]), name


def test_ctrl_c_saves_a_checkpoint_and_leaves_no_process(tmp_path):
    run = subprocess.Popen(
        [*TRAIN, "epochs=1000000"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        while not run.stdout.readline().startswith("epoch 2/"):
            assert run.poll() is None
        children = psutil.Process(run.pid).children(recursive=True)
        run.send_signal(signal.SIGINT)
        rest = run.communicate(timeout=60)[0]
    finally:
        run.kill()
    assert run.returncode == 130
    assert "to go on, add resume=outputs/digits_mlp/full-" in rest
    assert checkpoint(tmp_path)["position"]["epoch"] >= 2
    time.sleep(0.1)
    assert not [child for child in children if child.is_running()]


def test_settings_of_the_process_environment_are_there(tmp_path):
    dump(tmp_path / "frozen.yaml", Settings(omp_wait_policy="passive", intraop_threads=1), {})
    done = subprocess.run(
        [*TRAIN, "settings=./frozen.yaml"],
        cwd=tmp_path,
        env={**os.environ, "OMP_DISPLAY_ENV": "true"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in done.stderr


def test_a_damaged_frozen_file_is_an_error_that_names_the_line(tmp_path):
    path = tmp_path / "frozen.yaml"
    path.write_text("settings:\n  num_workers: 2\n  memory_fromat: channels_last\n")
    done = train(tmp_path, f"settings={path}")
    assert done.returncode == 2
    assert f"{path}:3" in done.stderr
    assert "memory_format" in done.stderr


def test_a_frozen_file_of_another_machine_says_what_differs(tmp_path):
    provenance = {"samples_per_s": 1.0, "facts": {"cores": 640}, "versions": {"torch": "1.0"}}
    dump(tmp_path / "frozen.yaml", Settings(), provenance)
    done = train(tmp_path, "settings=./frozen.yaml", "max_steps=3")
    assert done.returncode == 0
    assert "the number of usable cores was 640" in done.stdout
    assert "torch was 1.0" in done.stdout


def test_a_missing_checkpoint_is_said(tmp_path):
    done = train(tmp_path, "resume=nowhere")
    assert done.returncode == 2
    assert "there is no checkpoint nowhere" in done.stderr
