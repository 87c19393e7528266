"""A study that was copied goes on where its records are, and its trials are compared."""

import shutil
import sqlite3

import pytest

from tests.short_study import MINE, ONE_SERVER, folders, states

pytestmark = [
    pytest.mark.slow,
    # MLflow's own dependencies warn when they are imported; hotlap cannot mend that.
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::PendingDeprecationWarning"
    ),
]

SPEEDUPS = """
    SELECT kind.value, outcome.value, speedup.value FROM runs AS run
    JOIN tags AS kind ON kind.run_uuid = run.run_uuid AND kind.key = 'kind'
    JOIN tags AS outcome ON outcome.run_uuid = run.run_uuid AND outcome.key = 'outcome'
    LEFT JOIN latest_metrics AS speedup
    ON speedup.run_uuid = run.run_uuid AND speedup.key = 'speedup'
"""


def test_a_copied_study_goes_on_in_its_database_and_knows_its_baseline(users_folder, tune):
    code, out, err = tune(users_folder, *MINE, *ONE_SERVER, "n_trials=2")
    assert code == 0, out + err
    (folder,) = folders(users_folder)
    copy = shutil.copytree(folder, users_folder / "mnt" / "copy")
    code, out, err = tune(users_folder, f"resume={copy}", "n_trials=4")
    assert code == 0, out + err
    assert len(states(copy)) == 4
    databases = list(users_folder.rglob("mlflow.db"))
    assert databases == [users_folder / "outputs" / "mlflow.db"]
    with sqlite3.connect(databases[0]) as database:
        rows = database.execute(SPEEDUPS).fetchall()
    database.close()
    kinds = [kind for kind, _, _ in rows]
    assert "repeat" in kinds and kinds.count("study") == 1 and kinds.count("search") >= 2
    # A trial that was stopped before its window has no rate at all.
    assert not [kind for kind, outcome, speedup in rows if outcome == "ok" and speedup is None]
