"""Scripts that train in processes which they fork: one of them is followed."""

import pytest

from hotlap.job import Window
from reports import found_in_script
from tests.hotlap.script.found import events, ok
from tests.hotlap.script.script_texts import TRAINING

TWO = (
    TRAINING
    + """
import os
for _ in range(2):
    if os.fork() == 0:
        train(100_000)
        os._exit(0)
os.wait()
os.wait()
"""
)


def test_of_two_trainers_one_is_timed(scripts):
    found = scripts.run(TWO)
    measured = ok(found)
    names = [event["event"] for event in found.events]
    assert [names.count(name) for name in ("training", "built", "warm", "finished")] == [1] * 4
    at = [block.at_step for block in (*measured.warmup, *measured.blocks)]
    assert at == sorted(set(at))


def test_it_is_told_once_that_others_train_beside_it(scripts):
    set_threads = "        torch.set_num_threads(1)\n        train("
    facts = scripts.facts(TWO.replace("        train(", set_threads))
    assert facts["own_settings"]["intraop_threads"] == 1
    (line,) = (one for one in found_in_script(facts["script"], facts["scratch"]) if "forks" in one)
    assert "it trains in a process that it forks (train.py:" in line


def test_a_process_that_is_forked_later_trains_unheard_and_ends_as_it_would(scripts):
    text = """
import os
train(1)
if os.fork() == 0:
    train(1)
else:
    assert os.wait()[1] == 0
    train(100_000)
"""
    found = scripts.run(TRAINING + text)
    ok(found)
    assert [len(events(found, name)) for name in ("training", "built", "finished")] == [1] * 3


def test_one_that_ends_too_soon_is_told_so_by_its_parent(scripts):
    found = scripts.run(TWO.replace("100_000", "1"), window=Window())
    assert found.outcome == "invalid"
    assert "trained in a process that it had forked" in found.reason


def test_a_parent_that_is_not_the_one_waits_for_its_answer(scripts):
    text = """
import os
read, write = os.pipe()
if os.fork() == 0:
    train(1)
    os.write(write, b"1")
    train(100_000)
os.read(read, 1)
train(1)
"""
    found = scripts.run(TRAINING + text)
    ok(found)
    assert [len(events(found, name)) for name in ("training", "built", "finished")] == [1] * 3


HELD = (
    TWO.replace("100_000", "1")
    + """
import multiprocessing
manager = multiprocessing.Manager()  # ends with the exit handlers of this process alone
train(1)
"""
)


def test_a_parent_waits_for_the_one_alone(scripts):
    found = scripts.run(HELD, window=Window())
    assert found.outcome == "invalid", found.reason
    assert "trained in a process that it had forked" in found.reason


def test_a_parent_that_fails_itself_waits_for_nobody(scripts):
    text = """
import os
if os.fork() == 0:
    train(100_000)
import time
while not os.path.exists("stepped"):
    time.sleep(0.01)
raise OSError("its own")
"""
    steps = TRAINING.replace("optimizer.step()", "optimizer.step(); open('stepped', 'w')")
    found = scripts.run(steps + text, window=Window(min_s=100.0, max_s=100.0))
    assert (found.outcome, found.reason) == ("crash", "OSError: its own")


FAILS = (
    TRAINING
    + """
import multiprocessing
import os
import signal
import sys

def trainer():
    train(1)
    {how}

process = multiprocessing.get_context("fork").Process(target=trainer)
process.start()
os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
"""
)


@pytest.mark.parametrize(
    ("how", "outcome", "reason"),
    [
        ("raise MemoryError('all of it')", "oom", "all of it"),
        ("sys.exit(3)", "crash", "the script ended with exit code 3"),
        ("os._exit(3)", "crash", "forked to train in ended with exit code 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "oom", "want of host memory"),
    ],
)
def test_what_ends_a_forked_trainer_ends_the_trial(scripts, how, outcome, reason):
    found = scripts.run(FAILS.format(how=how), window=Window())
    assert found.outcome == outcome, found.reason
    assert reason in found.reason
    if "raise" in how:
        assert "train.py" in found.traceback and "hotlap" not in found.traceback
