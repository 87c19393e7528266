import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # simulated.py and replay.py are not tests

from replay import Replay  # noqa: E402


@pytest.fixture
def replay(tmp_path):
    """Opens a study on a simulated machine; each call is another session over the same folder."""

    def session(rate, folder=None, **options):
        return Replay(folder or tmp_path / "study", rate, **options)

    return session
