import os
import subprocess
import sys

from tests.conftest import ROOT

CODE = """
import sys
from pathlib import Path
from hotlap.settings import Settings
from reports import NoTracking, study_record, trial_record

tracking = NoTracking()
tracking.study_started(study_record("s", "w", {}, {}))
tracking.trial(trial_record("s", 0, Settings(), "crash", reason="x"))
tracking.study_ended({}, [])
tracking.run_started({})
tracking.run_metrics(1, {"loss": 1.0})
tracking.run_ended({}, [])
tracking.send_missing()
tracking.close()
print([name for name in ("mlflow", "torch", "sqlalchemy") if name in sys.modules])
print(repr(tracking.ui_command()), list(Path.cwd().iterdir()))
"""


def test_without_tracking_mlflow_is_never_imported_and_nothing_is_written(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["[]", "'' []"]
