"""A script that trains with settings of another machine says so once, and runs on as ever."""

import pytest

from hotlap.machine import cpu_facts, cpu_flags
from hotlap.toolchain import BF16_FLAGS

FROZEN = """\
settings: {{optimizer_kernel: foreach, amp: {amp}}}
provenance:
  facts: {{device_name: NVIDIA H100, cores: 640, bf16: true}}
  versions: {{torch: '1.0', cuda: '12.4'}}
"""
TRAINS = """\
import sys
import torch
model = torch.nn.Linear(4, 1)
for _ in range(2):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
print("trained")
sys.exit(3)
"""
AUTOTUNE = 'import hotlap\nhotlap.autotune("frozen.yaml")\n'


@pytest.mark.parametrize("way", ["run", "autotune"])
def test_another_machine_is_told_once_on_standard_error(runs, way):
    text = FROZEN.format(amp="none")
    runs.file("frozen.yaml", text)
    runs.file("train.py", (AUTOTUNE if way == "autotune" else "") + TRAINS)
    done = runs.hotlap(text, "train.py") if way == "run" else runs.plain("train.py")
    assert (done.returncode, done.stdout) == (3, "trained\n"), done.stderr
    device, cores, torch = done.stderr.splitlines()
    assert device.startswith("hotlap: the device was NVIDIA H100 when the settings were frozen and")
    assert cores.startswith("hotlap: the number of usable cores was 640 when the settings were")
    assert torch.startswith("hotlap: torch was 1.0 when")


def test_bf16_on_a_cpu_without_instructions_for_it_is_told(runs):
    runs.file("train.py", TRAINS)
    done = runs.hotlap(FROZEN.format(amp="bf16"), "train.py")
    assert done.stdout == "trained\n", done.stderr
    assert ("ask for amp=bf16" in done.stderr) == (not BF16_FLAGS & cpu_flags())


@pytest.mark.parametrize("closes", ["sys.stderr = None", "sys.stderr.close()"])
def test_a_script_without_standard_error_goes_on(runs, closes):
    runs.file("train.py", TRAINS.replace("import torch\n", f"import torch\n{closes}\n"))
    done = runs.hotlap(FROZEN.format(amp="none"), "train.py")
    assert (done.returncode, done.stdout) == (3, "trained\n"), done.stderr


def test_a_machine_that_cannot_be_asked_ends_no_training(runs):
    broken = "import torch\nimport platform\nplatform.python_version = None\n"
    runs.file("train.py", TRAINS.replace("import torch\n", broken))
    done = runs.hotlap(FROZEN.format(amp="none"), "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (3, "trained\n", "")


def test_the_device_of_an_optimizer_that_keeps_some_parameters_in_host_memory(runs):
    text = (
        "import torch\n"
        "here, there = torch.zeros(2), torch.zeros(2, device='meta')\n"
        "torch.optim.SGD([here, there], lr=0.1, foreach=True).step()\n"
    )
    runs.file("train.py", text)
    done = runs.hotlap(FROZEN.format(amp="none"), "train.py")
    assert "the device was NVIDIA H100 when the settings were frozen and is meta here" in (
        done.stderr
    )


@pytest.mark.parametrize("closes", ["sys.stderr = None", "sys.stderr.close()"])
def test_the_last_words_of_a_script_without_standard_error_go_nowhere(runs, closes):
    runs.file("train.py", f"import sys\nimport torch\n{closes}\nprint('done')\n")
    done = runs.hotlap("settings: {num_workers: 2}\n", "train.py")
    assert (done.returncode, done.stdout) == (0, "done\n")


def test_the_last_words_name_what_was_not_in_force_and_what_was_overruled(runs):
    sets = 2 * "torch.backends.cudnn.benchmark = False\n" + "torch.set_num_threads(1)\n"
    sets += "torch.backends.cuda.enable_flash_sdp(True)\n"  # which holds: nothing is trained
    runs.file("train.py", f"import torch\n{sets}")
    more = "cudnn_benchmark: true, intraop_threads: 1, sdpa_backend: math"
    text = f"settings: {{num_workers: 2, {more}}}\n"
    *lost, overruled = runs.hotlap(text, "train.py").stderr.splitlines()
    names = {line.partition(" was not in force: ")[0] for line in lost}
    assert names == {"hotlap: num_workers", "hotlap: sdpa_backend"}
    assert overruled.startswith("hotlap: the script's own cudnn_benchmark=False (")
    assert overruled.endswith("train.py:3) was overruled")  # the threads are what it wanted


def test_one_that_never_trains_says_nothing_of_it(runs):
    runs.file("train.py", "import torch\nprint(torch.cuda.is_initialized())\n")
    done = runs.hotlap(FROZEN.format(amp="none"), "train.py")
    assert done.stdout == "False\n" and "when the settings were frozen" not in done.stderr


def test_more_workers_and_threads_than_there_are_cores_are_told(runs):
    cores = cpu_facts()["cores"]
    many = (
        f"settings: {{num_workers: {cores + 22}, intraop_threads: {cores + 30}}}\n"
        "provenance: {facts: {cores: 640}, tuned: [num_workers]}\n"
    )
    runs.file("train.py", TRAINS)
    done = runs.hotlap(many, "train.py")
    told = f"hotlap: {cores + 22} loader workers and {cores + 30} threads on {cores} core"
    (line,) = [line for line in done.stderr.splitlines() if line.startswith(told)]
    assert "they were chosen for 640" in line
    assert f"write num_workers: {cores} and intraop_threads: {cores} into " in line
    proven = many.replace("640", str(cores)).replace(
        "[num_workers]", "[num_workers, intraop_threads]"
    )
    assert told not in runs.hotlap(proven, "train.py").stderr
