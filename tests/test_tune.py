"""tune.py as a user types it, in a folder of the user's own: what a whole study leaves."""

import json
import shutil
import sqlite3
import subprocess
from types import SimpleNamespace

import pytest
import yaml
from optuna.trial import TrialState

from hotlap import frozen
from tests.conftest import LIMIT_S, Typed
from tests.short_study import DIGITS, MINE, ONE_SERVER, folders, states

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(tmp_path_factory, caches):
    """A study of the whole default space, and with MLflow, as by default; tests only read it."""
    cwd = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", next(caches))
        code, out, err = Typed(cwd, *DIGITS, "n_trials=4").finish()
    assert code == 0, out + err
    (folder,) = folders(cwd)
    return SimpleNamespace(cwd=cwd, folder=folder, out=out, err=err)


def test_a_study_ends_with_a_frozen_file_that_loads_and_all_that_was_measured(study):
    folder = study.folder
    last = study.out.rstrip().splitlines()[-1]
    assert last == f"frozen settings: {(folder / 'frozen.yaml').relative_to(study.cwd)}"
    loaded = frozen.load(folder / "frozen.yaml")
    result = json.loads((folder / "result.json").read_text())
    assert loaded.to_dict()["num_workers"] >= 0
    assert result["workload"] == "digits_mlp"
    assert len(states(folder)) == 4
    assert TrialState.RUNNING not in states(folder)
    trials = sorted(path.name for path in (folder / "trials").iterdir())
    assert trials == [f"{i:04d}" for i in range(len(trials))] and len(trials) > 4
    assert all((folder / "trials" / t / "job.json").exists() for t in trials)
    assert "Warning" not in study.out + study.err
    assert {path.name for path in study.cwd.iterdir()} == {"outputs"}


def test_by_default_mlflow_keeps_one_parent_run_and_one_for_each_trial(study):
    with sqlite3.connect(study.cwd / "outputs" / "mlflow.db") as database:
        rows = database.execute("SELECT run_uuid, status FROM runs").fetchall()
        nested = database.execute(
            "SELECT run_uuid, value FROM tags WHERE key = 'mlflow.parentRunId'"
        ).fetchall()
    database.close()
    jobs = [json.loads(job.read_text()) for job in study.folder.glob("trials/*/job.json")]
    n_trials = sum(job["side"] == "both" for job in jobs)  # no list holds one side alone
    assert 0 < n_trials < len(jobs)
    assert len(rows) == n_trials + 1
    assert len(nested) == n_trials
    assert len({parent for _, parent in nested}) == 1
    assert {status for _, status in rows} <= {"FINISHED", "FAILED", "KILLED"}


def test_a_study_of_another_space_is_refused_with_the_knob_that_differs(study, tmp_path, tune):
    folder = shutil.copytree(study.folder, tmp_path / study.folder.relative_to(study.cwd))
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config["search_space"]["set_to_none"]["choices"].reverse()
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    code, out, err = tune(tmp_path, f"resume={folder}", "n_trials=6", "tracking=none")
    assert code == 2, out + err
    told = "search_space.set_to_none was [True, False] and is [False, True]"
    assert told in " ".join((out + err).split())
    assert len(states(folder)) == 4


@pytest.mark.parametrize("errors", [subprocess.PIPE, subprocess.STDOUT])
def test_a_study_that_nobody_reads_to_its_end_is_finished(users_folder, errors, start):
    words = [*MINE, *ONE_SERVER, "tracking=none", "n_trials=1"]
    tuner = start(users_folder, *words, stderr=errors)
    tuner.stdout.readline()
    tuner.stdout.close()  # as `head -1` does
    try:
        assert tuner.wait(LIMIT_S) == 0
        assert not tuner.stderr or tuner.stderr.read() == ""
    finally:
        tuner.kill()
        if tuner.stderr:
            tuner.stderr.close()
    (folder,) = folders(users_folder)
    assert (folder / "frozen.yaml").exists() and (folder / "result.json").exists()


def test_a_users_own_workload_is_tuned_without_touching_the_clone(users_folder, tune):
    words = [*MINE, *ONE_SERVER, "freeze=best.yaml", "tracking=none", "n_trials=3"]
    code, out, err = tune(users_folder, *words)
    assert code == 0, out + err
    assert out.rstrip().splitlines()[-1] == "frozen settings: best.yaml"
    (folder,) = folders(users_folder)
    assert frozen.load(users_folder / "best.yaml") == frozen.load(folder / "frozen.yaml")
