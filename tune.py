"""Find the fastest runtime settings for a training job, prove them, freeze them.

    python tune.py +model=resnet50
    python tune.py --config-dir my_conf +model=mine budget=5m

The settings end in outputs/<model>/<time>/frozen.yaml; a full run takes them with
`python train.py +model=resnet50 settings=<that file>`.
"""

from __future__ import annotations

import time

STARTED = time.monotonic()  # before all else: the budget counts the imports too

import shlex  # noqa: E402
import sys  # noqa: E402
from dataclasses import asdict, replace  # noqa: E402
from datetime import datetime  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from conf.cli import DONE, main  # noqa: E402
from conf.duration import seconds  # noqa: E402
from conf.recorded import tried  # noqa: E402
from conf.schema import TuneConfig  # noqa: E402
from conf.workload import job_of  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotlap.job import Job, Window
    from hotlap.measurement import Measurement
    from reports import Tracking
    from runners.replay import ReplayRunner
    from search_spaces import Space
    from studies import Arm, Confirmed

OUTPUTS = Path("outputs")

PROVE = 0.4
"""Share of the budget kept for proving: four arms in fresh processes over at least three rounds."""

WINDOW, WARMUP = 1 / 60, 1 / 20
"""The most of the budget that one trial's window, or its warm-up, may take."""

RECORDING_S = 7 * 24 * 3600.0
"""A recording has no budget; the shares of one are taken of a week."""

GUIDED = ("tpe", "gp")
"""Samplers that learn from what descent has tried first; the others shall do what they say."""

starts = iter([STARTED])
"""When the first study of the command began; a sweep's later ones begin when their turn comes."""


def tune(config: TuneConfig, text: str, replay: ReplayRunner | None = None) -> int:
    """Run one study; `text` is its config as YAML. Returns the exit code.

    With `replay` (benchmarks/replay_study.py) trials come from there, and what is kept is the
    result alone, in the folder `resume`.
    """
    # Only now, with a config that is right: these imports take seconds.
    import objectives
    import reports
    import search_spaces
    import studies
    from hotlap.job import Job, Window, write_text
    from hotlap.settings import Settings
    from runners.open_runner import open_runner
    from runners.table_writer import TableWriter
    from studies import provenance, pruners, samplers

    runner = replay or open_runner(**vars(config.runner))
    # A recording takes what the space takes; a played study begins on its own clock.
    allowance_s = RECORDING_S if config.record else seconds(config.budget)
    start = None if runner.recorded else next(starts, None)
    budget = studies.Budget(allowance_s, start, runner.clock)
    workload, args = job_of(config)
    name = config.name or workload.rpartition(".")[2]
    started = f"{datetime.now():%Y-%m-%d_%H-%M-%S}"
    resume = config.resume
    folder = Path(resume) if resume else studies.new_folder(OUTPUTS / name, started)
    study = studies.study_name(folder, f"{name} {folder.name}")
    base = Settings.from_dict(config.settings)
    window = shortened(Window(**vars(config.window)), budget.seconds)
    job = Job(workload, args, {}, window, seed=config.seed, import_path=tuple(config.import_path))
    objective = objectives.Throughput()
    console = reports.console()
    progress = reports.Progress(console, None if config.record else budget.left(), runner.clock)
    tracking = config.tracking
    tracker = reports.open_tracking(
        tracking.name, folder, tracking.uri, tracking.experiment, progress.note
    )
    go_on = f"python {sys.argv[0]} resume={folder}"

    with (
        studies.held(folder),
        reports.study_that_ends(tracker, study, progress.note, go_on),
        progress,
        runner,
    ):
        write_text(folder / "config.yaml", text)
        observer = reports.StudyObserver(study, progress, tracker)
        lab = studies.Lab(runner, job, folder, objective, observer)

        # Which machine, which workload, and so: which knobs?
        observer.stage("probe", f"{name}, results in {folder}")
        machine = {**search_spaces.machine_facts(), "budget_s": budget.seconds}
        facts = studies.known_facts(folder, lambda: {**machine, **lab.facts(budget.left())})
        versions = provenance.versions(facts)
        commit = provenance.git_commit(Path.cwd())
        tracker.study_started(reports.study_record(study, name, facts, versions, commit))
        wanted = [
            search_spaces.Knob.from_mapping(knob, asdict(definition))
            for knob, definition in config.search_space.items()
        ]
        knobs, dropped = search_spaces.active(wanted, facts, config.numerics, base)
        for line in dropped:
            observer.note(line)
        space = search_spaces.Space(knobs, base)
        expert, _ = search_spaces.expert(base, facts, config.numerics)

        def refuse(settings: Settings) -> str:
            return search_spaces.refusal(settings, facts)

        if config.record:  # the whole space into a table, and no search
            origin = {"versions": versions, "git_commit": commit, "setup_s": budget.spent()}
            header = {**table_header(config, name, job, space, facts), **origin}
            observer.stage("record", f"{space.size} settings into {config.record}")
            with TableWriter(Path(config.record), header) as rows:
                every = [base, expert, *space.grid()]
                said = studies.record(
                    lab, every, rows, observer, refuse, config.record_repeats, config.n_trials
                )
            observer.note(said)
            tracker.study_ended(reports.ended_record(study, "finished"), [])
            return DONE

        # Search: the baseline, the expert, then what the sampler proposes.
        sampler = samplers.make(
            config.sampler.name,
            config.sampler.seed,
            config.sampler.n_startup_trials,
            studies.constraints_of,
        )
        pruner = pruners.make(config.pruner.name, config.pruner.error)
        identity = {"workload": workload, "its arguments": sorted(args.items())} | {
            f"search_space.{knob.name}": list(knob.choices) or "a range" for knob in knobs
        }
        ledger = studies.Ledger(
            folder, study, objective.direction, sampler, pruner, identity, replay is not None
        )
        limits = vars(config.constraints)

        def violations(measurement: Measurement) -> Sequence[float]:
            return objectives.violations(measurement, limits, facts)

        search = studies.Search(ledger, lab, space, budget, PROVE, violations, refuse)
        observer.stage("baseline", "your own settings, then what an expert would set")
        first = search.first("baseline", base)
        search.first("expert", expert)
        waits = first.run.measurement.data_wait_share if first else 1.0
        descent = studies.Descent(space, waits)
        guide = descent.propose if config.sampler.name in GUIDED else None
        observer.stage("search", f"{space.size} settings, sampler {config.sampler.name}")
        observer.note(search.run(config.n_trials, guide=guide))

        # Prove: only these fresh, interleaved measurements are quoted.
        observer.stage("confirm", "the best against the baseline, interleaved")
        arms = {"baseline": base, **search.best(config.confirm.n_best), "expert": expert}
        rounds = config.confirm.max_rounds
        proof = studies.confirm(lab, arms, budget, 0.0, rounds, config.seed, violations, first)

        # Freeze what was proven: the winner, or the baseline if nothing was faster.
        origin = {
            "versions": versions,
            "git_commit": commit,
            "study": study,
            "date": provenance.now(),
        }
        path = freeze(config, folder, name, proof, {**origin, "facts": facts})
        result = reports.Result(
            workload=name,
            study=study,
            folder=folder,
            baseline=report_of(proof.arms[0], proof),
            winner=report_of(proof.winner if proof.found_better else proof.best_tried, proof),
            expert=next((report_of(a, proof) for a in proof.arms if a.settings == expert), None),
            frozen=path,
            facts=facts,
            versions=versions,
            n_outcomes=search.n_outcomes(),
            dropped=tuple(dropped),
            warnings=tuple(proof.doubts),
            wall_s=budget.spent(),
            commands=next_commands(config, name, folder, path, tracker),
        )
        reports.write_json(result, folder / "result.json")
        files = [path, folder / "config.yaml", folder / "result.json"]
        tracker.study_ended(reports.ended_record(study, "finished", result), files)
    reports.print_result(result, console)
    return DONE


def shortened(window: Window, budget_s: float) -> Window:
    """The window, its parts no longer than their share of the budget: trials have to fit in."""
    max_s = min(window.max_s, budget_s * WINDOW)
    return replace(
        window,
        max_s=max_s,
        min_s=min(window.min_s, max_s),
        max_warmup_s=min(window.max_warmup_s, budget_s * WARMUP),
    )


def table_header(
    config: TuneConfig, name: str, job: Job, space: Space, facts: dict[str, Any]
) -> dict[str, Any]:
    """What a recorded table says of its trials in its first line (docs/tables.md)."""
    workload = {"name": name, "function": job.workload, "args": job.args, "words": config.words}
    return {
        "workload": workload,
        "settings": space.base.to_dict(),
        "space": {knob.name: tried(knob.to_mapping()) for knob in space.knobs},
        "window": vars(job.window),
        "facts": {fact: value for fact, value in facts.items() if fact != "budget_s"},
    }


def freeze(
    config: TuneConfig, folder: Path, name: str, proof: Confirmed, origin: dict[str, Any]
) -> Path:
    """Write the winner's frozen settings into the study's folder, and to `freeze=`."""
    from hotlap import frozen

    winner, baseline = proof.winner, proof.arms[0]
    speedup = winner.speedup(baseline)
    rate = winner.rate()
    provenance = {
        "workload": name,
        "samples_per_s": rate.value,
        "samples_per_s_ci95": [rate.low, rate.high],
        "baseline_samples_per_s": baseline.rate().value,
        "speedup": speedup.value if proof.found_better else 1.0,
        "speedup_ci95": [speedup.low, speedup.high] if proof.found_better else None,
        "tuned": [
            setting
            for setting, value in winner.settings.to_dict().items()
            if value != baseline.settings.to_dict().get(setting, value)
        ],
        "trial": winner.name,
        **origin,
    }
    paths = [folder / "frozen.yaml", *([Path(config.freeze)] if config.freeze else [])]
    if not proof.found_better and was_proven(paths[0]):
        return paths[0]  # of an earlier session; this one had no time to prove it again
    for path in paths:
        frozen.dump(path, winner.settings, provenance)
    return paths[-1]


def was_proven(path: Path) -> bool:
    """Whether the frozen file holds settings that an earlier session proved to be faster."""
    from hotlap.frozen import load_frozen

    interval = load_frozen(path).provenance.get("speedup_ci95") if path.exists() else None
    return bool(interval and interval[0] > 1)


def report_of(arm: Arm, proof: Confirmed) -> Any:
    """An arm of the confirm rounds as the reports show it."""
    import reports

    measured = [t.run.measurement for t in arm.trials.values() if t.run.outcome == "ok"]
    baseline = proof.arms[0]
    speedup = None
    if arm is not baseline:
        ratio = arm.speedup(baseline)
        speedup = reports.Ratio(ratio.value, ratio.low, ratio.high)
    return reports.Arm.of(arm.settings, arm.rate(), measured, speedup)


def next_commands(
    config: TuneConfig, name: str, folder: Path, path: Path, tracker: Tracking
) -> dict[str, str]:
    """What to type next: what for -> command."""
    words = shlex.join(config.words)
    more = " n_trials=null" if config.n_trials else ""
    commands = {
        "full run": f"python {Path(sys.argv[0]).with_name('train.py')} {words} settings={path}",
        "more trials": f"python {sys.argv[0]} resume={folder} budget={config.budget}{more}",
    }
    if look := tracker.ui_command():
        commands["compare the trials"] = look
    return commands


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "config", tune))
