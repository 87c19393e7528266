import sys
from collections import defaultdict
from pathlib import Path

import optuna
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # simulated.py and replay.py are not tests

from banked import FACTS, Banked  # noqa: E402
from replay import Replay  # noqa: E402
from test_search import rate  # noqa: E402

from studies import ledger  # noqa: E402


@pytest.fixture
def on_disk():
    """For tests that ask for it, the sessions of a study share its file, as they do in truth."""


@pytest.fixture
def storage(request, monkeypatch):
    """Folder -> where its sessions keep their trials: in memory, unless a test wants them on disk.

    To write the file takes several times as long as all the rest of a simulated study.
    """
    if "on_disk" in request.fixturenames:
        return lambda folder: f"sqlite:///{folder / ledger.FILE}"
    kept = defaultdict(optuna.storages.InMemoryStorage)
    monkeypatch.setattr(ledger, "_storage", kept.__getitem__)
    return kept.__getitem__


@pytest.fixture
def rows(tmp_path, storage):
    """The trials of a study as anybody reads them."""
    folder = tmp_path / "study"
    return lambda: optuna.load_study(study_name="study", storage=storage(folder)).trials


@pytest.fixture
def replay(tmp_path, storage):
    """Opens a study on a simulated machine; each call is another session over the same folder."""

    def session(rate, folder=None, **options):
        return Replay(folder or tmp_path / "study", rate, **options)

    return session


@pytest.fixture
def folder(tmp_path):
    """The bank's."""
    return tmp_path / "bank"


@pytest.fixture
def study(replay, folder, tmp_path):
    """Opens a new study on the bank; each has a folder of its own."""
    numbers = iter(range(99))

    def opened(rate=rate, facts=FACTS, **options):
        own = {"budget_s": 900, "window_s": 1.0, "process_noise": 0.01, "seed": next(numbers)}
        own |= {"in_memory": True, **options}
        session = replay(rate, tmp_path / f"study {own['seed']}", **own)
        return Banked(session, folder, facts)

    return opened
