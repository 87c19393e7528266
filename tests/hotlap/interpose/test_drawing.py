"""Samples drawn in a forked process leave nothing behind here."""

import os
import signal

import pytest
import torch
from torch.utils.data import DataLoader

from hotlap.interpose.drawing import asked_in_a_fork, changed_by_drawing

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
N = 100_000


class Lines:
    """Reads from one open file, as many datasets do."""

    def __init__(self, path):
        self.file = path.open("rb")

    def __getitem__(self, i):
        self.file.seek(N // 2 + i)
        return torch.tensor(list(self.file.read(2)))

    def close(self):
        self.file.close()


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(i % 251 for i in range(N)))
    lines = Lines(path)
    yield lines
    lines.close()


@pytest.mark.parametrize("keep", [lambda file: file, lambda file: [file], lambda file: {"a": file}])
def test_a_reader_goes_on_where_it_was(lines, keep):
    lines.kept = keep(lines.file)
    assert lines.file.read(10) == bytes(range(10))
    assert changed_by_drawing(loader_of(lines)) == ""
    # What is buffered comes first, and then what follows it in the file.
    assert lines.file.read(N - 10) == bytes(i % 251 for i in range(10, N))


def loader_of(dataset):
    return DataLoader(dataset, 2, sampler=range(4), collate_fn=torch.stack)


class Opens:
    n_read = None

    def __getitem__(self, i):
        if self.n_read is None:
            self.size = 8
        self.n_read = 1
        return torch.zeros(self.size)


class Counts(Opens):
    def __getitem__(self, i):
        self.n_read = (self.n_read or 0) + 1
        return torch.zeros(1)


def test_what_the_first_sample_finds_out_is_no_change_and_a_count_is():
    assert changed_by_drawing(loader_of(Opens())) == ""
    assert changed_by_drawing(loader_of(Counts())) == "dataset.n_read"


class CountsBatches(Opens):
    """Has no length, and knows lists of indices alone."""

    n_read = 0

    def __getitem__(self, indices):
        self.n_read += len(indices)
        return torch.zeros(len(indices))


def test_samples_are_drawn_by_the_loader_s_own_indices():
    batches = DataLoader(CountsBatches(), batch_size=None, sampler=[[3, 1], [2]])
    assert changed_by_drawing(batches) == "dataset.n_read"


def test_one_that_hangs_or_fails_answers_nothing(monkeypatch):
    monkeypatch.setattr("hotlap.interpose.drawing.TRY_S", 0.1)
    read, write = os.pipe()
    assert asked_in_a_fork(lambda: str(os.read(read, 1)), None) == ""  # nobody writes to it
    assert asked_in_a_fork(lambda: str(1 // 0), None) == ""
    os.close(read)
    os.close(write)


@pytest.mark.parametrize("signal_", [signal.SIGALRM, None])
def test_whoever_draws_is_ended_with_the_process_that_asked(runs, signal_):
    """An error of the script's own, in a signal handler, or its end by SIGKILL."""
    text = f"""
import os, signal, sys, time
from hotlap.interpose.drawing import asked_in_a_fork
read, write = os.pipe()
parent = os.getpid()

def question():
    os.write(write, f"{{os.getpid()}} ".encode())
    os.kill(parent, {int(signal_ or signal.SIGKILL)})
    time.sleep(600)

def stop(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
if {signal_ is None} and os.fork():
    os.wait()
else:
    parent = os.getpid()
    try:
        asked_in_a_fork(question, None)
    except KeyboardInterrupt:
        pass
pid = int(os.read(read, 100))
for _ in range(300):
    try:
        state = open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[0]
    except OSError:
        state = "gone"
    if state in ("Z", "gone"):
        break
    time.sleep(0.1)
print(state in ("Z", "gone"))
"""
    done = runs.plain(runs.file("asks.py", text))
    assert done.stdout == "True\n", done.stderr
