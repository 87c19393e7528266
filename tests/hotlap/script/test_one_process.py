"""Scripts that train in processes which they fork: one of them is followed."""

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
