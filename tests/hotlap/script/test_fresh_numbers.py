"""A trial's process is like a new interpreter, though it was forked from one that had begun."""

from tests.hotlap.script.script_texts import TRAINING

DRAWS = """
import random
import numpy
import torch
with open("drawn.txt", "a") as file:
    print(random.random(), numpy.random.rand(), torch.rand(()).item(), file=file)
"""


def test_names_drawn_at_random_are_others_in_each_trial_and_torchs_numbers_the_same(scripts):
    for kind in ("window", "window", "probe"):
        assert scripts.run(DRAWS + TRAINING + "train(100)", kind=kind).outcome == "ok"
    lines = (scripts.folder / "drawn.txt").read_text().splitlines()
    python, numpy, torch = zip(*(line.split() for line in lines), strict=True)
    assert len(set(python)) == len(set(numpy)) == 3
    assert len(set(torch)) == 1


def test_numbers_that_decide_on_losses_are_the_same_in_each_run(scripts):
    for _ in range(2):
        run = {"steps": 2}
        assert scripts.run(DRAWS + TRAINING + "train(100)", kind="losses", run=run).outcome == "ok"
    assert len(set((scripts.folder / "drawn.txt").read_text().splitlines())) == 1


def test_variables_that_came_too_late_for_torch_are_found(scripts):
    writes = "import os\nos.environ['OMP_NUM_THREADS'] = '7'\nos.environ['OTHER'] = '1'\n"
    facts = scripts.facts(writes + TRAINING + "train(9)")
    assert facts["environment_written"] == ["OMP_NUM_THREADS"] and facts["fresh"] is False
    fresh = scripts.facts(writes + TRAINING + "train(9)", fresh=True)
    assert fresh["environment_written"] == [] and fresh["fresh"] is True
