"""Studies that are interrupted, killed or run out of room midway, and go on."""

import re
import signal
import subprocess
import sys
import time

import psutil
import pytest
from optuna.trial import TrialState

from tests.conftest import LIMIT_S, ROOT
from tests.short_study import LIGHT, ONE_SERVER, folders, states

HELD = """
import time
from pathlib import Path
from my_job import make

HELD = Path(__file__).parent / "held"

def held():
    while HELD.exists() and list(Path("outputs").glob("*/*/trials/0002")):
        time.sleep(0.05)
    return make()
"""
"""Trial 2 begins, and waits as long as the file is there: however slow the machine is, it is what
runs when something happens."""

pytestmark = pytest.mark.slow


@pytest.fixture
def study(users_folder):
    """The words of a study whose trial 2 waits for the test."""
    (users_folder / "my_held_job.py").write_text(HELD)
    option = users_folder / "my_conf" / "model" / "held.yaml"
    option.write_text("# @package _global_\nmodel:\n  workload: my_held_job.held\n")
    (users_folder / "held").touch()
    conf = ["--config-dir", str(option.parents[1])]
    return [*conf, "+model=held", *LIGHT, *ONE_SERVER, "tracking=none"]


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


def test_ctrl_c_leaves_no_process_and_says_how_to_go_on(users_folder, study, start, tune):
    tuner = start(users_folder, *study, "n_trials=4")
    folder, family = wait_for_trial(tuner, users_folder, 2)
    tuner.send_signal(signal.SIGINT)
    code, out, err = tuner.finish()
    assert code == 130, out + err
    assert all_gone(family)
    assert "Traceback" not in out + err
    assert "are not searched" in out
    assert (out + err).count("interrupted") == 1
    command = re.search(r"resume=(\S+)", out + err)
    assert command and (users_folder / command[1]).resolve() == folder.resolve()

    (users_folder / "held").unlink()
    code, out, err = tune(users_folder, f"resume={folder}")
    assert code == 0, out + err
    assert "are not searched" not in out  # the first session has told so
    assert folders(users_folder) == [folder]
    assert len(states(folder)) == 4
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


def test_a_killed_tuner_leaves_no_process_and_can_go_on(users_folder, study, start, tune):
    tuner = start(users_folder, *study, "n_trials=3")
    folder, family = wait_for_trial(tuner, users_folder, 2)
    tuner.kill()
    tuner.finish()
    assert all_gone(family)
    assert states(folder) == [TrialState.COMPLETE] * 2

    (users_folder / "held").unlink()
    code, out, err = tune(users_folder, f"resume={folder}")
    assert code == 0, out + err
    assert len(states(folder)) == 3
    assert TrialState.RUNNING not in states(folder)


def test_a_full_disk_ends_a_study_with_a_sentence_and_it_can_go_on(
    users_folder, study, small_disk, fill, start, tune
):
    tuner = start(small_disk, *study, "n_trials=3")
    folder, family = wait_for_trial(tuner, small_disk, 2)
    filler = fill()
    (users_folder / "held").unlink()
    code, out, err = tuner.finish()
    assert code == 1, out + err
    assert all_gone(family)
    assert "Traceback" not in out + err
    assert "Make room; what was measured is kept, to go on: " in err
    assert f"resume={folder.relative_to(small_disk)}" in err

    filler.unlink()
    code, out, err = tune(small_disk, f"resume={folder}")
    assert code == 0, out + err
    assert len(states(folder)) == 3
