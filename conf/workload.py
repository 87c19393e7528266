"""From the config to what a worker builds: the workload's dotted path and its arguments."""

from __future__ import annotations

import os
from typing import Any

from conf.check_workload import NOT_ARGUMENTS
from conf.recorded import is_replay
from conf.schema import Common, TuneConfig
from conf.signature import signature


def job_of(config: Common) -> tuple[str, dict[str, Any]]:
    """The dotted path of the workload's function and its keyword arguments.

    `data` (the dataset's path and arguments) and `device` go along where the function takes them;
    a function whose source does not tell gets them only if they were chosen. A study of a script
    has no workload: ask `script_of` first.
    """
    model = dict(config.model)
    workload = model["workload"]
    args = {key: value for key, value in model.items() if key not in NOT_ARGUMENTS["model"]}
    if is_replay(config):
        return workload, args  # nothing is built, so the function need not be here
    takes = signature(workload, config.import_path)
    data = {key: value for key, value in config.data.items() if key != "samples"} or None
    for name, value in (("data", data), ("device", config.device)):
        if name in takes.names or (takes.open and value is not None):
            args.setdefault(name, value)
    if args.get("data", 0) is None and "data" not in model:
        del args["data"]  # the function's own default, whatever it is
    if args.get("device", 0) is None and "device" not in model:
        del args["device"]
    return workload, args


def script_of(config: TuneConfig) -> dict[str, Any] | None:
    """The script of one's own that the study is about; None if it is about a model or a table.

    Returns:
        `target`: the file's absolute path, or the module's dotted name; `is_module`; `args`: its
        arguments as typed; `cwd`: the folder in which it runs; `override`: the settings that win
        over what it asks for; `scratch`: whether trials write into a copy of that folder.
    """
    target = config.script if config.module is None else config.module
    if target is None or is_replay(config):
        return None
    return {
        "target": target,
        "is_module": config.module is not None,
        "args": list(config.script_args),
        "cwd": config.cwd,
        "override": list(config.override),
        "scratch": config.scratch,
    }


def script_here(config: TuneConfig) -> dict[str, Any] | None:
    """`script_of`, with what the tuner's own process has to add.

    Returns:
        Besides, `terminal`: lines and columns of this process's terminal, None without one;
        `fresh`: whether the script needs a process in which torch is not imported yet.
    """
    script = script_of(config)
    if script is None:
        return None
    from hotlap.interpose.environment_use import needs_fresh  # of no use to a model

    size = os.get_terminal_size(0) if os.isatty(0) else None
    terminal = [size.lines, size.columns] if size else None
    fresh = needs_fresh(script["target"], script["is_module"])
    return {**script, "terminal": terminal, "fresh": fresh}
