"""Scripts that fail with some settings: a trial ends with its outcome and a reason, others run.

Kinds of failure that people meet in public projects, each in a script of our own.
"""

import os

import pytest

from hotlap.job import Window
from studies.growth import Limits, growths
from tests.hotlap.script.found import ok
from tests.hotlap.script.script_texts import TRAINING


def notes(found):
    (built,) = (event for event in found.events if event["event"] == "built")
    return {note["setting"]: note["reason"] for note in built["notes"]}


ROWS = "rows = TensorDataset("
KILLED = TRAINING.replace(
    ROWS,
    """
import os, signal

class Hungry(TensorDataset):
    def __getitem__(self, i):
        if torch.utils.data.get_worker_info() is not None and i > 40:
            os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does for want of memory
        return super().__getitem__(i)

rows = Hungry(""",
)


def test_a_worker_that_the_kernel_kills_is_a_lack_of_memory(scripts):
    found = scripts.run(KILLED + "train(100_000)", settings={"num_workers": 2})
    assert found.outcome == "oom"
    assert "killed by signal: Killed" in found.reason and "peak host memory" in found.reason
    assert not found.measurement.blocks
    ok(scripts.run(KILLED + "train(100_000)"))


def test_a_worker_that_a_bus_error_ends_is_a_lack_of_shared_memory(scripts):
    text = KILLED.replace("signal.SIGKILL", "signal.SIGBUS") + "train(2)"
    found = scripts.run(text, settings={"num_workers": 1})
    assert found.outcome == "oom"
    assert "up to 1 workers x 2 batches" in found.reason and "Bus error" in found.reason


LOCKED = TRAINING.replace(
    ROWS,
    """
import os, threading

lock = threading.Lock()
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release)

class NeedsLock(TensorDataset):
    def __getitem__(self, i):
        with lock:
            return super().__getitem__(i)

rows = NeedsLock(""",
)
"""Whoever forks holds the lock, as a thread in the background does by chance; a worker waits for it
for ever."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_workers_that_wait_for_a_lock_that_nobody_releases_end_the_trial(scripts):
    short = Window(first_step_s=3.0)
    found = scripts.run(LOCKED + "train(100_000)", settings={"num_workers": 1}, window=short)
    assert found.outcome == "timeout" and "first_step_s" in found.reason
    assert "in train" in found.traceback or "train.py" in found.traceback  # where it stood
    ok(scripts.run(LOCKED + "train(100_000)"))


MIXED = """
import torch
from torch import nn
from torch.utils.data import DataLoader

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 4, 3), nn.Conv1d(4, 4, 3), nn.Conv3d(2, 4, 3)

    def forward(self, image, series, clip):
        last = torch.channels_last
        assert image.is_contiguous(memory_format=last) is LAST and clip.is_contiguous()
        return self.a(image).mean() + self.b(series).mean() + self.c(clip).mean()

rows = [{"image": torch.randn(3, 8, 8), "series": torch.randn(4, 9), "clip": torch.randn(2, 4, 4, 4)}] * 32
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
while True:
    for batch in DataLoader(rows, batch_size=4):
        optimizer.zero_grad()
        net(**batch).backward()
        optimizer.step()
"""  # noqa: E501


@pytest.mark.parametrize("memory_format", ["contiguous", "channels_last"])
def test_of_tensors_of_all_ranks_only_images_are_laid_out(scripts, memory_format):
    text = f"LAST = {memory_format == 'channels_last'}\n" + MIXED
    found = scripts.run(text, settings={"memory_format": memory_format})
    ok(found)
    assert notes(found) == {}


PROBABILITIES = """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
optimizer = torch.optim.Adam(net.parameters())
loss = nn.BCELoss()
while True:
    x = torch.randn(32, 16)
    optimizer.zero_grad()
    loss(net(x), (x[:, :1] > 0).float()).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("amp", ["none", "bf16"])
def test_a_loss_of_probabilities_meets_float32_in_any_precision(scripts, amp):
    found = scripts.run(PROBABILITIES, settings={"amp": amp})
    ok(found)
    assert notes(found) == {}


COMPLEX = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8, dtype=torch.cfloat))
        self.out = nn.Linear(8, 2)
        self.frozen = nn.Linear(8, 8).requires_grad_(False)

    def forward(self, x):
        return self.out((self.frozen(x).to(torch.cfloat) @ self.w).abs())

net = Net()
groups = [{"params": [net.w]}, {"params": net.out.parameters(), "lr": 1e-2}]
optimizer = torch.optim.Adam(groups, lr=1e-3)
while True:
    optimizer.zero_grad()
    net(torch.randn(16, 8)).square().mean().backward()
    optimizer.step()
    assert [group["lr"] for group in optimizer.param_groups] == [1e-3, 1e-2]
"""


@pytest.mark.parametrize("kernel", ["default", "for_loop", "foreach", "fused"])
def test_an_optimizer_kernel_that_refuses_complex_parameters_is_told_once(scripts, kernel):
    found = scripts.run(COMPLEX, settings={"optimizer_kernel": kernel})
    ok(found)
    assert set(notes(found)) == ({"optimizer_kernel"} if kernel == "fused" else set())


BOTH_APIS = """
import torch
from torch import nn

def read():
    backends = torch.backends
    return (
        backends.cuda.matmul.allow_tf32,
        backends.cudnn.allow_tf32,
        torch.get_float32_matmul_precision(),
    )

read()
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
net = nn.Linear(8, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
while True:
    optimizer.zero_grad()
    net(torch.randn(16, 8)).square().mean().backward()
    optimizer.step()
    read()
"""


@pytest.mark.parametrize("precision", ["highest", "high"])
@pytest.mark.parametrize("tf32", [True, False])
def test_a_script_that_reads_the_old_switches_of_tf32_can_do_so(scripts, precision, tf32):
    settings = {"float32_matmul_precision": precision, "cudnn_allow_tf32": tf32}
    ok(scripts.run(BOTH_APIS, settings=settings))


HEAVY = """
import torch
from torch import nn

torch.manual_seed(0)
layers = [part for i in range(4) for part in (nn.Linear(16 + i, 17 + i), nn.GELU())]
net = nn.Sequential(*layers)
optimizer = torch.optim.AdamW(net.parameters())
while True:
    optimizer.zero_grad()
    net(torch.randn(16, 16)).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_compilation_is_no_part_of_a_steps_time(scripts):
    found = scripts.run(HEAVY, settings={"compile_mode": "default"}, timeout_s=240)
    if "compiler" in found.reason:
        pytest.skip("no C++ compiler here")
    measured = ok(found)
    # Seconds of compilation, and far less for all steps of the window together.
    step_s = sum(b.seconds for b in measured.blocks) / sum(b.steps for b in measured.blocks)
    assert measured.compile_s > 100 * step_s
    assert measured.settled


GROWS = """
import torch
from torch import nn

net = nn.Linear(64, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
kept = []
while True:
    optimizer.zero_grad()
    net(torch.randn(256, 64)).square().mean().backward()
    optimizer.step()
    kept.append(torch.ones(1 << 16))  # 256 KiB more at each step
"""


def test_memory_that_grows_at_each_step_is_found(scripts):
    window = Window(max_s=1.0, min_s=1.0, block_s=0.05, max_warmup_s=0.5, precision=0.0)
    measured = ok(scripts.run(GROWS, window=window))
    found = {growth.what: growth for growth in growths(measured, 10**7, Limits(host_bytes=1 << 33))}
    assert "host memory grows by" in found["host_bytes"].sentence
    assert found["host_bytes"].per_step == pytest.approx(1 << 18, rel=0.2)


def test_memory_that_grows_in_a_script_of_300_steps_is_found(scripts):
    text = GROWS.replace("while True", "for _ in range(300)")
    measured = ok(scripts.run(text, window=Window(block_s=10)))
    (found,) = growths(measured, 10**7, Limits(host_bytes=1 << 33))
    assert found.what == "host_bytes" and found.per_step == pytest.approx(1 << 18, rel=0.3)


@pytest.mark.parametrize(
    "text", [PROBABILITIES, COMPLEX, BOTH_APIS], ids=["bce", "complex", "apis"]
)
def test_a_script_of_60_steps_is_measured_to_its_last_one(scripts, text):
    found = scripts.run(text.replace("while True", "for _ in range(60)"), window=Window(block_s=10))
    assert sum(block.steps for block in ok(found).blocks) == 58


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_script_of_8_steps_is_measured_with_workers_too(scripts, num_workers):
    text = "LAST = False\n" + MIXED.replace("while True", "for _ in range(1)")
    found = scripts.run(text, settings={"num_workers": num_workers}, window=Window(block_s=10))
    assert sum(block.steps for block in ok(found).blocks) == 6
    assert notes(found) == {}


INTEROP = """
import torch
from torch import nn

torch.set_num_threads(2)
torch.set_num_interop_threads(2)
net = nn.Linear(8, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(60):
    assert torch.get_num_interop_threads() == 1
    optimizer.zero_grad()
    net(torch.randn(16, 8)).square().mean().backward()
    optimizer.step()
"""


def test_threads_that_can_be_set_once_are_those_that_are_imposed(scripts):
    found = scripts.run(INTEROP, settings={"interop_threads": 1}, window=Window(block_s=10))
    ok(found)
    assert notes(found) == {}


EXPLODES = """
import torch
from torch import nn

net = nn.Linear(64, 64)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(60):
    optimizer.zero_grad()
    net(torch.randn(32, 64) * 300).pow(2).sum().backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
"""


def test_no_script_trains_in_fp16_whatever_is_asked_for(scripts):
    found = scripts.run(EXPLODES, settings={"amp": "fp16"}, window=Window(block_s=10))
    ok(found)
    assert "GradScaler" in notes(found)["amp"]
    facts = scripts.facts(EXPLODES)
    assert facts["fp16"] is False  # so that no search takes it, nor an expert's settings
    assert "GradScaler" in facts["unreached"]["amp=fp16"]
