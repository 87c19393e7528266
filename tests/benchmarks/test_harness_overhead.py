import itertools

import pytest

from benchmarks import harness_overhead
from benchmarks.machine import Unmeasured
from benchmarks.turns import Cost, Turn, one_process, steps_taken, summary
from hotlap.feed import Feed


def turn(harness, plain, control, steps=100):
    return Turn(steps, Cost(harness, harness), Cost(plain, plain), Cost(control, control))


def test_a_harness_that_takes_longer_has_a_ratio_below_one():
    found = summary([turn(2.0, 1.0, 1.0)], 64.0, 8)
    assert found["ratio"] == found["cpu_ratio"] == 0.5


def test_the_plain_loop_is_taken_on_both_its_blocks():
    assert summary([turn(2.0, 1.0, 3.0)], 64.0, 8)["ratio"] == 1.0


def test_one_spoilt_block_does_not_move_the_ratio():
    turns = [turn(1.0, 1.0, 1.0), turn(50.0, 1.0, 1.0), turn(1.0, 1.0, 1.0)]
    assert summary(turns, 64.0, 8)["ratio"] == 1.0


def test_the_plain_rate_is_samples_by_the_wall_clock():
    found = summary([turn(9.0, 1.0, 3.0, steps=10)], 64.0, 8)
    assert found["n_plain_steps"] == 20
    assert found["plain_samples_per_s"] == 20 * 8 / 4.0


def test_both_arms_take_turns_in_one_process():
    found = one_process("hotlap.zoo.mlp.digits_mlp", {}, 0.2, 0.05, "cpu")
    assert found["n_blocks"] >= 3
    assert found["n_plain_steps"] >= 2 * found["n_blocks"]
    assert found["ratio"] > 0 and found["reported_samples_per_s"] > 0


def test_steps_are_counted_across_the_epochs_of_a_loader():
    feed = Feed([1, 2, 3], 3)
    counted = []
    for _ in range(7):
        feed.next()
        counted.append(steps_taken(feed))
    assert counted == [1, 2, 3, 4, 5, 6, 7]


def test_steps_are_counted_in_an_epoch_without_end():
    feed = Feed(itertools.repeat(1), None)
    for _ in range(5):
        feed.next()
    assert steps_taken(feed) == 5


def test_the_table_has_a_line_for_each_workload_with_its_interval():
    answer = {"ratio": 1.0, "control": 1.0, "cpu_ratio": 0.5, "cpu_control": 1.0}
    text = harness_overhead.table({"digits_mlp": [answer, answer], "gpt_small": [answer, answer]})
    assert text.splitlines()[1].split()[:4] == ["digits_mlp", "1.0000", "[1.0000,", "1.0000]"]
    assert "0.5000 [0.5000, 0.5000]" in text.splitlines()[2]


def test_an_unknown_workload_is_refused(capsys):
    with pytest.raises(SystemExit) as end:
        harness_overhead.main(["--workloads", "resnet1000"])
    assert end.value.code == 2
    assert "digits_mlp" in capsys.readouterr().err


def test_a_process_that_fails_says_why_and_proves_nothing(capfd):
    words = ["--workloads", "digits_mlp", "--rounds", "1", "--device", "nowhere"]
    assert harness_overhead.main(words) == 3
    out, err = capfd.readouterr()
    assert "nowhere" in err and "round 1: digits_mlp ended with code" in out
    assert "proven to be below: none; not measured: round 1 of digits_mlp\n" in out


def test_a_process_that_fails_hides_no_other(monkeypatch, capsys):
    def fresh_process(name, args):
        done.append(name)
        if len(done) == 2:
            raise Unmeasured("digits_mlp ended with code 1")
        return dict.fromkeys(("ratio", "control", "cpu_ratio", "cpu_control"), 0.5) | more

    more = {"n_blocks": 1, "plain_samples_per_s": 9.0}
    done = []
    monkeypatch.setattr(harness_overhead, "fresh_process", fresh_process)
    assert harness_overhead.main(["--workloads", "digits_mlp", "--rounds", "3"]) == 1
    out = capsys.readouterr().out
    assert "digits_mlp         0.5000 [0.5000, 0.5000]" in out
    assert "below: digits_mlp; not measured: round 2 of digits_mlp\n" in out
