import json
import os
import subprocess
import sys

from search_spaces.hardware import MEANING, WORDS, machine_facts, words

CPU = {"device": "cpu", "loader": True, "resident": False, "spawn_error": ""}


def test_facts_are_plain_data_about_this_machine() -> None:
    facts = machine_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert 1 <= facts["cores"] <= len(os.sched_getaffinity(0))
    assert facts["memory_bytes"] > 1 << 28


def test_cores_follow_the_affinity() -> None:
    one = next(iter(os.sched_getaffinity(0)))
    code = (
        f"import os; os.sched_setaffinity(0, [{one}]); "
        "from search_spaces.hardware import machine_facts; print(machine_facts()['cores'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_reading_facts_imports_no_torch() -> None:
    code = (
        "import sys, search_spaces, objectives; search_spaces.machine_facts(); "
        "print('torch' in sys.modules, 'optuna' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_each_word_has_a_meaning_and_can_hold() -> None:
    machine = {
        "cores": 4,
        "budget_s": 1800.0,
        "allocators": ["jemalloc", "tcmalloc"],
        "libgomp": True,
        "libc": "glibc 2.36",
    }
    workload = {
        **CPU,
        "device": "cuda:0",
        "optimizer_kernels": ["default", "foreach", "fused"],
        "sdpa_backends": ["flash", "efficient", "cudnn", "math"],
        "batch_norm": False,
        **dict.fromkeys(("bf16", "fp16", "tf32", "conv2d", "attention", "compiler"), True),
    }
    found = words(machine, workload) | words(machine, CPU)
    assert found == set(WORDS) == set(MEANING)


def test_what_is_not_known_gives_no_word() -> None:
    assert words({}, {}) == set()


def test_cuda_words_are_about_the_workload_and_not_the_machine() -> None:
    machine = {"gpus": [{"memory_bytes": 1}]}
    found = words(machine, {"device": "cpu", "tf32": True, "conv2d": True})
    assert found == {"cpu", "conv2d"}


def test_data_on_the_device_has_no_loader() -> None:
    assert "loader" not in words({}, {**CPU, "resident": True})


def test_stream_and_closure_are_told_apart_from_a_plain_dataset() -> None:
    assert "map_dataset" not in words({}, {**CPU, "iterable_dataset": True})
    assert "picklable_dataset" not in words({}, {**CPU, "spawn_error": "a lambda"})
    assert {"map_dataset", "picklable_dataset"} <= words({}, CPU)


def test_what_loading_would_change_takes_a_word_away() -> None:
    assert {"shared_dataset", "steady_dataset", "any_order"} <= words({}, CPU)
    stream = {**CPU, "iterable_dataset": True}
    for sharing, holds in (("shared", True), ("repeated", False), ("unknown", False)):
        assert ("shared_dataset" in words({}, {**stream, "stream_sharing": sharing})) is holds
    assert "steady_dataset" not in words({}, {**CPU, "dataset_changes": "dataset.n changes"})
    assert "any_order" not in words({}, {**CPU, "fixed_order": "the workload does not shuffle"})
