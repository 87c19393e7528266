from typing import Any

import pytest

from hotlap.settings import Settings
from search_spaces import refusal

MIB = 1 << 20
CUDA: dict[str, Any] = {"device": "cuda:0", "cuda_allocator": "native"}
ASYNC = "backend:cudaMallocAsync"


def test_workers_and_batches_that_fit_each_for_itself_may_not_fit_together() -> None:
    facts = {"batch_bytes": 8 * MIB, "shm_free_bytes": 64 * MIB}
    assert refusal(Settings(num_workers=2), facts) == ""
    assert refusal(Settings(num_workers=2, prefetch_factor=8), facts) == (
        "shared memory: needs about 2 workers x 8 batches x 8.0 MiB = 128 MiB, /dev/shm has 64 MiB "
        "free; enlarge it (docker run --shm-size)"
    )
    assert refusal(Settings(num_workers=0, prefetch_factor=8), facts) == ""


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
@pytest.mark.parametrize("conf", [ASYNC, f"max_split_size_mb:64, {ASYNC}"])
def test_cuda_graphs_are_not_compiled_for_cudas_own_allocator(mode: str, conf: str) -> None:
    refused = refusal(Settings(compile_mode=mode, cuda_alloc_conf=conf), CUDA)
    assert refused.startswith(f"CUDA graphs: compile_mode={mode} replays them")
    assert "take another cuda_alloc_conf, or compile_mode=default" in refused


@pytest.mark.parametrize("conf", ["", "expandable_segments:True"])
def test_the_users_own_variable_counts_where_the_setting_leaves_it(conf: str) -> None:
    settings = Settings(compile_mode="max-autotune", cuda_alloc_conf=conf)
    assert refusal(settings, CUDA) == ""
    assert bool(refusal(settings, {**CUDA, "cuda_allocator": "cudaMallocAsync"})) is not bool(conf)


@pytest.mark.parametrize("mode", ["none", "default"])
def test_without_cuda_graphs_any_allocator_will_do(mode: str) -> None:
    settings = Settings(compile_mode=mode, cuda_alloc_conf=ASYNC)
    assert refusal(settings, CUDA) == ""


def test_what_is_not_known_is_not_refused() -> None:
    settings = Settings(compile_mode="max-autotune", num_workers=4, cuda_alloc_conf=ASYNC)
    assert refusal(settings, {}) == refusal(settings, {"device": "cpu"}) == ""
    assert refusal(Settings(compile_mode="max-autotune"), {"device": "cuda"}) == ""


@pytest.mark.parametrize("kernel", ["flash", "cudnn"])
def test_an_attention_kernel_of_half_precision_is_not_tried_where_nothing_is_in_it(
    kernel: str,
) -> None:
    facts = {**CUDA, "attention": True, "sdpa_backends_float32": ["math", "efficient"]}
    assert refusal(Settings(sdpa_backend=kernel), facts) == (
        f"attention: sdpa_backend={kernel} takes half precision only, and nothing is in it with "
        "amp=none; take amp=bf16, or one of sdpa_backend=math, efficient"
    )
    assert refusal(Settings(sdpa_backend=kernel, amp="bf16"), facts) == ""
    assert refusal(Settings(sdpa_backend="efficient"), facts) == ""
    assert refusal(Settings(), facts) == ""
    assert refusal(Settings(sdpa_backend=kernel), CUDA) == ""
