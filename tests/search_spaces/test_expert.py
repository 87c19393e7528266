from typing import Any

import pytest

from hotlap.settings import Settings
from search_spaces.expert import expert

GPU: dict[str, Any] = {
    "cores": 16,
    "device": "cuda",
    "loader": True,
    "conv2d": True,
    "bf16": True,
    "fp16": True,
    "tf32": True,
    "compiler": True,
    "optimizer_kernels": ["default", "foreach", "fused"],
    "batch_size": 32,
    "n_epoch_steps": 100,
    "sample_cpu_s": 0.005,
    "sample_wall_s": 0.005,
    "shapes_vary": False,
}
CPU: dict[str, Any] = {
    "cores": 4,
    "device": "cpu",
    "loader": True,
    "conv2d": True,
    "batch_size": 32,
    "n_epoch_steps": 100,
    "sample_cpu_s": 0.005,
    "sample_wall_s": 0.005,
    "default_intraop_threads": 4,
    "optimizer_kernels": ["default", "foreach"],
}


def test_on_a_gpu_the_expert_follows_the_tuning_guide() -> None:
    settings, reasons = expert(Settings(), GPU)
    assert settings.changed() == {
        "num_workers": 8,
        "persistent_workers": True,
        "pin_memory": True,
        "non_blocking": True,
        "memory_format": "channels_last",
        "amp": "bf16",
        "float32_matmul_precision": "high",
        "cudnn_benchmark": True,
        "optimizer_kernel": "fused",
    }
    assert all("(" in reason and reason.count("(") <= 2 for reason in reasons)
    assert any("no torch.compile" in reason for reason in reasons)


def test_without_bfloat16_in_hardware_a_gpu_gets_float16() -> None:
    assert expert(Settings(), {**GPU, "bf16": False})[0].amp == "fp16"
    assert expert(Settings(), {**CPU, "fp16": True})[0].amp == "none"


def test_varying_shapes_leave_cudnn_alone() -> None:
    assert expert(Settings(), {**GPU, "shapes_vary": True})[0].cudnn_benchmark is False


def test_the_expert_stays_within_numerics() -> None:
    exact, _ = expert(Settings(), GPU, "exact")
    assert set(exact.changed()) == {
        "num_workers", "persistent_workers", "pin_memory", "non_blocking"}  # fmt: skip
    rounding, _ = expert(Settings(), GPU, "rounding")
    assert rounding.amp == "none" and rounding.memory_format == "channels_last"


def test_on_a_cpu_workers_leave_cores_to_the_training() -> None:
    settings, _ = expert(Settings(), CPU)
    assert settings.changed() == {
        "num_workers": 2, "persistent_workers": True, "memory_format": "channels_last"}  # fmt: skip


@pytest.mark.parametrize(("cores", "n_workers"), [(8, 4), (16, 8), (32, 8), (128, 8)])
def test_however_many_cores_there_are_a_hand_takes_eight_workers(
    cores: int, n_workers: int
) -> None:
    assert expert(Settings(), {**CPU, "cores": cores})[0].num_workers == n_workers
    assert expert(Settings(), {**GPU, "cores": cores})[0].num_workers == 8


def test_waiting_samples_get_workers_beside_a_training_on_many_cores() -> None:
    waiting = {**CPU, "cores": 8, "sample_cpu_s": 0.001, "sample_wall_s": 0.004}
    assert expert(Settings(), waiting)[0].num_workers == 8  # which take no core of its own


@pytest.mark.parametrize("facts", [GPU, CPU])
def test_one_core_gets_one_worker_unless_samples_wait(facts: dict[str, Any]) -> None:
    one_core = {**facts, "cores": 1, "default_intraop_threads": 1}
    assert expert(Settings(), one_core)[0].num_workers == 1
    waiting = {**one_core, "sample_cpu_s": 0.001, "sample_wall_s": 0.004}
    assert expert(Settings(), waiting)[0].num_workers == 4


def test_waiting_samples_get_more_workers_than_cores() -> None:
    facts = {**CPU, "sample_cpu_s": 0.0001, "sample_wall_s": 0.003}
    assert expert(Settings(), facts)[0].num_workers == 8


def test_cheap_batches_get_no_workers_and_no_worker_settings() -> None:
    facts = {**CPU, "sample_cpu_s": 1e-6, "sample_wall_s": 1e-6}
    settings, _ = expert(Settings(num_workers=4), facts)
    assert settings.num_workers == 0 and settings.persistent_workers is False


def test_a_stream_gets_one_worker() -> None:
    assert expert(Settings(), {**GPU, "iterable_dataset": True})[0].num_workers == 1
    shared = {**GPU, "iterable_dataset": True, "stream_sharing": "shared"}
    assert expert(Settings(), shared)[0].num_workers == expert(Settings(), GPU)[0].num_workers


def test_workers_fit_into_shared_memory() -> None:
    tight = {**GPU, "batch_bytes": 8 << 20, "shm_free_bytes": 64 << 20}
    assert expert(Settings(), tight)[0].num_workers == 3
    assert expert(Settings(), {**tight, "batch_bytes": 60 << 20})[0].num_workers == 0


def test_a_container_gets_as_many_threads_as_it_may_use() -> None:
    assert expert(Settings(), {**CPU, "default_intraop_threads": 64})[0].intraop_threads == 4


def test_an_allocator_is_taken_where_it_is_installed() -> None:
    assert expert(Settings(), {**CPU, "allocators": ["tcmalloc"]})[0].allocator == "tcmalloc"
    assert expert(Settings(), {**GPU, "allocators": ["tcmalloc"]})[0].allocator == "default"


def test_data_on_the_device_gets_no_loader_settings() -> None:
    settings, _ = expert(Settings(), {**GPU, "resident": True})
    assert settings.num_workers == 0 and settings.pin_memory is False


def test_a_dataset_that_changes_between_epochs_gets_new_workers_each_epoch() -> None:
    settings, _ = expert(Settings(), {**GPU, "dataset_changes": "dataset has a method set_epoch"})
    assert settings.num_workers > 0 and settings.persistent_workers is False
