import subprocess
from datetime import datetime, timedelta

from studies import provenance


def test_versions_are_the_workers_own_and_the_tuners():
    found = provenance.versions({"torch": "2.4.0", "cuda": None, "device": "cpu"})
    assert found["torch"] == "2.4.0"
    assert "cuda" not in found and "device" not in found
    assert {"hotlap", "optuna"} <= set(found)


def test_the_git_commit_says_whether_files_differ_from_it(tmp_path):
    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    assert provenance.git_commit(tmp_path) == ""
    git("init")
    assert provenance.git_commit(tmp_path) == ""
    (tmp_path / "train.py").write_text("1")
    git("add", ".")
    git("commit", "-m", "first")
    commit = provenance.git_commit(tmp_path)
    assert len(commit) == 40
    (tmp_path / "train.py").write_text("2")
    assert provenance.git_commit(tmp_path) == commit + "+"


def test_the_date_is_in_utc():
    now = datetime.fromisoformat(provenance.now())
    assert now.utcoffset() == timedelta(0)
