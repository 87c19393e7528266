import sys
from pathlib import Path

import pytest
import torch

from hotlap.apply import apply_process
from hotlap.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))  # small_job.py and virtual.py are no tests


@pytest.fixture
def flags_as_before():
    """Puts torch's process-wide flags back after the test."""
    before = (torch.get_num_threads(), torch.get_float32_matmul_precision())
    yield
    apply_process(Settings())
    torch.set_num_threads(before[0])
    torch.set_float32_matmul_precision(before[1])
    for switch in ("math", "flash", "mem_efficient", "cudnn"):
        getattr(torch.backends.cuda, f"enable_{switch}_sdp")(True)


@pytest.fixture
def interpose():
    """Interposition on this very process, taken away at the test's end."""
    from hotlap.interpose import Imposed
    from hotlap.interpose.interposition import Interposition

    there = []

    def begin(override=(), observe=False, watch=True, **values):
        imposed = Imposed.of(values, override)
        there.append(Interposition(imposed, observe, watch=watch).install())
        return there[-1]

    yield begin
    for interposition in reversed(there):
        interposition.remove()
