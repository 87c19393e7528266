"""A full run that goes on, as a user types it: from which checkpoint, and until which limit."""

import json
import shlex
import shutil
import signal
import time

import pytest

from tests.conftest import MY_JOB
from tests.test_train import WORDS, Training, checkpoint

pytestmark = pytest.mark.slow


@pytest.fixture
def train(users_folder, done):
    """Runs train.py in the user's own folder, with words, and gives what it printed."""
    return lambda *words: " ".join(done(users_folder, *words, entry="train.py").split())


@pytest.fixture
def refused(users_folder, tune):
    """The one sentence with which train.py refuses to go on there."""

    def refused(*words):
        code, out, err = tune(users_folder, *words, entry="train.py")
        assert code == 2, out + err
        assert "Traceback" not in out + err and "to go on" not in out + err
        (line,) = err.strip().splitlines()
        return line

    return refused


def test_a_run_goes_on_from_the_checkpoint_that_is_named(users_folder, train):
    train(*WORDS, "max_steps=3")
    (folder,) = users_folder.glob("outputs/make/full-*")
    shutil.copy(folder / "checkpoint.pt", folder / "earlier.pt")
    train(f"resume={folder}", "max_steps=8")
    assert checkpoint(users_folder)["position"]["steps"] == 8
    told = train(f"resume={folder / 'earlier.pt'}", "max_steps=5")
    assert "trained 5 steps in all; 16 samples after this session's first step" in told
    assert checkpoint(users_folder)["position"]["steps"] == 5


def test_a_run_that_was_done_names_the_limit_and_one_with_a_step_left_was_not_done(
    users_folder, train
):
    train(*WORDS, "max_steps=15")
    (folder,) = users_folder.glob("outputs/make/full-*")
    told = train(f"resume={folder}")
    assert "done already: its 15 steps reached max_steps=15; to go on, type a larger max" in told
    assert "trained 15 steps in all checkpoint:" in told
    told = train(f"resume={folder}", "max_steps=16")
    assert "done already" not in told
    assert "trained 16 steps in all, loss " in told
    told = train(f"resume={folder}", "max_steps=null")
    assert "its 16 steps reached epochs=1; to go on, type a larger epochs=" in told
    told = train(f"resume={folder}", "max_steps=16")
    assert (
        "reached epochs=1 and max_steps=16; to go on, type a larger epochs= and max_steps=" in told
    )


def test_a_run_goes_on_with_its_first_sessions_settings_unless_others_are_typed(
    users_folder, train
):
    def in_force(*words, begin=WORDS):
        train(*begin, f"resume={folder}", *words)
        settings = json.loads((folder / "job.json").read_text())["settings"]
        return settings["optimizer_kernel"], settings["set_to_none"]

    train(*WORDS, "max_steps=3", "settings.optimizer_kernel=foreach")
    (folder,) = users_folder.glob("outputs/make/full-*")
    assert in_force("max_steps=4") == ("foreach", True)
    assert in_force("max_steps=5", "settings=default") == ("default", True)
    assert in_force("max_steps=6", "settings.set_to_none=false") == ("default", False)
    alone = ("max_steps=7", "settings.set_to_none=false")
    assert in_force(*alone, begin=()) == ("foreach", False)
    (folder / "config.yaml").write_text("no config")
    told = train(*WORDS, f"resume={folder}", "max_steps=8", "settings=default")
    assert "trained 8 steps in all" in told  # as the error without it advises


def test_one_command_at_a_time_trains_in_a_folder_and_a_crash_lets_go_of_it(
    users_folder, train, refused
):
    run = Training(users_folder, "checkpoint_every_s=0.1")
    try:
        run.until("epoch 2/")
        (folder,) = users_folder.glob("outputs/make/full-*")
        while not (folder / "checkpoint.pt").exists():
            assert run.poll() is None
            time.sleep(0.01)
        told = refused(*WORDS, f"resume={folder}")
    finally:
        run.kill()
    run.rest()
    assert f"another command is at work in {folder}; wait until it has ended" in told
    assert "or leave out resume= to start a new full run" in told
    assert "done already" in train(f"resume={folder}", "epochs=1", "max_steps=1")


def test_a_changed_model_and_a_damaged_checkpoint_are_one_sentence_each(
    users_folder, train, refused
):
    train(*WORDS, "max_steps=3")
    (folder,) = users_folder.glob("outputs/make/full-*")
    job = users_folder / "my_job.py"
    job.write_text(MY_JOB.replace("Linear(8, 2)", "Linear(8, 14)"))
    told = refused(f"resume={folder}", "max_steps=6")
    assert f"{folder}/checkpoint.pt is of another model or optimizer than the workload" in told
    assert "now: size mismatch for weight: copying a param with shape" in told
    job.write_text(MY_JOB)
    (folder / "checkpoint.pt").write_bytes(b"")
    told = refused(f"resume={folder}", "max_steps=6")
    assert f"{folder}/checkpoint.pt is damaged (EOFError" in told and "another model" not in told


def test_the_command_after_an_interruption_has_what_was_typed_for_a_run_that_went_on(
    users_folder, train
):
    train(*WORDS, "max_steps=3", "epochs=2")
    (folder,) = users_folder.glob("outputs/make/full-*")
    run = Training(users_folder, f"resume={folder}", "max_steps=null", "checkpoint_every_s=0.1")
    run.until("epoch 2/")
    run.send_signal(signal.SIGINT)
    rest = " ".join(run.rest().split())
    assert run.returncode == 130, rest
    _, _, command = rest.partition("interrupted; to go on: ")
    words = shlex.split(command)
    assert words[1].endswith("train.py") and words[2] == f"resume={folder}"
    assert {"epochs=1000000", "max_steps=null"} <= set(words) and len(words) == len(set(words))
    assert "done already" in train(*words[2:], "max_steps=1")
