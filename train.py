"""The full run: ordinary training with frozen settings.

python train.py +model=resnet50 settings=outputs/resnet50/<time>/frozen.yaml epochs=90
python train.py resume=outputs/resnet50/full-<time>
"""

from __future__ import annotations

import math
import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

import conf.interrupt  # noqa: F401  before the imports that take long
from conf.cli import DONE, main
from conf.hand_on import run_goes_on_with
from conf.job_key import job_key
from conf.place import bank_folder, place_of
from conf.schema import TrainConfig
from conf.told import tell
from conf.workload import job_of

OUTPUTS = Path("outputs")
CHECKPOINT = "checkpoint.pt"


def train(config: TrainConfig, text: str) -> int:
    """Do one full run; `text` is its config as YAML. Returns the exit code."""
    import reports
    import search_spaces
    from hotlap.elsewhere import crowding, differences, made_for, typed
    from hotlap.errors import HotlapError, UserInputError
    from hotlap.job import Job, write_text
    from hotlap.settings import Settings
    from runners.process import ProcessRunner
    from studies import held, new_folder, offer, provenance

    # Where: a new folder, or that of the checkpoint to go on from.
    workload, args = job_of(config)
    name = config.name or workload.rpartition(".")[2]
    resume = place_of(config.resume) if config.resume else None
    if resume is not None and resume.is_dir():
        resume = resume / CHECKPOINT
    if resume is not None and not resume.is_file():
        raise UserInputError(
            f"resume={config.resume}: there is no checkpoint {resume}; give the folder of a full "
            "run that has saved one, or the file itself"
        )
    started = f"full-{datetime.now():%Y-%m-%d_%H-%M-%S}"
    folder = resume.parent if resume else new_folder(OUTPUTS / name, started)
    # What: the frozen settings, and what they promise; if it goes on, those of its first session
    # unless others were typed.
    if resume and not config.own_settings and (before := folder / "config.yaml").exists():
        earlier = _earlier(before)
        config.settings = earlier["settings"]
        config.provenance, config.frozen = earlier["provenance"], earlier["frozen"]
    settings = Settings.from_dict(config.settings)
    promised = config.provenance.get("samples_per_s")
    interval = config.provenance.get("samples_per_s_ci95")
    run = {
        "epochs": config.epochs,
        "max_steps": config.max_steps,
        "folder": str(folder.absolute()),
        "checkpoint_every_s": config.checkpoint_every_s,
        "resume": str(resume.absolute()) if resume else None,
    }
    job = Job(
        workload,
        args,
        settings.to_dict(),
        kind="full_run",
        seed=config.seed,
        import_path=tuple(config.import_path),
        run=run,
    )

    if not resume:
        write_text(folder / "config.yaml", text)
    console = reports.console()

    def note(text: str) -> None:
        console.print(text, style="yellow", soft_wrap=True, highlight=False)

    tracking = config.tracking
    tracker = reports.open_tracking(tracking.name, folder, tracking.uri, tracking.experiment, note)
    machine = search_spaces.machine_facts()
    record = reports.run_record(
        f"{name} {folder.absolute().name}",
        name,
        settings,
        str(config.provenance.get("study", "")),
        machine,
        git_commit=provenance.git_commit(Path.cwd()),
    )

    def go_on() -> str:
        if (folder / CHECKPOINT).exists():
            return f"to go on: {run_goes_on_with(folder, sys.argv[1:] if resume else ())}"
        return f"no checkpoint was saved in {folder}, so there is nothing to go on from"

    with held(folder, note, "full run"), reports.run_that_ends(tracker, go_on, tell):
        tracker.run_started(record)
        frozen = config.frozen or "default"
        console.print(f"full run of {name} in {folder}, settings {frozen}", soft_wrap=True)
        known = dict(machine)  # and what the training process says of itself
        with (
            ProcessRunner(config.runner.preload) as runner,
            reports.TrainingProgress(console, config.epochs, promised) as progress,
        ):
            how = typed(shlex.quote(config.frozen) if config.frozen else "")
            if many := crowding(settings, config.provenance, machine["cores"], how):
                progress.note(many)

            saved = False  # by this session, whose checkpoint is one to go on from

            def watch(event: dict[str, Any]) -> bool:
                nonlocal saved
                saved = saved or event["event"] == "checkpoint"
                known.update(event.get("facts", {}))
                if event["event"] == "environment" and config.frozen:
                    for line in differences(config.provenance, known, settings.amp):
                        progress.note(line)
                elif event["event"] == "environment" and not resume:
                    key = job_key(workload, args, config.import_path)
                    bank = bank_folder(config.bank.name, config.bank.path)
                    if line := offer(bank, key, known):
                        progress.note(line)
                if "facts" in event and (other := made_for(config.provenance, known)):
                    progress.promised_for(other)
                if event["event"] == "step":
                    numbers = {key: event[key] for key in ("loss", "samples_per_s")}
                    tracker.run_metrics(event["step"], numbers)
                progress.event(event)
                return False

            done = runner.run(job, folder, watch, math.inf)
        if done.outcome == "invalid":  # the user's own to mend, and said in a sentence
            raise UserInputError(f"{done.reason}; {go_on()}" if saved else done.reason)
        if done.outcome != "ok":
            raise HotlapError(
                f"{done.traceback.strip()}\n\n"
                f"The full run ended as {done.outcome}: {done.reason}; {go_on()}"
            )
        trained = done.events[-1]
        if trained["interrupted"]:  # somebody has stopped the training process alone
            raise KeyboardInterrupt
        metrics = {key: trained[key] for key in ("samples_per_s", "loss", "steps", "samples")}
        ended = {"state": "finished", "step": trained["steps"], "metrics": metrics}
        tracker.run_ended(ended, [folder / "config.yaml"])

    if resume and not trained["n_session_steps"]:
        console.print(_done_already(config, trained), soft_wrap=True)
    progress.end(trained, interval)
    console.print(f"checkpoint: {folder / CHECKPOINT}", soft_wrap=True)
    return DONE


def _done_already(config: TrainConfig, trained: dict[str, Any]) -> str:
    """Which limits a run had reached before this session, and what to type to go on."""
    limits = {"epochs": (config.epochs, "epoch"), "max_steps": (config.max_steps, "steps")}
    reached = {
        key: limit
        for key, (limit, count) in limits.items()
        if limit is not None and trained[count] >= limit
    }
    at = " and ".join(f"{key}={limit}" for key, limit in reached.items())
    larger = " and ".join(f"{key}=" for key in reached)
    return (
        f"this run was done already: its {trained['steps']} steps reached {at}; to go on, type a "
        f"larger {larger}"
    )


def _earlier(path: Path) -> dict[str, Any]:
    """What the first session of a full run has kept of its config.

    Raises:
        UserInputError: It was changed, and is no such file any more.
    """
    from hotlap.errors import UserInputError
    from hotlap.figures import unusable

    reason = "it needs `settings`, `provenance` and `frozen`, as the first session wrote them"
    try:
        kept = yaml.safe_load(path.read_text(encoding="utf-8"))
        if all(isinstance(kept[name], dict) for name in ("settings", "provenance")):
            wrong = [text for _, text in unusable(kept["provenance"])]
            if not wrong:
                return {**kept, "frozen": kept["frozen"]}
            reason = "; ".join(wrong)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
    except (KeyError, TypeError):  # no mapping, or not this one
        pass
    raise UserInputError(
        f"{path} cannot be read as the config of a full run: {reason}; name the settings to go on "
        "with: settings=<frozen file> or settings=default"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "train", train))
