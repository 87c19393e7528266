import contextlib
import itertools
import os
import runpy
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hotlap.job import Window
from runners.process import ProcessRunner

ROOT = Path(__file__).parents[1]
LIMIT_S = 240
"""A command that takes longer never ends."""

QUICK = Window(max_s=0.2, min_s=0.05, block_s=0.02, max_warmup_s=0.5)
"""For a trial that only has to be one."""

LAUGHS = "".join(f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 15))
"""In a kilobyte, after a line `l0: &l0 [lol]`: YAML for more items than any memory holds."""

MY_JOB = """
import torch
from hotlap import Workload

def make(batch_size=16):
    rows = torch.utils.data.TensorDataset(torch.randn(256, 8), torch.randint(0, 2, (256,)))
    return Workload(
        model=torch.nn.Linear(8, 2),
        dataset=rows,
        loss=lambda model, batch: torch.nn.functional.cross_entropy(model(batch[0]), batch[1]),
        optimizer=lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.1, **kernel),
        batch_size=batch_size,
    )

def broken():
    raise FileNotFoundError("my_data/rows.pt: these rows were never there")

def breaks_in_a_step():
    workload = make()
    workload.loss = my_loss
    return workload

def my_loss(model, batch):
    raise IndexError("class 10 of 10")
"""


def pytest_configure(config):
    # A shell starts jobs in the background with Ctrl-C ignored, and their children inherit it: no
    # test could end one by Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Some builds of numpy and scikit-learn bring a library that flushes tiny numbers to zero.
    config.addinivalue_line(
        "filterwarnings", "ignore:The value of the smallest subnormal:UserWarning"
    )
    config.option.loadscopereorder = False  # pytest-xdist's own order, for ours


def pytest_collection_modifyitems(config, items):
    """Files are shared out among processes: those with slow tests first, then those with many.

    So the last ones are short, and no process is alone for long. pytest-xdist itself goes by the
    number of tests alone, which is small where each takes long.
    """
    if hasattr(config, "workerinput"):
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        n_tests = Counter(item.path for item in items)
        items.sort(key=lambda item: (item.path not in slow, -n_tests[item.path]))


@pytest.fixture(scope="session")
def caches(tmp_path_factory):
    """New folders' names; most tests never make theirs, and making thousands takes a while."""
    folder = tmp_path_factory.mktemp("caches")
    return (str(folder / str(i)) for i in itertools.count())


@pytest.fixture(autouse=True)
def no_bank_of_the_users(caches, monkeypatch):
    """Each test has a cache folder of its own, and so a bank in which nothing lies yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", next(caches))


@pytest.fixture
def active(monkeypatch):
    """The environment of these tests is the active one: `python` is the Python that runs them."""
    folder = os.path.dirname(sys.executable)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


class Shared(ProcessRunner):
    """A runner for all tests of this process: where a study closes it, its servers stay."""

    def close(self):
        pass

    @property
    def server(self):
        """The one that was used last."""
        return [*self._servers.values()][-1]


@pytest.fixture(scope="session")
def runner(caches):
    """Its fork servers import torch once for all tests of this process."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": next(caches)}
    runner = Shared(preload=["torch"], env=env)
    yield runner
    ProcessRunner.close(runner)


@pytest.fixture
def users_folder(tmp_path):
    """A user's own folder: my_job.py and an option of `model` for each of its functions."""
    (tmp_path / "my_job.py").write_text(MY_JOB)
    (tmp_path / "my_conf" / "model").mkdir(parents=True)
    for name in ("make", "broken", "breaks_in_a_step"):
        (tmp_path / "my_conf" / "model" / f"{name}.yaml").write_text(
            f"# @package _global_\nmodel:\n  workload: my_job.{name}\n"
        )
    return tmp_path


@pytest.fixture
def small_disk(tmp_path):
    """A disk of four megabytes, which a test can fill."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=4m", "hotlap-test", str(folder)]
    try:
        mounted = subprocess.run(words, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("only root may mount a disk that is small enough to fill")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def fill(small_disk):
    """Fills the small disk up to so many bytes; gives the file that takes the room."""

    def fill(leave=0):
        filler = small_disk / "filler"
        room = os.statvfs(small_disk)
        with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            for _ in range(max(0, room.f_bavail * room.f_frsize - leave) // 4096):
                file.write(b"x" * 4096)
        return filler

    return fill


class Typed(subprocess.Popen):
    """An entry script as a user types it, in a folder of the user's own."""

    def __init__(self, cwd, *words, entry="tune.py", stderr=subprocess.PIPE):
        super().__init__(
            [sys.executable, str(ROOT / entry), *words],
            cwd=cwd,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def finish(self):
        """Its exit code, and what it printed; it is killed if it never ends."""
        try:
            out, err = self.communicate(timeout=LIMIT_S)
        finally:
            self.kill()
        return self.returncode, out, err


@pytest.fixture
def start():
    """Starts tune.py in a folder, with words."""
    return Typed


@pytest.fixture
def tune(runner, monkeypatch, capsys):
    """Runs an entry script in a folder, with words: its exit code and what it printed.

    In this process, and its trials by the servers of all tests, which have imported torch alone: to
    start both anew takes longer than a short study. The trials' environment and folder are those of
    the servers. What is about the processes takes `Typed`.
    """
    for module in ("process", "open_runner"):
        monkeypatch.setattr(f"runners.{module}.ProcessRunner", lambda *_, **__: runner)

    def tune(cwd, *words, entry="tune.py"):
        from conf.cli import main

        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", [str(ROOT / entry), *words])
        name = entry.removesuffix(".py")
        task = runpy.run_path(sys.argv[0])[name]
        capsys.readouterr()
        code = main(words, "config" if name == "tune" else name, task)
        return code, *capsys.readouterr()

    return tune


@pytest.fixture
def done(tune):
    """What an entry script printed that ends well."""

    def done(cwd, *words, **more):
        code, out, err = tune(cwd, *words, **more)
        assert code == 0, out + err
        return out

    return done
