import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hotlap.errors import UserInputError
from hotlap.zoo import cache, jpegs

CLONE = Path(jpegs.__file__).parents[2]


def python(program, cache):
    environment = {**os.environ, "HOTLAP_CACHE": str(cache), "PYTHONPATH": str(CLONE)}
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def files(tree):
    return sorted(p for p in tree.rglob("*") if p.is_file())


def test_files_are_as_large_as_photos():
    scenes = [jpegs.scene(i, 16, 0) for i in range(40)]
    sizes = [len(jpegs.paint(s, np.random.default_rng(i))) for i, s in enumerate(scenes)]
    assert 90_000 < np.mean(sizes) < 130_000
    assert np.std(sizes) > 1000
    pixels = np.mean([s.width * s.height for s in scenes])
    assert pixels == pytest.approx(500 * 375, rel=0.1)
    assert all(max(s.width, s.height) in (480, 500) for s in scenes)


def test_files_are_made_once_in_class_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("HOTLAP_CACHE", str(tmp_path))
    calls = []
    tree = jpegs.generate(7, 3, progress=lambda done, wanted: calls.append((done, wanted)))
    assert calls == [(i, 7) for i in range(1, 8)]
    assert [p.parent.name for p in files(tree)] == ["class_0000"] * 3 + ["class_0001"] * 2 + [
        "class_0002"
    ] * 2
    for index in range(7):
        what = jpegs.scene(index, 3, 0)
        with Image.open(jpegs.file_of(tree, index, 3)) as image:
            assert (image.format, image.mode) == ("JPEG", "RGB")
            assert image.size == (what.width, what.height)
            image.load()
    assert jpegs.generate(7, 3, progress=lambda *_: pytest.fail("generated again")) == tree


def test_two_processes_at_once_end_in_one_whole_tree(tmp_path):
    program = (
        "from hotlap.zoo import jpegs; told = []\n"
        "tree = jpegs.generate(20, 4, progress=lambda *n: told.append(n))\n"
        "print(told.count((20, 20)), tree)"
    )
    both = [python(program, tmp_path) for _ in range(2)]
    outputs = [process.communicate()[0].split(maxsplit=1) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(int(made) for made, _ in outputs) == [0, 1]
    assert len({tree for _, tree in outputs}) == 1
    tree = Path(outputs[0][1].strip())
    assert len(files(tree)) == 20
    for file in files(tree):
        with Image.open(file) as image:
            image.load()


def test_what_a_killed_process_left_is_completed(tmp_path, monkeypatch):
    killed = python(
        "import os, signal; from hotlap.zoo import jpegs\n"
        "jpegs.generate(8, 2, progress=lambda done, _: done == 3 and os.kill(os.getpid(), 9))",
        tmp_path,
    )
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    monkeypatch.setenv("HOTLAP_CACHE", str(tmp_path))
    (tree,) = tmp_path.glob("jpegs-*/images")
    left = {p: p.stat().st_ino for p in files(tree)}
    assert len(left) == 3
    torn = tree / "class_0000" / ".0000004.jpg.1"
    torn.write_bytes(b"half")
    assert jpegs.generate(8, 2) == tree
    assert len(files(tree)) == 8
    assert not torn.exists()
    assert {p: p.stat().st_ino for p in left} == left


def test_who_waits_for_another_process_tells_how_far_that_one_is(tmp_path):
    """A trial that is silent for long is ended."""
    generate = (
        "jpegs.generate(6, 2, progress=lambda done, _: done == 3 and os.kill(os.getpid(), 9))"
    )
    python(f"import os; from hotlap.zoo import jpegs; {generate}", tmp_path).communicate()
    (lock,) = tmp_path.glob("*.lock")
    program = (
        "from hotlap.progress import listen; from hotlap.zoo import jpegs\n"
        "listen(lambda *told: print(*told, flush=True)); jpegs.generate(6, 2)"
    )
    with cache.lock(lock, lambda: pytest.fail("nobody else is at work")):
        other = python(program, tmp_path)
        waits = [other.stdout.readline() for _ in range(2)]
    assert waits == ["waiting for another process that generates JPEGs 3 6\n"] * 2
    assert other.communicate()[0].endswith("generating JPEGs, once 6 6\n")


def test_the_same_seed_gives_the_same_pictures():
    def picture(seed):
        return jpegs.paint(jpegs.scene(5, 4, seed), np.random.default_rng(seed))

    assert picture(1) == picture(1)
    assert picture(1) != picture(2)


def test_progress_is_printed_on_stderr(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOTLAP_CACHE", str(tmp_path))
    jpegs.generate(2, 1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "generating JPEGs, once: 2 of 2" in err


def test_a_cache_that_cannot_be_written_says_what_to_type(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOTLAP_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserInputError, match="export HOTLAP_CACHE=/path/to/folder"):
        jpegs.generate(2, 1)
