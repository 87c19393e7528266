"""What is said when a script trains with settings of another machine, once, at its first step.

Only then is its device known, and whatever is asked of CUDA before that would begin with CUDA in a
process that may want to fork first.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from hotlap import toolchain
from hotlap.elsewhere import crowding, differences, written
from hotlap.frozen import Frozen
from hotlap.interpose.begin import active
from hotlap.interpose.device import device_of, parameters_device
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.say import say
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
        with contextlib.suppress(Exception):  # what informs a user never ends the training
            facts = {**cpu, **_facts(optimizer)}
            lines = differences(frozen.provenance, facts, imposed.value("amp"))
            how = written(str(frozen.path))
            many = crowding(imposed.alone(), frozen.provenance, cpu["cores"], how)
            for line in [*lines, *([many] if many else [])]:
                say(line)

    register_optimizer_step_post_hook(tell)


def _facts(optimizer: Any) -> dict[str, Any]:
    interposition = active()
    roots = interposition.seen.roots if interposition is not None else []
    device = device_of([parameters_device(optimizer)], [root.device for root in roots])
    on_cuda = device.type == "cuda"
    versions = toolchain.versions(cuda=on_cuda)
    driver = {"nvidia_driver": nvidia_driver()} if on_cuda else {}
    known = {name: value for name, value in {**versions, **driver}.items() if value is not None}
    # Whoever updates in host memory may compute on the device that is in use besides.
    in_use = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    sure = device.type != "cpu" or not in_use
    return {**known, **(toolchain.device_facts(device) if sure else {})}
