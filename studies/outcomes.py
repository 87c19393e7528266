"""What each outcome tells the sampler, decided on purpose.

| outcome | told as | why |
| --- | --- | --- |
| ok | complete, its value | it is what we want to know |
| pruned | complete, the value of the blocks it had | racing stops a trial because its rate is known well enough to lose; a Gaussian process reads complete trials only, and TPE would rank a pruned one by its age |
| oom, timeout, crash, invalid, diverged | pruned, without a value | TPE ranks it as the worst of all and so learns to stay away, while it would learn nothing from a failed one; the other samplers never meet it again, since no settings are tried twice |

The outcome itself and the reason stand in the trial's user attributes.
"""  # noqa: E501  (a table's row is a line)

from __future__ import annotations

from optuna.trial import TrialState

from runners.protocol import Run


def told(run: Run, value: float) -> tuple[TrialState, float | None]:
    """The state and value to tell Optuna for a trial that ended as `run`."""
    if run.outcome == "ok" or (run.outcome == "pruned" and value > 0):
        return TrialState.COMPLETE, value
    return TrialState.PRUNED, None
