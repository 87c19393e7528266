"""What the process of a script does: run it as Python would, and answer with events.

`job.script` says what to run: `target` (a path or a module's name), `is_module`, `args`, `cwd` (its
working folder), `own` (settings as the script has them by itself; None before that is known) and
`override` (settings that win even over what it asks for about determinism, precision and
compilation). What differs from `own` is imposed, and nothing else. `scratch` covers the working
folder (hotlap/scratch.py), `terminal` gives rows and columns of one (hotlap/terminal.py), `fresh`
asks for an interpreter without torch (hotlap/fresh_worker.py).

No torch here before the script imports it: a script may set variables first that torch reads then.
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotlap.errors import InvalidTrial, UserInputError
from hotlap.interpose.anew import ADVICE, hear_anew
from hotlap.interpose.begin import begin
from hotlap.interpose.imposed import Imposed
from hotlap.interpose.launch import Script, has_safe_path, launch
from hotlap.job import EventLog, Job
from hotlap.scratch import Scratch, scratch
from hotlap.script.ending import Ending
from hotlap.script.process_group import allow_own_group
from hotlap.terminal import take_terminal

if TYPE_CHECKING:
    from hotlap.interpose.interposition import Interposition
    from hotlap.script.follower import ScriptFollower


BECOMES = (
    "the script becomes {} (os.exec), and what that does is not seen: {}, or give the tuner what "
    "it begins"
)
"""Why its trial ends there: of what follows nothing would be heard."""


def main(folder: Path) -> int:
    """Do the job in `folder`; every failure becomes an event, never an exception."""
    started = time.monotonic()
    emit = EventLog(folder)
    emit("started", pid=os.getpid())
    faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
    job = Job.read(folder)
    ending = Ending(emit, job)
    ending.guard(lambda: _run(folder, job, emit, ending, started))
    return 1


def other_numbers() -> None:
    """Seed anew what a fresh interpreter would have seeded by itself, but for torch.

    Forked processes have their server's generators: all would draw the same names for their files.
    Torch's are left as the server has them: what trials of an unseeded script are compared by is
    their settings, and not the weights that they drew.
    """
    random.seed()
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed()


def imposed_on(job: Job) -> Imposed:
    """What the job's settings change in what the script does by itself."""
    script = job.script or {}
    own = script.get("own")
    values = {k: v for k, v in job.settings.items() if own is None or v != own.get(k)}
    return Imposed.of(values, script.get("override", ()))


def _run(folder: Path, job: Job, emit: EventLog, ending: Ending, started: float) -> None:
    order = job.script or {}
    followers: list[ScriptFollower] = []
    imposed = imposed_on(job)

    def installed(interposition: Interposition) -> None:
        from hotlap.script.follower import kind_of
        from hotlap.training import Units

        follower = kind_of(job)(job, imposed, interposition, emit, ending, started)
        follower.scratch = covered
        followers.append(follower)
        follower.units = Units(follower)
        interposition.listen(follower.listener)

    os.chdir(order["cwd"])
    if size := order.get("terminal"):
        if why_not := take_terminal(*size):
            print(why_not, file=sys.stderr)
    covered = Scratch("scratch=false")
    if order.get("scratch"):
        covered = scratch(Path.cwd())
    ending.hear_errors()
    allow_own_group()
    other_numbers()
    begin(imposed, installed, observe=job.kind == "probe")
    hear_anew(lambda program: ending.fail(InvalidTrial(BECOMES.format(program, ADVICE))))
    if not has_safe_path():
        sys.path.insert(0, "")  # the place that the script's folder takes
    code: Any = 0
    cause: BaseException | None = None
    try:
        launch(Script(order["target"], order["is_module"], list(order["args"])))
    except UserInputError as error:
        raise InvalidTrial(str(error)) from None
    except SystemExit as stop:
        code, cause = stop.code, stop.__context__
    # As Python does at its end: the pools of concurrent.futures are told before all are waited for.
    threading._shutdown()  # type: ignore[attr-defined]
    ending.leave_to_another(code)
    ending.stopped(code, cause)
    if not followers:
        raise InvalidTrial("the script ended and never imported torch, so there is nothing to tune")
    followers[0].script_ended()
