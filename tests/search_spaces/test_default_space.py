"""The search spaces of conf/search_space, as a study gets them."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from optuna.trial import FixedTrial

from hotlap.settings import NAMES, Settings
from search_spaces import Knob, Space, active, expert

FOLDER = Path(__file__).parents[2] / "conf" / "search_space"
CPU: dict[str, Any] = {
    "cores": 2,
    "budget_s": 1800.0,
    "libgomp": True,
    "device": "cpu",
    "loader": True,
    "conv2d": True,
    "compiler": True,
    "batch_size": 32,
    "batch_norm": True,
    "optimizer_kernels": ["default", "for_loop", "foreach", "fused"],
    "default_intraop_threads": 2,
    "default_interop_threads": 1,
    "sample_cpu_s": 0.002,
    "sample_wall_s": 0.002,
}
GPU: dict[str, Any] = {
    **CPU,
    "cores": 16,
    "device": "cuda:0",
    "attention": True,
    "batch_norm": False,
    "default_intraop_threads": 16,
    "sdpa_backends": ["math", "flash", "efficient", "cudnn"],
    **dict.fromkeys(("bf16", "fp16", "tf32"), True),
}


def knobs() -> list[Knob]:
    files = [yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))]
    return [Knob.from_mapping(name, data) for file in files for name, data in file.items()]


def test_each_setting_is_a_knob_of_one_file() -> None:
    assert sorted(knob.name for knob in knobs()) == sorted(NAMES)


def test_on_a_gpu_every_knob_is_searched_that_can_matter() -> None:
    kept, dropped = active(knobs(), GPU)
    assert {knob.name for knob in kept} == set(NAMES) - {"allocator", "interop_threads"}
    assert any(line.startswith("interop_threads and optimizer_kernel=") for line in dropped)


def test_without_a_gpu_no_knob_of_one_is_searched() -> None:
    kept, dropped = active(knobs(), CPU)
    left = set(NAMES) - {knob.name for knob in kept}
    lines = [line.partition(":")[0] for line in dropped if "not searched" in line]
    assert all(any(name in line for line in lines) for name in left)
    assert len(lines) <= len(left) / 2
    assert {knob.name for knob in kept} == {
        "num_workers",
        "prefetch_factor",
        "persistent_workers",
        "multiprocessing_context",
        "in_order",
        "memory_format",
        "compile_mode",
        "intraop_threads",
        "interop_threads",
        "omp_wait_policy",
        "optimizer_kernel",
        "set_to_none",
    }
    assert next(k for k in kept if k.name == "compile_mode").choices == ("none", "default")


def test_a_cpu_that_trains_with_glibc_may_keep_its_memory() -> None:
    for facts, choices in ((CPU, ("default", "glibc_keep")), (GPU, None)):
        kept, _ = active(knobs(), {**facts, "libc": "glibc 2.36"})
        found = {knob.name: knob.choices for knob in kept}
        assert found.get("allocator") == choices


def test_how_workers_start_is_tried_where_there_is_time_to_spare() -> None:
    for budget_s, is_searched in ((600.0, False), (1800.0, True)):
        kept, dropped = active(knobs(), {**CPU, "budget_s": budget_s})
        assert ("multiprocessing_context" in [knob.name for knob in kept]) is is_searched
        assert any("30 minutes or more" in line for line in dropped) is not is_searched


def test_what_needs_a_gpu_is_told_in_one_line() -> None:
    _, dropped = active(
        knobs(), {**CPU, "bf16": True, "attention": True, "sdpa_backends": ["math"]}
    )
    (line,) = (line for line in dropped if "CUDA" in line)
    for name in ("pin_memory", "cudnn_benchmark_limit", "amp=fp16", "sdpa_backend=cudnn"):
        assert name in line


@pytest.mark.parametrize("facts", [CPU, GPU])
def test_baseline_and_expert_are_points_of_the_space(facts: dict[str, Any]) -> None:
    kept, _ = active(knobs(), facts)
    space = Space(kept, Settings())
    for settings in (Settings(), expert(Settings(), facts)[0]):
        assert space.suggest(FixedTrial(space.params_of(settings))) == settings


def test_compilation_is_left_out_of_a_short_study() -> None:
    kept, dropped = active(knobs(), {**CPU, "budget_s": 120.0})
    assert "compile_mode" not in {knob.name for knob in kept}
    assert any("compile_mode" in line and "8 minutes" in line for line in dropped)


@pytest.mark.parametrize(
    ("facts", "n_parameters", "budget_s", "is_searched"),
    [
        (CPU, 25_557_032, 600.0, False),
        (CPU, 25_557_032, 1200.0, True),
        (CPU, 4_810, 480.0, True),
        (CPU, 5_000, 120.0, True),
        (GPU, 5_000, 120.0, False),  # it leaves the GPU idle, and so would be compiled first of all
        (GPU, 5_000, 480.0, True),
        (CPU, 5_000, 90.0, False),
        (CPU, 500_000, 300.0, False),
        (GPU, 25_557_032, 480.0, True),
    ],
)
def test_how_much_time_compiling_needs_follows_from_the_models_size(
    facts: dict[str, Any], n_parameters: int, budget_s: float, is_searched: bool
) -> None:
    here = {**facts, "n_parameters": n_parameters, "budget_s": budget_s}
    kept, _ = active(knobs(), here)
    assert ("compile_mode" in {knob.name for knob in kept}) is is_searched
