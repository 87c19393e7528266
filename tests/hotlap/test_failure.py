"""What a worker says of an error that ended its job."""

import pytest
from torch._utils import ExceptionWrapper

from hotlap.job import Job
from hotlap.worker import failure


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
        "cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`",
    ],
)
def test_a_library_of_cuda_s_without_room_for_its_workspace_is_out_of_memory(text):
    told = failure(RuntimeError(text), Job(""))
    assert told["outcome"] == "oom"
    assert text in told["error"]


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(handle)`",
        "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED",
    ],
)
def test_another_failure_of_theirs_is_a_crash(text):
    assert failure(RuntimeError(text), Job(""))["outcome"] == "crash"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("row 7 has no label\nlook at it"), "ValueError: row 7 has no label"),
        (KeyError("label"), "KeyError: 'label'"),
        (RuntimeError("Error(s) in loading:\n\tMissing keys"), "loading: Missing keys"),
        (MemoryError("no room"), "MemoryError: no room"),
    ],
)
def test_an_error_in_a_loader_s_worker_is_named_itself(error, words):
    try:
        raise error
    except Exception:
        handed_on = ExceptionWrapper(where="in DataLoader worker process 0")  # as the worker does
    with pytest.raises(type(error)) as raised:
        handed_on.reraise()
    told = failure(raised.value, Job(""))["error"]
    assert told.partition(" (peak")[0].endswith(f"{words} (in DataLoader worker process 0)")


def test_so_is_one_with_which_a_script_exits():
    try:
        raise ValueError("row 7 has no label")
    except ValueError:
        handed_on = ExceptionWrapper(where="in DataLoader worker process 0")
    with pytest.raises(ValueError) as raised:
        handed_on.reraise()
    told = failure(RuntimeError(f"exit code 1, by ValueError: {raised.value}"), Job(""))["error"]
    assert told == (
        "RuntimeError: exit code 1, by ValueError: row 7 has no label (in DataLoader worker "
        "process 0)"
    )
