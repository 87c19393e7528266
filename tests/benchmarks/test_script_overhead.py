import random
import re

import pytest

from benchmarks import script_overhead
from benchmarks.machine import Unmeasured
from benchmarks.script_overhead import AS_IT_IS, cost, one_round, write_files
from hotlap.frozen import load_frozen
from hotlap.interpose import Imposed


def test_processes_of_the_script_take_turns_and_time_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(script_overhead, "ARMS", ("plain", "trial"))
    monkeypatch.setitem(script_overhead.STEPS, "small", 3)
    found = one_round("small", 2, tmp_path, random.Random(0))
    assert found.keys() == {"trial"} and all(times > 0 for times in found["trial"])
    assert '"training"' in (tmp_path / "events.jsonl").read_text()  # its first step was seen


def test_one_file_imposes_nothing_and_the_other_what_the_script_does_anyway(tmp_path):
    write_files(tmp_path)
    nothing, same = (
        Imposed.of_frozen(load_frozen(tmp_path / f"{arm}.yaml")) for arm in ("hotlap", "imposed")
    )
    assert nothing.names == set()
    assert same.names == set(AS_IT_IS) and not same.settings.changed()


def test_a_script_that_fails_says_why_and_is_no_cost(tmp_path, monkeypatch, capsys):
    script = tmp_path / "breaks.py"
    script.write_text("import sys; print('no room for tensors', file=sys.stderr); sys.exit(3)")
    monkeypatch.setattr(script_overhead, "SCRIPT", script)
    monkeypatch.setattr(script_overhead, "ARMS", ("plain", "hotlap"))
    assert script_overhead.main(["--kinds", "small", "--rounds", "1"]) == 3
    out = capsys.readouterr().out
    assert "no room for tensors\n" in out
    assert re.search(r"^small, (plain|hotlap) ended with code 3$", out, re.MULTILINE)
    assert out.endswith("proven to be more: none; not measured: round 1 of small\n")


def test_rounds_that_were_done_are_told_after_one_that_fails(monkeypatch, capsys):
    def one_round(kind, n_turns, folder, chance):
        done.append(kind)
        if len(done) == 3:
            raise Unmeasured("ended with code 1")
        return {arm: (2.0 if arm == "hotlap" else 1.0, 1.0) for arm in script_overhead.ARMS[1:]}

    done = []
    monkeypatch.setattr(script_overhead, "one_round", one_round)
    assert script_overhead.main(["--kinds", "small", "--rounds", "3"]) == 1
    out = capsys.readouterr().out
    assert "small    by clock 2.0000 [2.0000, 2.0000]" in out
    assert "proven to be 1% or less: small by CPU\n" in out
    assert "more: small by clock; not measured: round 3 of small\n" in out


def test_a_cost_is_a_ratio_within_each_turn_and_one_spoilt_turn_does_not_move_it():
    turns = [
        {"plain": (slow, 1.0), "hotlap": (slow * 1.02, 1.01), "control": (slow, 0.99)}
        for slow in (1.0, 5.0, 2.0, 3.0)
    ]
    spoilt = {"plain": (1.0, 1.0), "hotlap": (50.0, 1.01), "control": (1.0, 0.99)}
    found = cost([*turns, spoilt])
    assert found["hotlap"] == pytest.approx((1.02, 1.01))
    assert found["control"] == pytest.approx((1.0, 0.99))
