"""Files in the bank that could be entries and are odd: no study is ended by one."""

import re
from datetime import datetime

import pytest
import yaml
from banked import FACTS, LARGER, Banked, goal_of, kept, origin_of
from test_freezing import arm, rates, session

from hotlap.settings import Settings
from studies import Found, Noise, offer
from studies.reuse import OUTCOMES

ODD = {
    "keys of two kinds in the facts": {"facts": {**FACTS, "batch_shapes": {1: "a", "b": 2}}},
    "keys of two kinds in the goal": {"bank": {"goal": {"run": {1: 2, "b": 3}}}},
    "more parameters than a number holds": {"facts": {**LARGER, "n_parameters": 10**400}},
    "no parameters but a list": {"facts": {**LARGER, "n_parameters": [1]}},
    "facts of the machine that are mappings": {"facts": {**FACTS, "cpu": {1: "a", "b": 2}}},
    "a budget that no number holds": {"bank": {"goal": {"budget_s": 10**400}}},
    "trials that no number holds": {"bank": {"goal": {"n_trials": 10**400}}},
    "knobs that are numbers": {"bank": {"goal": {"knobs": {1: 2, "num_workers": {"low": "x"}}}}},
    "a range without its low end": {"bank": {"goal": {"knobs": {"num_workers": {"high": 8}}}}},
    "a range that begins with a word": {
        "bank": {"goal": {"knobs": {"num_workers": {"low": "a", "high": 8}}}}
    },
    "a range that begins with nothing": {
        "bank": {"goal": {"knobs": {"num_workers": {"low": None, "high": 8}}}}
    },
    "no date": {"date": None},
    "a date of YAML's own": {"date": datetime(2026, 12, 1)},
    "a job that is a list": {"bank": {"job": [1, {}]}},
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_file_in_the_bank_ends_no_study(study, folder, kind):
    """Whether it is a hit, a start or nothing; the study looks it up, and keeps what it proves."""
    opened = study().session
    goal = goal_of(opened)
    origin = origin_of(goal)
    odd = {**ODD[kind]}
    bank = {**odd.pop("bank", {})}
    merged = {**origin["bank"], **bank, "goal": {**goal.to_dict(), **bank.get("goal", {})}}
    content = {"settings": {"num_workers": 2}, "provenance": {**origin, **odd, "bank": merged}}
    folder.mkdir(exist_ok=True)
    (folder / "odd.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    offer(folder, "job", FACTS)
    for proof in (
        session(arm("trial 2", Settings(num_workers=2), rates(100))),
        session(arm("trial 7", Settings(num_workers=4), rates(250))),
    ):
        banked = Banked(opened, folder)
        assert banked.reuse.known.start() is not None
        assert kept(banked, proof) in OUTCOMES
        offer(folder, "job", FACTS)


def test_whatever_goes_wrong_with_the_bank_the_study_is_told_and_keeps_its_result(study, folder):
    """Here: a fact that holds itself, which no file can."""
    banked = study()
    loop = []
    loop.append(loop)
    proof = session(arm("trial 7", Settings(num_workers=4), rates(250)))
    origin = {"facts": {**FACTS, "loop": loop}, "date": "2026-12-01"}
    assert banked.reuse.keep(Found(proof, Noise(0)), "work", origin) == {}
    (note,) = [note for note in banked.session.seen.notes if "has not got" in note]
    assert re.search(rf"the bank {folder} has not got .*\(RecursionError: .*\); the result", note)
    assert "bank=none" in note
