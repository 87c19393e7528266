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
from tests.conftest import ROOT, Typed
from tests.short_study import MY_CONF

LIGHT = ["tracking=none", "runner.preload=[torch]"]
DIGITS = ["+model=digits_mlp", *LIGHT]
WORDS = [*MY_CONF, "+model=make", *LIGHT]
"""The user's own workload (tests/conftest.py): 16 steps an epoch, and torch alone to import."""

TRAIN = [sys.executable, str(ROOT / "train.py"), *WORDS]

pytestmark = pytest.mark.slow


@pytest.fixture
def train(tune):
    """Runs train.py in a folder, with words: its exit code and what it printed."""
    return lambda folder, *words: tune(folder, *words, entry="train.py")


def checkpoint(folder):
    (path,) = folder.glob("outputs/*/full-*/checkpoint.pt")
    return torch.load(path, weights_only=True)


def test_a_full_run_trains_and_compares_with_the_promise(tmp_path):
    provenance = {"samples_per_s": 1000.0, "samples_per_s_ci95": [900.0, 1100.0], "study": "s"}
    dump(tmp_path / "frozen.yaml", Settings(optimizer_kernel="foreach"), provenance)
    words = [*DIGITS, "settings=./frozen.yaml", "epochs=2"]
    code, out, err = Typed(tmp_path, *words, entry="train.py").finish()
    assert code == 0, err
    assert "epoch 2/2" in out
    assert "promised: 1,000 samples/s [900" in out
    assert checkpoint(tmp_path)["position"] == {"epoch": 2, "step_in_epoch": 0, "steps": 56}


def test_a_resumed_run_ends_with_the_weights_of_one_that_was_never_stopped(tmp_path, done):
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    words = [*DIGITS, "epochs=2"]
    done(tmp_path / "whole", *words, entry="train.py")
    done(tmp_path / "parts", *words, "max_steps=40", entry="train.py")
    (folder,) = (tmp_path / "parts").glob("outputs/digits_mlp/full-*")
    assert checkpoint(tmp_path / "parts")["position"]["step_in_epoch"] == 12
    done(tmp_path / "parts", *words, f"resume={folder}", entry="train.py")
    whole, parts = checkpoint(tmp_path / "whole"), checkpoint(tmp_path / "parts")
    assert whole["position"] == parts["position"]
    for name, tensor in whole["model"].items():
        assert torch.equal(tensor, parts["model"][name]), name


class Training(subprocess.Popen):
    """A full run that does not end by itself, begun in the user's own folder."""

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


def test_ctrl_c_saves_a_checkpoint_and_leaves_no_process(users_folder):
    run = Training(users_folder)
    run.until("epoch 2/")
    run.send_signal(signal.SIGINT)
    rest = run.rest()
    assert run.returncode == 130
    assert "it saves a checkpoint and ends" in rest
    command = r"interrupted; to go on: \S*python\S* \S*train.py resume=outputs/make/full-\S+\n"
    assert re.search(command, rest), rest
    assert checkpoint(users_folder)["position"]["steps"] > 16  # the first epoch's


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("persistent", ["true", "false"])
def test_a_signal_to_all_of_its_processes_saves_a_checkpoint(users_folder, number, persistent):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("whoever started these tests has made them deaf to it")
    workers = ("settings.num_workers=2", f"settings.persistent_workers={persistent}")
    run = Training(users_folder, *workers)
    run.until("epoch 2/")
    for process in (psutil.Process(run.pid), *run.family):  # as `systemctl stop` does
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
    rest = run.rest()
    assert run.returncode == 130, rest
    assert "to go on: " in rest and "train.py resume=outputs/make/full-" in rest
    assert checkpoint(users_folder)["position"]["steps"] > 16  # the first epoch's


def test_several_signals_at_once_still_save_a_checkpoint(users_folder):
    """A terminal that is closed sends more than one."""
    run = Training(users_folder)
    run.until("epoch 2/")
    for _ in range(5):
        run.send_signal(signal.SIGTERM)
        time.sleep(0.01)
    rest = run.rest()
    assert run.returncode == 130, rest
    assert checkpoint(users_folder)["position"]["steps"] > 16  # the first epoch's


def test_a_training_process_that_is_stopped_alone_has_not_finished(users_folder):
    run = Training(users_folder)
    run.until("epoch 2/")
    (events,) = users_folder.glob("outputs/make/full-*/events.jsonl")
    started = json.loads(events.read_text().splitlines()[0])
    os.kill(started["pid"], signal.SIGTERM)
    rest = run.rest()
    assert run.returncode == 130, rest
    assert "interrupted; to go on: " in rest and "trained" not in rest
    assert checkpoint(users_folder)["position"]["steps"] > 16  # the first epoch's


def test_ctrl_c_ends_a_sweep(users_folder):
    run = Training(users_folder, "-m", "seed=1,2")
    run.until("epoch 2/")
    run.send_signal(signal.SIGINT)
    rest = run.rest()
    assert run.returncode == 130, rest
    assert len(list(users_folder.glob("outputs/make/full-*"))) == 1


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
    words = [*MY_CONF, "+model=stuck", *LIGHT, "bank=none", "epochs=2"]
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


def test_settings_of_the_process_environment_are_there(users_folder):
    dump(users_folder / "frozen.yaml", Settings(omp_wait_policy="passive", intraop_threads=1), {})
    done = subprocess.run(
        [*TRAIN, "settings=./frozen.yaml"],
        cwd=users_folder,
        env={**os.environ, "OMP_DISPLAY_ENV": "true"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in done.stderr


def test_a_damaged_frozen_file_is_an_error_that_names_the_line(tmp_path, train):
    path = tmp_path / "frozen.yaml"
    path.write_text("settings:\n  num_workers: 2\n  memory_fromat: channels_last\n")
    code, _, err = train(tmp_path, *DIGITS, f"settings={path}")
    assert code == 2
    assert f"{path}:3" in err
    assert "memory_format" in err


def test_a_frozen_file_of_another_machine_says_what_differs(users_folder, done):
    provenance = {"samples_per_s": 1.0, "facts": {"cores": 640}, "versions": {"torch": "1.0"}}
    cores = machine_facts()["cores"]
    dump(users_folder / "frozen.yaml", Settings(num_workers=cores + 1), provenance)
    words = [*WORDS, "settings=./frozen.yaml", "max_steps=3"]
    out = done(users_folder, *words, entry="train.py")
    assert "the number of usable cores was 640" in out
    assert "torch was 1.0" in out
    assert f"{cores + 1} loader workers on {cores} core" in out
    assert f"type settings={users_folder}/frozen.yaml settings.num_workers={cores}" in out
    assert "measured on another machine, so this run is not compared" in out
    assert "of promised" not in out and "promised:" not in out


def test_more_workers_than_cores_are_told_where_they_were_typed_too(users_folder, done):
    cores = machine_facts()["cores"]
    words = [*WORDS, f"settings.num_workers={cores + 1}", "max_steps=1"]
    out = done(users_folder, *words, entry="train.py")
    assert f"{cores + 1} loader workers on {cores} core" in out
    assert f"type settings.num_workers={cores}, or tune on this machine" in out


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


def test_a_promise_for_another_workload_is_not_compared_with(tmp_path, probed, done):
    path, facts = probed
    for word, same in (("model.batch_size=32", False), ("model.width=8", False), ("seed=3", True)):
        words = [*DIGITS, f"settings={path}", word, "bank=none"]
        out = done(tmp_path, *words, entry="train.py")
        assert ("promised: " in out) is same, out
        assert ("measured on another workload, so" in out) is not same
    last = max(tmp_path.glob("outputs/digits_mlp/full-*"), key=os.path.getmtime)
    events = [json.loads(line) for line in (last / "events.jsonl").read_text().splitlines()]
    (batch,) = [event["facts"] for event in events if event["event"] == "batch"]
    assert batch == {"batch_shapes": facts["batch_shapes"]}


def test_a_spoilt_figure_is_told_before_the_run_begins(tmp_path, train):
    path = tmp_path / "frozen.yaml"
    dump(path, Settings(), {"samples_per_s": 5000.0, "samples_per_s_ci95": [None, 6000.0]})
    code, _, err = train(tmp_path, *DIGITS, f"settings={path}")
    assert code == 2 and "Traceback" not in err
    assert "provenance.samples_per_s_ci95[0] is None; it has to be a number" in err
    assert not (tmp_path / "outputs").exists()


def test_a_missing_checkpoint_is_said(tmp_path, train):
    code, _, err = train(tmp_path, *DIGITS, "resume=nowhere")
    assert code == 2
    assert "there is no checkpoint nowhere" in err


def test_a_run_goes_on_from_the_home_folder_with_settings_that_can_be_read(
    users_folder, train, monkeypatch
):
    code, out, err = train(users_folder, *WORDS, "max_steps=3")
    assert code == 0, out + err
    (folder,) = users_folder.glob("outputs/make/full-*")
    monkeypatch.setenv("HOME", str(users_folder))
    words = [*WORDS, "max_steps=5", f"resume=~/{folder.relative_to(users_folder)}"]
    code, out, err = train(users_folder, *words)
    assert code == 0, out + err
    assert checkpoint(users_folder)["position"]["steps"] == 5
    spoilt = "{settings: {}, frozen: null, provenance: {samples_per_s: .nan}}"
    for edited in ("settings: {num_workers: 0}", "- a list", "a: [", "settings: 3", spoilt):
        (folder / "config.yaml").write_text(edited)
        code, _, err = train(users_folder, *words)
        assert code == 2 and "Traceback" not in err, err
        assert "config.yaml cannot be read as the config of a full run" in err
        assert "settings=<frozen file>" in err
