"""A full run that goes on, as a user types it: from which checkpoint, and until which limit."""

import shutil

import pytest

from tests.test_train import WORDS, checkpoint

pytestmark = pytest.mark.slow


@pytest.fixture
def train(tmp_path, done):
    """Runs train.py in the test's own folder, with words, and gives what it printed."""
    return lambda *words: " ".join(done(tmp_path, *words, entry="train.py").split())


def test_a_run_goes_on_from_the_checkpoint_that_is_named(tmp_path, train):
    train(*WORDS, "max_steps=3")
    (folder,) = tmp_path.glob("outputs/digits_mlp/full-*")
    shutil.copy(folder / "checkpoint.pt", folder / "earlier.pt")
    train(f"resume={folder}", "max_steps=8")
    assert checkpoint(tmp_path)["position"]["steps"] == 8
    told = train(f"resume={folder / 'earlier.pt'}", "max_steps=5")
    assert "trained 5 steps in all; 64 samples after this session's first step" in told
    assert checkpoint(tmp_path)["position"]["steps"] == 5


def test_a_run_that_was_done_names_the_limit_and_one_with_a_step_left_was_not_done(tmp_path, train):
    train(*WORDS, "max_steps=27")
    (folder,) = tmp_path.glob("outputs/digits_mlp/full-*")
    told = train(f"resume={folder}")
    assert "done already: its 27 steps reached max_steps=27; to go on, type a larger max" in told
    assert "trained 27 steps in all, loss - checkpoint:" in told
    told = train(f"resume={folder}", "max_steps=28")
    assert "done already" not in told
    assert "trained 28 steps in all, loss " in told and "loss -" not in told
    told = train(f"resume={folder}", "max_steps=null")
    assert "its 28 steps reached epochs=1; to go on, type a larger epochs=" in told
    told = train(f"resume={folder}", "max_steps=28")
    assert (
        "reached epochs=1 and max_steps=28; to go on, type a larger epochs= and max_steps=" in told
    )
