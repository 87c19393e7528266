"""A search for one goal is the answer to another one if that asks for no more."""

import json

import pytest
from banked import plain_goal

from hotlap.settings import Settings
from search_spaces import Knob
from studies import Goal


def knob(name, **data):
    return Knob.from_mapping(name, data)


@pytest.mark.parametrize(
    ("mine", "other", "answers"),
    [
        ({}, {}, True),
        ({}, {"budget_s": 1200.0}, True),
        ({}, {"budget_s": 1201.0}, False),
        ({}, {"n_trials": 3}, True),
        ({"n_trials": 3}, {}, False),
        ({"n_trials": 3}, {"n_trials": 6}, True),
        ({"n_trials": 3}, {"n_trials": 7}, False),
        ({}, {"knobs": {}}, True),
        ({}, {"knobs": {"num_workers": [0]}}, True),
        ({}, {"knobs": {"num_workers": [0, 4]}}, False),
        ({}, {"knobs": {"num_workers": "auto"}}, False),
        ({}, {"knobs": {"amp": ["none"]}}, False),
        ({"knobs": {"n": {"low": 1, "high": 8}}}, {"knobs": {"n": {"low": 2, "high": 8}}}, True),
        ({"knobs": {"n": {"low": 1, "high": 8}}}, {"knobs": {"n": {"low": 1, "high": 9}}}, False),
        ({"knobs": {"n": [1, 8]}}, {"knobs": {"n": {"low": 1, "high": 8}}}, False),
        ({}, {"objective": "run_time"}, False),
        ({}, {"run": {"epochs": 3}}, False),
        ({}, {"limits": {"device_memory": 0.5}}, False),
        ({}, {"base": {"num_workers": 1}}, False),
    ],
)
def test_when_a_search_answers_another_question(mine, other, answers):
    assert plain_goal(**mine).answers(plain_goal(**other)) is answers


def test_what_the_facts_chose_is_auto_whatever_they_chose_today():
    wanted = [knob("num_workers", choices="auto"), knob("cudnn_benchmark_limit", low=0, high=9)]
    today = [knob("num_workers", choices=[0, 3]), wanted[1]]
    goal = Goal.of("throughput", {"epochs": None}, Settings(), wanted, today, 600.0, None, {})
    assert goal.knobs == {"num_workers": "auto", "cudnn_benchmark_limit": {"low": 0, "high": 9}}
    assert goal.leaves_open("num_workers") and not goal.leaves_open("cudnn_benchmark_limit")
    assert Goal.from_dict(json.loads(json.dumps(goal.to_dict()))) == goal


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"objective": "x"},
        {**vars(plain_goal()), "run": 3},
        {**vars(plain_goal()), "budget_s": float("nan")},
        {**vars(plain_goal()), "budget_s": 10**400},
        {**vars(plain_goal()), "n_trials": 10**400},
        {**vars(plain_goal()), "of a later version": 1},
        {**vars(plain_goal()), "knobs": ["num_workers"]},
        {**vars(plain_goal()), "knobs": {"num_workers": {"high": 8}}},
        {**vars(plain_goal()), "knobs": {"num_workers": {"low": "a", "high": 8}}},
        {**vars(plain_goal()), "knobs": {"num_workers": {"low": 0, "high": None}}},
        {**vars(plain_goal()), "knobs": {"num_workers": {"low": False, "high": 8}}},
        {**vars(plain_goal()), "knobs": {"num_workers": 8}},
    ],
)
def test_what_is_no_goal_is_told(data):
    with pytest.raises(ValueError, match="its goal"):
        Goal.from_dict(data)
