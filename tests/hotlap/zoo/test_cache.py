import subprocess
import sys
from pathlib import Path

import pytest

from hotlap.zoo import cache

CLONE = Path(cache.__file__).parents[2]


def test_folder_is_under_home_unless_named(tmp_path, monkeypatch):
    monkeypatch.delenv("HOTLAP_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / ".cache" / "hotlap"
    monkeypatch.setenv("HOTLAP_CACHE", str(tmp_path / "mine"))
    assert cache.cache_folder() == tmp_path / "mine"
    assert (tmp_path / "mine").is_dir()


def test_a_second_holder_waits_for_the_first_and_says_so(tmp_path):
    program = (
        "import sys; from pathlib import Path; from hotlap.zoo.cache import lock\n"
        "waiting = lambda: print('waiting', file=sys.stderr, flush=True)\n"
        "with lock(Path('x.lock'), waiting): print(Path('done').exists())"
    )
    with cache.lock(tmp_path / "x.lock", lambda: pytest.fail("nobody else holds it")):
        other = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={"PYTHONPATH": str(CLONE)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert [other.stderr.readline() for _ in range(2)] == ["waiting\n"] * 2
        (tmp_path / "done").write_text("")
    assert other.communicate()[0].strip() == "True"


def test_a_file_replaces_the_old_one_whole(tmp_path):
    cache.write_bytes(tmp_path / "x", b"old")
    cache.write_bytes(tmp_path / "x", b"new")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("x", b"new")]
