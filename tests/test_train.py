"""The full run, as a user starts it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest
import torch

from hotlap.frozen import dump
from hotlap.job import Job
from hotlap.settings import Settings
from search_spaces import machine_facts
from tests.conftest import ROOT

WORDS = ["+model=digits_mlp", "tracking=none", "runner.preload=[torch]"]
TRAIN = [sys.executable, str(ROOT / "train.py"), *WORDS]

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


class Training(subprocess.Popen):
    """A full run that does not end by itself, begun in a folder."""

    def __init__(self, folder, *words):
        super().__init__(
            [*TRAIN, "epochs=1000000", "bank=none", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def until(self, words):
        """Until it has printed a line with these words."""
        seen = []
        while words not in (line := self.stdout.readline()):
            assert line or self.poll() is None, "".join(seen)
            seen.append(line)
        self.family = psutil.Process(self.pid).children(recursive=True)

    def rest(self):
        """What it prints until it ends; nothing of it is left then."""
        try:
            rest = self.communicate(timeout=100)[0]
        finally:
            self.kill()
        deadline = time.monotonic() + 30
        while any(child.is_running() for child in self.family) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not [child for child in self.family if child.is_running()]
        return rest


def test_ctrl_c_saves_a_checkpoint_and_leaves_no_process(tmp_path):
    run = Training(tmp_path)
    run.until("epoch 2/")
    run.send_signal(signal.SIGINT)
    rest = run.rest()
    assert run.returncode == 130
    assert "it saves a checkpoint and ends" in rest
    command = (
        r"interrupted; to go on: \S*python\S* \S*train.py resume=outputs/digits_mlp/full-\S+\n"
    )
    assert re.search(command, rest), rest
    assert checkpoint(tmp_path)["position"]["steps"] > 28  # the first epoch's


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("persistent", ["true", "false"])
def test_a_signal_to_all_of_its_processes_saves_a_checkpoint(tmp_path, number, persistent):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("whoever started these tests has made them deaf to it")
    workers = ("settings.num_workers=2", f"settings.persistent_workers={persistent}")
    run = Training(tmp_path, *workers)
    run.until("epoch 2/")
    for process in (psutil.Process(run.pid), *run.family):  # as `systemctl stop` does
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
    rest = run.rest()
    assert run.returncode == 130, rest
    assert "to go on: " in rest and "train.py resume=outputs/digits_mlp/full-" in rest
    assert checkpoint(tmp_path)["position"]["steps"] > 28  # the first epoch's


def test_several_signals_at_once_still_save_a_checkpoint(tmp_path):
    """A terminal that is closed sends more than one."""
    run = Training(tmp_path)
    run.until("epoch 2/")
    for _ in range(5):
        run.send_signal(signal.SIGTERM)
        time.sleep(0.01)
    rest = run.rest()
    assert run.returncode == 130, rest
    assert checkpoint(tmp_path)["position"]["steps"] > 28  # the first epoch's


def test_a_training_process_that_is_stopped_alone_has_not_finished(tmp_path):
    run = Training(tmp_path)
    run.until("epoch 2/")
    (events,) = tmp_path.glob("outputs/digits_mlp/full-*/events.jsonl")
    started = json.loads(events.read_text().splitlines()[0])
    os.kill(started["pid"], signal.SIGTERM)
    rest = run.rest()
    assert run.returncode == 130, rest
    assert "interrupted; to go on: " in rest and "trained" not in rest
    assert checkpoint(tmp_path)["position"]["steps"] > 28  # the first epoch's


def test_ctrl_c_ends_a_sweep(tmp_path):
    run = Training(tmp_path, "-m", "seed=1,2")
    run.until("epoch 2/")
    run.send_signal(signal.SIGINT)
    rest = run.rest()
    assert run.returncode == 130, rest
    assert len(list(tmp_path.glob("outputs/digits_mlp/full-*"))) == 1


STUCK = """
import time
from my_job import make

class NeverCome:
    def __len__(self):
        return 64

    def __getitem__(self, i):
        print("asked for", flush=True)
        open("asked_for", "w").close()
        while True:
            time.sleep(0.01)

def stuck():
    workload = make()
    workload.dataset = NeverCome()
    return workload
"""


def test_a_second_ctrl_c_ends_a_run_that_hangs_and_nothing_is_promised(users_folder):
    (users_folder / "my_other_job.py").write_text(STUCK)
    (users_folder / "my_conf" / "model" / "stuck.yaml").write_text(
        "# @package _global_\nmodel:\n  workload: my_other_job.stuck\n"
    )
    words = ["--config-dir", "my_conf", "+model=stuck", *WORDS[1:], "bank=none", "epochs=2"]
    run = subprocess.Popen(
        [sys.executable, str(ROOT / "train.py"), *words],
        cwd=users_folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        while not (users_folder / "asked_for").exists():
            assert run.poll() is None
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        while "it saves a checkpoint and ends" not in run.stdout.readline():
            assert run.poll() is None
        run.send_signal(signal.SIGINT)
        rest = run.communicate(timeout=60)[0]
    finally:
        run.kill()
    assert run.returncode == 130
    assert "interrupted; no checkpoint was saved in outputs/stuck/full-" in rest
    assert "resume=" not in rest


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
    cores = machine_facts()["cores"]
    dump(tmp_path / "frozen.yaml", Settings(num_workers=cores + 1), provenance)
    done = train(tmp_path, "settings=./frozen.yaml", "max_steps=3")
    assert done.returncode == 0
    assert "the number of usable cores was 640" in done.stdout
    assert "torch was 1.0" in done.stdout
    assert f"{cores + 1} loader workers on {cores} core" in done.stdout
    assert f"type settings={tmp_path}/frozen.yaml settings.num_workers={cores}" in done.stdout
    assert "measured on another machine, so this run is not compared" in done.stdout
    assert "of promised" not in done.stdout and "promised:" not in done.stdout


def test_more_workers_than_cores_are_told_where_they_were_typed_too(tmp_path):
    cores = machine_facts()["cores"]
    done = train(tmp_path, f"settings.num_workers={cores + 1}", "max_steps=1")
    assert done.returncode == 0, done.stderr
    assert f"{cores + 1} loader workers on {cores} core" in done.stdout
    assert f"type settings.num_workers={cores}, or tune on this machine" in done.stdout


@pytest.fixture
def probed(runner, tmp_path):
    """A frozen file of this machine and this very workload."""
    own = {"dataset": "hotlap.zoo.digits.digits"}
    job = Job(
        "hotlap.zoo.mlp.digits_mlp", {"data": own, "batch_size": 64, "width": 64}, kind="probe"
    )
    run = runner.run(job, tmp_path / "probe", lambda event: False, 120)
    facts = next(event["facts"] for event in run.events if event["event"] == "facts")
    path = tmp_path / "frozen.yaml"
    dump(path, Settings(), {"samples_per_s": 9.0, "facts": {**machine_facts(), **facts}})
    return path, facts


def test_a_promise_for_another_workload_is_not_compared_with(tmp_path, probed):
    path, facts = probed
    for word, same in (("model.batch_size=32", False), ("model.width=8", False), ("seed=3", True)):
        done = train(tmp_path, f"settings={path}", word, "bank=none")
        assert done.returncode == 0, done.stderr
        assert ("promised: " in done.stdout) is same, done.stdout
        assert ("measured on another workload, so" in done.stdout) is not same
    last = max(tmp_path.glob("outputs/digits_mlp/full-*"), key=os.path.getmtime)
    events = [json.loads(line) for line in (last / "events.jsonl").read_text().splitlines()]
    (batch,) = [event["facts"] for event in events if event["event"] == "batch"]
    assert batch == {"batch_shapes": facts["batch_shapes"]}


def test_a_spoilt_figure_is_told_before_the_run_begins(tmp_path):
    path = tmp_path / "frozen.yaml"
    dump(path, Settings(), {"samples_per_s": 5000.0, "samples_per_s_ci95": [None, 6000.0]})
    done = train(tmp_path, f"settings={path}")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "provenance.samples_per_s_ci95[0] is None; it has to be a number" in done.stderr
    assert not (tmp_path / "outputs").exists()


def test_a_missing_checkpoint_is_said(tmp_path):
    done = train(tmp_path, "resume=nowhere")
    assert done.returncode == 2
    assert "there is no checkpoint nowhere" in done.stderr


def test_a_run_goes_on_from_the_home_folder_with_settings_that_can_be_read(tmp_path):
    assert train(tmp_path, "max_steps=3").returncode == 0
    (folder,) = tmp_path.glob("outputs/digits_mlp/full-*")
    home = {**os.environ, "HOME": str(tmp_path)}
    words = [*TRAIN, "max_steps=5", f"resume=~/{folder.relative_to(tmp_path)}"]

    def go_on():
        return subprocess.run(words, cwd=tmp_path, env=home, capture_output=True, text=True)

    done = go_on()
    assert done.returncode == 0, done.stderr
    assert checkpoint(tmp_path)["position"]["steps"] == 5
    spoilt = "{settings: {}, frozen: null, provenance: {samples_per_s: .nan}}"
    for edited in ("settings: {num_workers: 0}", "- a list", "a: [", "settings: 3", spoilt):
        (folder / "config.yaml").write_text(edited)
        done = go_on()
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
        assert "config.yaml cannot be read as the config of a full run" in done.stderr
        assert "settings=<frozen file>" in done.stderr
