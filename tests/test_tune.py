"""tune.py as a user types it, in a folder of the user's own."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time

import optuna
import psutil
import pytest
import yaml
from optuna.trial import TrialState

from hotlap import frozen
from tests.conftest import LIMIT_S, ROOT

QUICK = (
    "window.max_s=0.5 window.min_s=0.2 window.block_s=0.1 budget=4m "
    "runner.preload=[torch,sklearn.datasets] "  # each trial would import it anew, for seconds
    "confirm.max_rounds=2 confirm.n_best=1"
).split()

pytestmark = pytest.mark.slow


def folders(cwd):
    return sorted(path.parent for path in (cwd / "outputs").glob("*/*/config.yaml"))


def states(folder):
    """The states of the trials in a study's file, as Optuna reads it."""
    storage = f"sqlite:///{folder / 'study.db'}"
    (name,) = optuna.get_all_study_names(storage)
    return [t.state for t in optuna.load_study(study_name=name, storage=storage).trials]


def wait_for_trial(tuner, cwd, number):
    """Until the trial has begun; returns the study's folder and all processes of the tuner's."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline and tuner.poll() is None:
        found = list((cwd / "outputs").glob(f"*/*/trials/{number:04d}/events.jsonl"))
        if found and "started" in found[0].read_text():
            family = psutil.Process(tuner.pid).children(recursive=True)
            return found[0].parents[2], family
        time.sleep(0.05)
    pytest.fail(f"trial {number} never began: {tuner.finish()}")


def gone(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def all_gone(family):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not all(map(gone, family)):
        time.sleep(0.05)
    return all(map(gone, family))


def test_a_study_ends_with_a_frozen_file_that_loads_and_all_that_was_measured(tmp_path, tune):
    code, out, err = tune(tmp_path, "+model=digits_mlp", "tracking=none", "n_trials=4", *QUICK)
    assert code == 0, out + err
    (folder,) = folders(tmp_path)
    last = out.rstrip().splitlines()[-1]
    assert last == f"frozen settings: {(folder / 'frozen.yaml').relative_to(tmp_path)}"
    loaded = frozen.load(folder / "frozen.yaml")
    result = json.loads((folder / "result.json").read_text())
    assert loaded.to_dict()["num_workers"] >= 0
    assert result["workload"] == "digits_mlp"
    assert len(states(folder)) == 4
    assert TrialState.RUNNING not in states(folder)
    trials = sorted(path.name for path in (folder / "trials").iterdir())
    assert trials == [f"{i:04d}" for i in range(len(trials))] and len(trials) > 4
    assert all((folder / "trials" / t / "job.json").exists() for t in trials)
    assert "Warning" not in out + err
    assert {path.name for path in tmp_path.iterdir()} == {"outputs"}


def test_ctrl_c_leaves_no_process_and_says_how_to_go_on(tmp_path, start, tune):
    words = ["+model=digits_mlp", "tracking=none", "n_trials=5", *QUICK]
    tuner = start(tmp_path, *words)
    folder, family = wait_for_trial(tuner, tmp_path, 2)
    tuner.send_signal(signal.SIGINT)
    code, out, err = tuner.finish()
    assert code == 130, out + err
    assert all_gone(family)
    assert "Traceback" not in out + err
    assert "are not searched" in out
    assert (out + err).count("interrupted") == 1
    command = re.search(r"resume=(\S+)", out + err)
    assert command and (tmp_path / command[1]).resolve() == folder.resolve()

    code, out, err = tune(tmp_path, f"resume={folder}")
    assert code == 0, out + err
    assert "are not searched" not in out  # the first session has told so
    assert folders(tmp_path) == [folder]
    assert len(states(folder)) == 5
    assert (folder / "frozen.yaml").exists()


def test_ctrl_c_while_the_entry_imports_is_a_word_and_no_traceback(tmp_path):
    for entry in ("tune.py", "train.py"):
        code = (
            "import signal, sys, time; sys.path.insert(0, sys.argv.pop(1))\n"
            "class Slow:  # stands for any import: Ctrl-C comes in the middle of it\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name == 'hydra': signal.raise_signal(signal.SIGINT)\n"
            "sys.meta_path.insert(0, Slow())\n"
            "import runpy; runpy.run_path(sys.argv[1], run_name='__main__')\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(ROOT), str(ROOT / entry), "+model=digits_mlp"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("errors", [subprocess.PIPE, subprocess.STDOUT])
def test_a_study_that_nobody_reads_to_its_end_is_finished(tmp_path, errors, start):
    words = ["+model=digits_mlp", "tracking=none", "n_trials=2", *QUICK]
    tuner = start(tmp_path, *words, stderr=errors)
    tuner.stdout.readline()
    tuner.stdout.close()  # as `head -1` does
    try:
        assert tuner.wait(LIMIT_S) == 0
        assert not tuner.stderr or tuner.stderr.read() == ""
    finally:
        tuner.kill()
        if tuner.stderr:
            tuner.stderr.close()
    (folder,) = folders(tmp_path)
    assert (folder / "frozen.yaml").exists() and (folder / "result.json").exists()


def test_a_killed_tuner_leaves_no_process_and_can_go_on(tmp_path, start, tune):
    tuner = start(tmp_path, "+model=digits_mlp", "tracking=none", "n_trials=4", *QUICK)
    folder, family = wait_for_trial(tuner, tmp_path, 2)
    tuner.kill()
    tuner.finish()
    assert all_gone(family)
    assert states(folder) == [TrialState.COMPLETE] * 2

    code, out, err = tune(tmp_path, f"resume={folder}")
    assert code == 0, out + err
    assert len(states(folder)) == 4
    assert TrialState.RUNNING not in states(folder)


def test_a_full_disk_ends_a_study_with_a_sentence_and_it_can_go_on(small_disk, fill, start, tune):
    tuner = start(small_disk, "+model=digits_mlp", "tracking=none", "n_trials=5", *QUICK)
    folder, family = wait_for_trial(tuner, small_disk, 2)
    filler = fill()
    code, out, err = tuner.finish()
    assert code == 1, out + err
    assert all_gone(family)
    assert "Traceback" not in out + err
    assert "Make room; what was measured is kept, to go on: " in err
    assert f"resume={folder.relative_to(small_disk)}" in err

    filler.unlink()
    code, out, err = tune(small_disk, f"resume={folder}")
    assert code == 0, out + err
    assert len(states(folder)) == 5


def test_a_users_own_workload_is_tuned_without_touching_the_clone(users_folder, tune):
    mine = ["--config-dir", "my_conf", "+model=make", "freeze=best.yaml"]
    code, out, err = tune(users_folder, *mine, "tracking=none", "n_trials=3", *QUICK)
    assert code == 0, out + err
    assert out.rstrip().splitlines()[-1] == "frozen settings: best.yaml"
    (folder,) = folders(users_folder)
    assert frozen.load(users_folder / "best.yaml") == frozen.load(folder / "frozen.yaml")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("broken", ["in broken", "FileNotFoundError: my_data/rows.pt: these rows were never"]),
        ("breaks_in_a_step", ["in my_loss", "IndexError: class 10 of 10"]),
    ],
)
def test_a_workload_that_fails_by_itself_stops_at_once_with_its_traceback(
    users_folder, name, words, tune
):
    mine = ["--config-dir", "my_conf", f"+model={name}"]
    code, out, err = tune(users_folder, *mine, "tracking=none", *QUICK)
    assert code == 1, out + err
    for word in words:
        assert word in out + err
    (folder,) = folders(users_folder)
    assert len(list((folder / "trials").glob("*"))) <= 1
    assert not (folder / "frozen.yaml").exists()


def test_a_study_of_another_space_is_refused_with_the_knob_that_differs(tmp_path, tune):
    words = ["+model=digits_mlp", "tracking=none", "n_trials=2", "search_space=[optimizer]"]
    code, out, err = tune(tmp_path, *words, *QUICK)
    assert code == 0, out + err
    (folder,) = folders(tmp_path)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config["search_space"]["set_to_none"]["choices"].reverse()
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    code, out, err = tune(tmp_path, f"resume={folder}", "n_trials=4")
    assert code == 2, out + err
    told = "search_space.set_to_none was [True, False] and is [False, True]"
    assert told in " ".join((out + err).split())
    assert len(states(folder)) == 2


def test_a_sweep_runs_a_study_for_each_model(users_folder, tune):
    words = ["-m", "--config-dir", "my_conf", "+model=make,broken,digits_mlp", "tracking=none"]
    code, out, err = tune(users_folder, *words, "n_trials=2", *QUICK)
    assert code == 1, out + err  # one of them fails, and the next one still runs
    assert "these rows were never there" in out + err
    assert [f.parent.name for f in folders(users_folder)] == ["broken", "digits_mlp", "make"]
    assert len(list(users_folder.glob("outputs/*/*/frozen.yaml"))) == 2


def test_by_default_mlflow_keeps_one_parent_run_and_one_for_each_trial(tmp_path, tune):
    code, out, err = tune(tmp_path, "+model=digits_mlp", "n_trials=3", *QUICK)
    assert code == 0, out + err
    (folder,) = folders(tmp_path)
    with sqlite3.connect(tmp_path / "outputs" / "mlflow.db") as database:
        rows = database.execute("SELECT run_uuid, status FROM runs").fetchall()
        nested = database.execute(
            "SELECT run_uuid, value FROM tags WHERE key = 'mlflow.parentRunId'"
        ).fetchall()
    database.close()
    jobs = [json.loads(job.read_text()) for job in folder.glob("trials/*/job.json")]
    n_trials = sum(job["side"] == "both" for job in jobs)  # no list holds one side alone
    assert 0 < n_trials < len(jobs)
    assert len(rows) == n_trials + 1
    assert len(nested) == n_trials
    assert len({parent for _, parent in nested}) == 1
    assert {status for _, status in rows} <= {"FINISHED", "FAILED", "KILLED"}
    assert "Warning" not in out + err
