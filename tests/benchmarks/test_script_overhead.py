import re

import pytest

from benchmarks import script_overhead
from benchmarks.machine import Unmeasured
from benchmarks.script_overhead import costs, seconds
from hotlap import frozen
from hotlap.settings import Settings


def test_the_script_runs_in_both_ways_and_times_itself(tmp_path, monkeypatch):
    monkeypatch.setitem(script_overhead.STEPS, "small", 40)
    settings = tmp_path / "frozen.yaml"
    frozen.dump(settings, Settings(), {})
    for arm in ("plain", "hotlap"):
        assert all(value > 0 for value in seconds("small", arm, settings))


def test_a_script_that_fails_says_why_and_is_no_cost(tmp_path, monkeypatch, capsys):
    script = tmp_path / "breaks.py"
    script.write_text("import sys; print('no room for tensors', file=sys.stderr); sys.exit(3)")
    monkeypatch.setattr(script_overhead, "SCRIPT", script)
    assert script_overhead.main(["--kinds", "small", "--rounds", "1"]) == 3
    out = capsys.readouterr().out
    assert "no room for tensors\n" in out
    assert re.search(r"^small, (plain|hotlap|control) ended with code 3$", out, re.MULTILINE)
    assert out.endswith("proven to be more: none; not measured: round 1 of small\n")


def test_rounds_that_were_done_are_told_after_one_that_fails(monkeypatch, capsys):
    def seconds(kind, arm, settings):
        done.append(arm)
        if len(done) == 7:  # the first of the third round
            raise Unmeasured("ended with code 1")
        return (2.0 if arm == "hotlap" else 1.0), 1.0

    done = []
    monkeypatch.setattr(script_overhead, "seconds", seconds)
    assert script_overhead.main(["--kinds", "small", "--rounds", "3"]) == 1
    out = capsys.readouterr().out
    assert "small    by clock 2.0000 [2.0000, 2.0000]" in out
    assert "more: small by clock; not measured: round 3 of small\n" in out


def test_a_cost_is_a_ratio_within_each_round():
    rounds = [
        {"plain": (slow, 1.0), "hotlap": (slow * 1.02, 1.01), "control": (slow, 0.99)}
        for slow in (1.0, 5.0, 2.0)
    ]
    (_, clock, clock_control), (_, cpu, cpu_control) = costs(rounds)
    assert (clock.value, clock_control.value) == pytest.approx((1.02, 1.0))
    assert (cpu.value, cpu_control.value) == pytest.approx((1.01, 0.99))
