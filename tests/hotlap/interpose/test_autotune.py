"""One line at a script's top puts a frozen file in force, and says what comes too late."""

import pytest

from hotlap.frozen import load_frozen
from hotlap.interpose import Imposed
from tests.hotlap.interpose.conftest import lines

FILE = """\
settings: {num_workers: 1, optimizer_kernel: foreach, omp_wait_policy: passive, amp: none}
"""

SCRIPT = """\
import hotlap
hotlap.autotune("frozen.yaml")
hotlap.autotune("frozen.yaml")
import torch
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 4)), 4)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in loader:
    model(x).sum().backward()
    optimizer.step()
print(loader.num_workers, optimizer.param_groups[0]["foreach"])
"""


def test_one_line_puts_a_file_in_force_and_tells_what_comes_too_late(runs):
    runs.file("frozen.yaml", FILE)
    runs.file("script.py", SCRIPT)
    done = runs.plain("script.py")
    assert done.stdout == "1 True\n", done.stderr
    once, late = done.stderr.splitlines()
    assert once.startswith("hotlap: autotune(frozen.yaml) does nothing: settings are in force")
    assert late.startswith("hotlap: omp_wait_policy comes too late: ")
    assert "start this one with OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0" in late


def test_under_hotlap_run_that_line_gives_way_and_nothing_comes_too_late(runs):
    runs.file("script.py", SCRIPT)
    done = runs.hotlap(FILE, "script.py")
    assert done.stdout == "1 True\n", done.stderr
    assert done.stderr.count("does nothing") == 2 == len(done.stderr.splitlines())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("settings: {num_workers: 0, pin_memory: true}\n", {"pin_memory"}),
        (
            "settings: {num_workers: 0, in_order: true, amp: none}\n"
            "provenance: {tuned: [num_workers, in_order]}\n",
            {"num_workers"},
        ),
        ("settings: {num_workers: 3}\nprovenance: {tuned: [no_such_setting]}\n", {"num_workers"}),
        # Tuned for a script that has three workers by itself
        (
            "settings: {num_workers: 3, amp: bf16}\nprovenance: {tuned: [amp], script: train.py}\n",
            {"amp"},
        ),
        # and that one was typed for
        (
            "settings: {num_workers: 3, prefetch_factor: 4, amp: bf16}\n"
            "provenance: {tuned: [amp], imposed: [prefetch_factor], script: train.py}\n",
            {"amp", "prefetch_factor"},
        ),
        ("settings: {}\n", set()),
    ],
)
def test_imposed_is_what_differs_from_the_default_or_was_tuned_or_typed(tmp_path, text, names):
    path = tmp_path / "frozen.yaml"
    path.write_text(text)
    assert Imposed.of_frozen(load_frozen(path)).names == names


SCALER = """\
import torch
scaler = torch.amp.GradScaler("cpu", init_scale=1.0)
model = torch.nn.Linear(4, 1)
model.register_forward_hook(lambda module, args, out: print(out.dtype))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler.scale(model(torch.ones(2, 4)).sum()).backward()
scaler.step(optimizer)
scaler.update()
"""


@pytest.mark.parametrize(
    ("override", "dtype"), [("", "torch.float32"), (", override: [amp]", "torch.bfloat16")]
)
def test_the_full_run_overrides_what_the_study_did(runs, override, dtype):
    runs.file("train.py", SCALER)
    origin = f"{{tuned: [amp], script: train.py{override}}}"
    text = f"settings: {{amp: bf16}}\nprovenance: {origin}\n"
    done = runs.hotlap(text, "train.py")
    assert done.stdout == f"{dtype}\n"
    assert ("precision of its own" in done.stderr) == (not override)


BEFORE = """\
import hotlap, torch
rows = torch.utils.data.TensorDataset(torch.ones(8, 4))
loader = torch.utils.data.DataLoader(rows, 4)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.register_forward_hook(lambda module, args, out: print(out.dtype))
hotlap.autotune("frozen.yaml")
test = torch.utils.data.DataLoader(rows, 4)
for (x,) in loader:
    model(x).sum().backward()
    optimizer.step()
print(loader.num_workers, test.num_workers, optimizer.param_groups[0]["foreach"])
"""


def test_what_was_made_before_that_line_is_taken_up_or_told(runs):
    runs.file("frozen.yaml", "settings: {num_workers: 1, optimizer_kernel: foreach, amp: bf16}\n")
    runs.file("script.py", BEFORE)
    done = runs.plain("script.py")
    assert done.stdout == 2 * "torch.bfloat16\n" + "0 1 True\n", done.stderr
    (late,) = lines(done)
    assert late.startswith("hotlap: num_workers comes too late: the script has made DataLoaders")
    runs.file("script.py", BEFORE.replace("test = ", "test = loader  # "))
    assert "makes its batches itself" not in runs.plain("script.py").stderr


WORKERS = """\
import hotlap
hotlap.autotune("frozen.yaml")
import torch
rows = torch.utils.data.TensorDataset(torch.ones(8, 4))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(rows, 4, num_workers=1, multiprocessing_context="METHOD")
    for (x,) in loader:
        model(x).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_that_import_the_script_anew_say_nothing(runs, method):
    text = "settings: {omp_wait_policy: passive, amp: bf16, memory_format: channels_last}\n"
    runs.file("frozen.yaml", text)
    runs.file("script.py", WORKERS.replace("METHOD", method))
    done = runs.plain("script.py")
    late, lost = lines(done)
    assert "omp_wait_policy comes too late" in late and "memory_format was not in force" in lost


TRAINS_IN_A_CHILD = """\
import hotlap, multiprocessing
hotlap.autotune("frozen.yaml")
import torch
def train():
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=train)
    child.start()
    child.join()
"""


def test_a_process_that_trains_says_what_was_not_in_force_there(runs):
    runs.file("frozen.yaml", "settings: {memory_format: channels_last}\n")
    runs.file("script.py", TRAINS_IN_A_CHILD)
    child, parent = runs.plain("script.py").stderr.splitlines()
    assert "no 4-D parameter" in child and "no torch.optim optimizer seen" in parent
