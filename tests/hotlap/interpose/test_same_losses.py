"""Nothing else changes: watched by hotlap a script's losses equal the plain script's to the bit."""

from importlib.util import find_spec

import pytest

from tests.hotlap.interpose.conftest import EXAMPLES

WORKERS = "settings: {num_workers: 2, prefetch_factor: 3, persistent_workers: true}\n"

NEEDS = {"hf_trainer.py": "transformers"}
SCRIPTS = [
    pytest.param(
        path.name,
        marks=pytest.mark.skipif(
            path.name in NEEDS and find_spec(NEEDS[path.name]) is None,
            reason=f"{NEEDS.get(path.name)} is not installed",
        ),
    )
    for path in sorted(EXAMPLES.glob("*.py"))
]
OTHERS = {"own_batches.py", "hf_trainer.py"}
"""No loader; and one whose training and evaluation loaders are made at the same line of a library,
so that kept workers are taken from one another and later epochs have other random numbers."""
WITH_LOADERS = [script for script in SCRIPTS if OTHERS.isdisjoint(script.values)]


def test_each_kind_of_script_has_an_example():
    assert len(SCRIPTS) >= 7


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_the_same_losses_and_warnings(runs, name):
    plain, ours = runs.plain(EXAMPLES / name), runs.watched(EXAMPLES / name)
    assert plain.returncode == ours.returncode == 0, ours.stderr
    assert plain.stdout.count("loss 0x") > 10
    assert ours.stdout == plain.stdout
    assert ours.stderr == plain.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_LOADERS)
def test_loader_workers_keep_the_losses(runs, name):
    plain, ours = runs.plain(EXAMPLES / name), runs.hotlap(WORKERS, EXAMPLES / name)
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == plain.stdout and ours.stderr == ""


@pytest.mark.slow
def test_a_checkpoint_is_the_same_file(runs):
    script = EXAMPLES / "with_arguments.py"
    saved = []
    for start in (runs.plain, runs.watched):
        assert start(script, "--save", "checkpoint.pt", "--epochs", "1").returncode == 0
        saved.append((runs.folder / "checkpoint.pt").read_bytes())
    assert saved[0] == saved[1]
