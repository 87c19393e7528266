"""What is said when a script trains with settings of another machine, once, at its first step.

Only then is its device known, and whatever is asked of CUDA before that would begin with CUDA in a
process that may want to fork first.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from hotlap import toolchain
from hotlap.elsewhere import differences
from hotlap.frozen import Frozen
from hotlap.interpose.imposed import Imposed
from hotlap.machine import nvidia_driver


def tell_elsewhere(frozen: Frozen, imposed: Imposed, cpu: dict[str, Any]) -> None:
    """Say on standard error, after the first optimizer step, how this machine differs.

    Args:
        frozen: The file.
        imposed: What of it is in force.
        cpu: hotlap.machine.cpu_facts, as it was before the script could choose its cores.
    """
    said = False

    def tell(optimizer: Any, args: Any, kwargs: Any) -> None:
        nonlocal said
        if said:  # torch goes through its hooks just now: none can be taken away
            return
        said = True
        facts = {**cpu, **_facts(optimizer)}
        for line in differences(frozen.provenance, facts, imposed.value("amp")):
            with contextlib.suppress(OSError, ValueError):  # the script has closed it
                if sys.stderr is not None:
                    print(f"hotlap: {line}", file=sys.stderr)

    register_optimizer_step_post_hook(tell)


def _facts(optimizer: Any) -> dict[str, Any]:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    device = parameters[0].device if parameters else torch.device("cpu")
    on_cuda = device.type == "cuda"
    versions = toolchain.versions(cuda=on_cuda)
    driver = {"nvidia_driver": nvidia_driver()} if on_cuda else {}
    known = {name: value for name, value in {**versions, **driver}.items() if value is not None}
    return {**known, **toolchain.device_facts(device)}
