"""What others use of the machine, and what is left of a loader that found no shared memory."""

import os
import signal

import pytest

from hotlap import resources


class Worker:
    """As multiprocessing has it: only its own parent may wait for it."""

    def __init__(self, ours):
        self.ours, self.pid, self.done = ours, os.getpid(), []

    def join(self, timeout_s):
        assert self.ours, "can only join a child process"
        self.done.append(f"joined for {timeout_s:g}")

    def kill(self):
        self.done.append("killed")


@pytest.fixture
def as_it_was():
    """The signal that a worker's end sends, which is nobody's any more then."""
    before = signal.getsignal(signal.SIGCHLD)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.usefixtures("as_it_was")
def test_own_workers_are_ended_and_those_of_a_forked_scripts_parent_are_not(tmp_path, monkeypatch):
    theirs, ours = Worker(False), Worker(True)
    monkeypatch.setattr(resources.multiprocessing, "active_children", lambda: [theirs, ours])
    monkeypatch.setattr(resources, "SHM", str(tmp_path))
    file = tmp_path / f"torch_{os.getpid()}_1_1"
    file.write_bytes(bytes(3 << 20))
    hint = resources.shared_memory_hint(2, 5, f"unable to allocate for file </{file.name}>")
    assert "up to 2 workers x 5 batches (+1) of 3 MiB and more" in hint and not file.exists()
    assert theirs.done == [] and ours.done == ["joined for 0", "killed", "joined for 5"]


def test_what_a_virtual_machines_neighbours_take_is_others_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "PROC", tmp_path)
    monkeypatch.setattr(resources.time, "monotonic", iter((0.0, 10.0, 20.0)).__next__)
    line = "cpu  0 0 0 {} 0 0 0 {} 0 0\n"  # proc(5): user nice system idle iowait irq softirq steal
    (tmp_path / "stat").write_text(line.format(0, 0))
    share = resources.OtherCpu()
    ticks = 10 * os.sysconf("SC_CLK_TCK") * os.cpu_count()
    (tmp_path / "stat").write_text(line.format(ticks * 3 // 4, ticks // 4))
    assert share() == pytest.approx(0.25, abs=0.01)
    assert share() == 0.0
