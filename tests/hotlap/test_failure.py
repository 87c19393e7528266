"""What a worker says of an error that ended its job."""

import pytest

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
