"""How a script ends before its window does, or would end after it, and what is told then."""

import pytest

from hotlap.job import Window
from tests.hotlap.script.found import ok
from tests.hotlap.script.script_texts import TRAINING


def test_a_script_that_ends_first_is_measured_by_what_it_did(scripts):
    window = Window(max_s=100, min_s=100, block_s=0.01, max_warmup_s=0.1)
    measured = ok(scripts.run(TRAINING + "train(300)", window=window))
    assert measured.blocks


def test_of_one_that_ends_within_its_warm_up_the_later_steps_count(scripts):
    measured = ok(scripts.run(TRAINING + "train(4)", window=Window(block_s=10)))
    assert not measured.settled
    assert 8 <= sum(block.steps for block in measured.blocks) <= 30
    assert measured.samples_per_s > 0


def test_with_many_workers_one_that_has_no_whole_block_has_a_number_too(scripts):
    measured = ok(
        scripts.run(TRAINING + "train(4)", settings={"num_workers": 8}, window=Window(block_s=10))
    )
    assert [(block.steps, block.at_step) for block in measured.blocks] == [(30, 32)]
    assert 0 < measured.rate.value <= measured.steady.value


SLOW = TRAINING.replace(
    "rows = TensorDataset(",
    """
import time

class Slow(TensorDataset):
    def __getitem__(self, i):
        time.sleep(0.005)
        return super().__getitem__(i)

rows = Slow(""",
).replace("torch.randn(64", "torch.randn(240")


@pytest.mark.parametrize("prefetch_factor", [2, 16])
def test_what_was_fetched_ahead_is_not_the_pace_of_a_short_script(scripts, prefetch_factor):
    # 40 ms a batch, and a first step of half a second in which the queue fills.
    text = (
        SLOW.replace("optimizer.step()", "optimizer.step()\n            pause()")
        + """
pauses = [0.5]

def pause():
    if pauses:
        time.sleep(pauses.pop())

train(1)
"""
    )
    settings = {"num_workers": 1, "prefetch_factor": prefetch_factor}
    measured = ok(scripts.run(text, settings=settings, window=Window(block_s=10)))
    assert measured.steady.value < 1.2 * 8 / 0.04


def test_one_that_ends_too_soon_is_told_so(scripts):
    text = TRAINING.replace("torch.randn(64", "torch.randn(16")
    found = scripts.run(text + "train(1)", window=Window(block_s=10))
    assert found.outcome == "invalid"
    assert "ended after 2 optimizer steps" in found.reason


def test_one_that_begins_anew_in_its_own_place_ends_there(scripts):
    text = "import os, sys\nos.execv(sys.executable, [sys.executable, *sys.argv])\n"
    found = scripts.run(text)
    assert found.outcome == "invalid"
    assert "the script becomes " in found.reason and "PYTHONHASHSEED=0" in found.reason


def test_what_a_script_says_of_its_wrong_arguments_is_shown(scripts):
    text = "import argparse\nargparse.ArgumentParser(prog='mine').parse_args()"
    found = scripts.run(text, args=["--no-such"])
    assert found.outcome == "crash" and "exit code 2" in found.reason
    assert "unrecognized arguments: --no-such" in found.traceback
    assert "hotlap" not in found.traceback


def test_one_that_never_steps_is_told_so(scripts):
    found = scripts.run("import torch\nprint(torch.ones(3))")
    assert found.outcome == "invalid"
    assert "no torch.optim optimizer was seen" in found.reason


def test_an_error_is_the_scripts_own(scripts):
    found = scripts.run(TRAINING + "train(1)\nopen('nothing here')")
    assert found.outcome == "crash"
    assert found.reason.startswith("FileNotFoundError")
    assert "train.py" in found.traceback and "hotlap" not in found.traceback


def test_an_exit_code_is_told(scripts):
    found = scripts.run("import sys\nsys.exit(3)")
    assert found.outcome == "crash"
    assert "exit code 3" in found.reason


def test_a_script_that_is_not_there(scripts):
    found = scripts.run(target="nothing.py")
    assert found.outcome == "crash"
    assert "nothing.py" in found.reason


def test_a_loss_that_becomes_nan_is_diverged(scripts):
    text = TRAINING.replace("lr=0.01", "lr=1e30") + "train(100_000)"
    found = scripts.run(text)
    assert found.outcome == "diverged"


def test_a_script_that_exits_at_once_by_itself(scripts):
    found = scripts.run(TRAINING + "train(2)\nimport os\nos._exit(0)")
    assert found.outcome == "crash"
    assert "ended its process at once, as os._exit does, with exit code 0" in found.reason
    assert "let it train for longer" in found.reason


def test_an_error_that_it_catches_and_exits_with_is_named(scripts):
    text = "import sys\ntry:\n    open('nothing here')\nexcept OSError:\n    sys.exit(4)\n"
    found = scripts.run(text)
    assert found.outcome == "crash"
    assert "exit code 4" in found.reason and "nothing here" in found.reason


def test_an_excepthook_of_its_own_hides_no_error(scripts):
    found = scripts.run("import sys\nsys.excepthook = print\nraise MemoryError('all of it')")
    assert found.outcome == "oom"
    assert "all of it" in found.reason


def test_nothing_after_the_window_happens(scripts):
    text = TRAINING + "\nimport atexit\natexit.register(lambda: open('end', 'w'))\n"
    text += "try:\n    train(100_000)\nexcept BaseException:\n    pass\nopen('after', 'w')\n"
    ok(scripts.run(text))
    assert not (scripts.folder / "after").exists()
    assert not (scripts.folder / "end").exists()
