"""Nothing else changes: watched by hotlap a script's losses equal the plain script's to the bit."""

import functools
from importlib.util import find_spec

import pytest

from tests.hotlap.interpose.conftest import ENDLESS, EXAMPLES, WATCHED, Runs, losses

WORKERS = "settings: {num_workers: 2, prefetch_factor: 3, persistent_workers: true}\n"

NEEDS = {"hf_trainer.py": ("transformers", "accelerate")}
SCRIPTS = [
    pytest.param(
        path.name,
        marks=pytest.mark.skipif(
            any(find_spec(name) is None for name in NEEDS.get(path.name, ())),
            reason=f"{' and '.join(NEEDS.get(path.name, ()))} are not installed",
        ),
    )
    for path in sorted(EXAMPLES.glob("*.py"))
]
WITH_LOADERS = [script for script in SCRIPTS if "own_batches.py" not in script.values]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Runs an example as plain Python does: once, for all that is compared with it."""
    runs = Runs(tmp_path_factory.mktemp("plain"))
    return functools.cache(lambda name: runs.plain(EXAMPLES / name))


def test_each_kind_of_script_has_an_example():
    assert len(SCRIPTS) >= 7


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_the_same_losses_and_warnings(plain, runs, name):
    ours = runs.watched(EXAMPLES / name)
    assert plain(name).returncode == ours.returncode == 0, ours.stderr
    assert len(losses(ours.stdout)) > 10
    assert ours.stdout == plain(name).stdout
    assert ours.stderr == plain(name).stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_trial_and_the_probe_print_the_same_losses(plain, scripts, name):
    def printed(**job):
        found = scripts.run(target=str(EXAMPLES / name), timeout_s=250, **job)
        assert found.outcome in ("ok", "invalid"), found.traceback  # too short for a rate, perhaps
        return losses((found.folder / "worker.log").read_text())

    whole = losses(plain(name).stdout)
    assert printed(window=ENDLESS) == whole
    first = printed(kind="probe")
    assert len(first) >= 5 and first == whole[: len(first)]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_LOADERS)
def test_loader_workers_keep_the_losses(plain, runs, name):
    ours = runs.hotlap(WORKERS, EXAMPLES / name)
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == plain(name).stdout and ours.stderr == ""


def test_one_line_at_its_top_keeps_the_losses(plain, runs):
    runs.file("frozen.yaml", WATCHED)
    text = (EXAMPLES / "plain_loop.py").read_text()
    runs.file("script.py", f'import hotlap\nhotlap.autotune("frozen.yaml")\n{text}')
    ours = runs.plain("script.py")
    assert (ours.stdout, ours.stderr) == (plain("plain_loop.py").stdout, "")


@pytest.mark.slow
def test_a_checkpoint_is_the_same_file(runs):
    script = EXAMPLES / "with_arguments.py"
    saved = []
    for start in (runs.plain, runs.watched):
        assert start(script, "--save", "checkpoint.pt", "--epochs", "1").returncode == 0
        saved.append((runs.folder / "checkpoint.pt").read_bytes())
    assert saved[0] == saved[1]
