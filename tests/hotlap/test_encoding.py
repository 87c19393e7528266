"""What is written here is read elsewhere: in UTF-8, whatever this user's locale is."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

CODE = """
import locale, sys
from pathlib import Path
if locale.getpreferredencoding(False).lower().replace("-", "") == "utf8":
    sys.exit(99)
from hotlap import frozen
from hotlap.job import write_text
from hotlap.settings import Settings
from reports.journal import Journal

here = Path(sys.argv[1])
word = "f\\u00fcr alle"
frozen.dump(here / "frozen.yaml", Settings(num_workers=2), {"workload": word})
assert frozen.load_frozen(here / "frozen.yaml").provenance["workload"] == word
write_text(here / "config.yaml", word)
entry = Journal(here / "tracking.jsonl", "a").append("trial", {"word": word})
assert Journal(here / "tracking.jsonl", "a").missing() == [entry]
"""


def test_a_locale_that_is_not_utf_8_changes_no_file(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONUTF8": "0",
        },
        capture_output=True,
        text=True,
    )
    if done.returncode == 99:
        pytest.skip("the C locale is UTF-8 here")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "config.yaml").read_bytes() == "für alle".encode()
    assert "für alle" in (tmp_path / "frozen.yaml").read_bytes().decode()
