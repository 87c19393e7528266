"""Kinds of scripts that need care of their own: each is measured, or told what is wrong."""

import os
import statistics

import pytest

from hotlap.job import Window
from reports import found_in_script
from runners.process import ProcessRunner
from tests.hotlap.script.found import ok
from tests.hotlap.script.script_texts import TRAINING

REMOVED = """
import glob, os, shutil, sys
print("said before")
shutil.rmtree(os.path.join(os.getcwd(), "jobs"))
"""


@pytest.mark.parametrize("scratch", [False, True])
def test_a_script_that_removes_its_trials_folder_is_measured(scripts, scratch):
    ok(scripts.run(REMOVED + TRAINING + "train(100_000)", scratch=scratch))


def test_the_reason_is_told_where_the_folder_is_gone(scripts):
    found = scripts.run(REMOVED + TRAINING + "train(1)\nopen('nothing here')")
    assert found.outcome == "crash" and found.reason.startswith("FileNotFoundError")
    found = scripts.run(REMOVED + "os._exit(5)")
    assert found.outcome == "crash" and "exit code 5" in found.reason
    assert "said before" in found.traceback


def test_a_script_that_removes_all_temporary_files(scripts, tmp_path):
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    text = """
import os, shutil
shutil.rmtree(os.environ["TMPDIR"])
"""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work").mkdir()
    with ProcessRunner(preload=["torch"], env=env) as runner:
        scripts = type(scripts)(runner, tmp_path / "work")
        ok(scripts.run(text + TRAINING + "train(100_000)"))
        (tmp_path / "tmp").mkdir()
        ok(scripts.run(text + TRAINING + "train(100_000)", scratch=True))


def test_two_loaders_in_turns_count_both_samples(scripts):
    text = (
        TRAINING
        + """
other = DataLoader(rows, batch_size=4)
while True:
    for (x, y), (z, _) in zip(loader, other):
        (nn.functional.mse_loss(model(x), y) + model(z).square().mean()).backward()
        optimizer.step()
"""
    )
    measured = ok(scripts.run(text))
    assert measured.samples_per_step == 12


def test_a_batch_size_that_grows_is_measured_in_samples(scripts):
    text = (
        TRAINING
        + """
for i in range(100_000):
    train(1, DataLoader(rows, batch_size=1 + i % 30, shuffle=True))
"""
    )
    measured = ok(scripts.run(text))
    n_samples = sum(block.samples for block in measured.blocks)
    assert n_samples > sum(block.steps for block in measured.blocks)


def test_an_evaluation_of_an_average_alone_does_not_count(scripts):
    text = (
        TRAINING
        + """
import copy, time
average = copy.deepcopy(model)
own = open("own.txt", "w", buffering=1)
begun = time.perf_counter()
while True:
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        if i % 4 == 3:
            took_s = time.perf_counter() - begun
            print(took_s, file=own)
            with torch.no_grad():
                average(torch.randn(4, 8))
            time.sleep(20 * took_s)
            begun = time.perf_counter()
"""
    )
    measured = ok(scripts.run(text, window=Window(max_s=0.2, min_s=0.05, block_s=0.01)))
    # By the script's own clock: four steps of 8 samples; with the pauses it is 1/21 of that.
    *own, _ = (scripts.folder / "own.txt").read_text().split("\n")
    alone = 32 / statistics.median(map(float, own))
    assert measured.samples_per_s > alone / 5


def test_a_module_beside_the_script_that_has_hotlaps_name(scripts):
    scripts.write("mine = 1", "hotlap.py")
    found = scripts.run("from hotlap import mine\n" + TRAINING + "train(100_000)")
    assert found.outcome == "invalid" and "rename hotlap.py" in found.reason
    ok(scripts.run(TRAINING + "train(100_000)"))  # it has no need of it
    (scripts.folder / "hotlap.py").unlink()


def test_a_tracker_of_its_own_is_found(scripts):
    scripts.write("", "wandb.py")
    assert scripts.facts(TRAINING + "train(9)")["scratch"]["trackers"] == []
    found = scripts.facts("import wandb\n" + TRAINING + "train(9)")
    assert found["scratch"]["trackers"] == ["wandb"]


def test_a_start_method_of_its_own(scripts):
    text = "import torch.multiprocessing\nif __name__ == '__main__':\n"
    text += "    torch.multiprocessing.set_start_method('spawn')\n" + TRAINING
    text += "\nif __name__ == '__main__':\n    train(100_000)\n"
    found = scripts.run(text, settings={"num_workers": 1, "persistent_workers": True})
    ok(found)
    (built,) = (event for event in found.events if event["event"] == "built")
    assert built["num_workers"] == 1 and built["notes"] == []


def test_training_in_processes_that_it_spawns_is_told(scripts):
    text = (
        TRAINING
        + """
import torch.multiprocessing as mp
if __name__ == "__main__":
    worker = mp.get_context("spawn").Process(target=train, args=(1,))
    worker.start()
    worker.join()
"""
    )
    found = scripts.run(text)
    assert found.outcome == "invalid"
    assert "does it train with these arguments, and in this very process?" in found.reason


def test_a_pool_of_threads_that_nobody_ends(scripts):
    text = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(2)\n"
    text += "assert pool.submit(int, 3).result() == 3\n"
    ok(scripts.run(text + TRAINING + "train(30)", timeout_s=30))


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="no /dev/shm here")
def test_a_loader_of_its_own_that_finds_no_shared_memory(scripts):
    text = TRAINING.replace(
        "rows = TensorDataset(",
        """
class Full(TensorDataset):
    def __getitem__(self, i):
        import os
        name = f"torch_{os.getpid()}_1_1"
        with open(f"/dev/shm/{name}", "wb") as file:
            file.truncate(3 << 20)
        raise RuntimeError(f"unable to allocate shared memory(shm) for file </{name}>: No space")
rows = Full(""",
    ).replace("batch_size=8,", "batch_size=8, num_workers=1, prefetch_factor=5,")
    found = scripts.run(text + "train(30)")
    assert found.outcome == "oom"
    assert "up to 1 workers x 5 batches (+1) of 3 MiB and more" in found.reason
    name = found.reason.partition("</")[2].partition(">")[0]
    assert name.startswith("torch_") and not os.path.exists(f"/dev/shm/{name}")


NESTED = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

class Nested(Dataset):
    def __init__(self):
        self.inner = DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=4)
    def __len__(self):
        return 64
    def __getitem__(self, i):
        for (x,) in self.inner:
            return x.mean(0)

loader = DataLoader(Nested(), batch_size=16, shuffle=True)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    for x in loader:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_dataset_with_a_loader_of_its_own_counts_the_batches_that_are_trained_on(
    scripts, num_workers
):
    measured = ok(scripts.run(NESTED, settings={"num_workers": num_workers}))
    assert measured.samples_per_step == 16


def test_of_such_a_dataset_the_probe_tells_one_step_a_batch(scripts):
    facts = scripts.facts(NESTED)
    inner, outer = facts["script"]["loaders"]
    assert (inner["n_steps"], inner["n_batches"], outer["steps_per_batch"]) == (0, 0, 1)
    assert facts["batch_size"] == 16


PREFETCH = """
import queue, threading
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=4)
batches = queue.Queue(4)
def fetch():
    while True:
        for batch in loader:
            batches.put(batch)
threading.Thread(target=fetch, daemon=True).start()
"""
LISTED = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
batches = list(DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=4))
"""
STEPS = """
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i in range(1_000_000):
    (x,) = BATCH
    model(x).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "text",
    [
        PREFETCH + STEPS.replace("BATCH", "batches.get()"),
        LISTED + STEPS.replace("BATCH", "batches[i % 16]"),
    ],
    ids=["thread", "list"],
)
def test_batches_that_are_fetched_ahead_tell_no_steps_a_batch(scripts, text):
    script = scripts.facts(text)["script"]
    lines = "\n".join(found_in_script(script, {"why_not": "", "real": [], "written_bytes": 0}))
    assert "trains" in lines and "steps with each" not in lines and "a step every" not in lines
