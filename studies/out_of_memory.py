"""What to say where a workload has no room with its own settings: the batch is what takes it."""

from __future__ import annotations

from runners.protocol import Run


def out_of_memory(run: Run, batch_size: int | None, is_script: bool) -> str:
    """The sentences for a run of the user's own settings that ended as `oom`.

    Args:
        run: Of the probe or the baseline.
        batch_size: Samples of a step, None if the workload could not even be built.
        is_script: Whether somebody's own script trains, which has its batch size for itself.
    """
    if is_script:
        cure = "give the script a smaller batch, in its text or by its own arguments after --"
    elif batch_size is None:
        cure = "type a smaller size, as model.batch_size=4"
    elif batch_size > 1:
        cure = f"a step has {batch_size} samples; type model.batch_size={batch_size // 2}"
    else:
        cure = "a step has one sample already, so only a smaller model would do"
    return (
        "The workload runs out of memory with its own settings, before any is changed: "
        f"{run.reason}. Nothing else was tried; {cure}. "
        f"The worker's log: {run.folder}/worker.log"
    )
