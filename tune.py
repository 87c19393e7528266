"""Find the fastest runtime settings for a training job, prove them, freeze them.

    python tune.py +model=resnet50
    python tune.py --config-dir my_conf +model=mine budget=5m
    python tune.py script=train.py -- --epochs 1 --lr 0.1

The settings end in outputs/<model>/<time>/frozen.yaml; a full run takes them with
`python train.py +model=resnet50 settings=<that file>`, one of a script of your own with
`python -m hotlap run --settings <that file> train.py --epochs 90 --lr 0.1`.
"""

from __future__ import annotations

import time

STARTED = time.monotonic()  # before all else: the budget counts the imports too

import conf.interrupt  # noqa: E402, F401, I001  before the imports that take long

import shlex  # noqa: E402
import sys  # noqa: E402
from dataclasses import asdict, replace  # noqa: E402
from datetime import datetime  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from conf.cli import DONE, main  # noqa: E402
from conf.duration import seconds  # noqa: E402
from conf.hand_on import (  # noqa: E402
    begin_with,
    go_on_with,
    next_commands,
    run_words,
    script_origin,
)
from conf.job_key import study_key  # noqa: E402
from conf.place import bank_folder, place_of  # noqa: E402
from conf.recorded import header  # noqa: E402
from conf.schema import TuneConfig  # noqa: E402
from conf.told import tell  # noqa: E402
from conf.workload import job_of, script_here  # noqa: E402

if TYPE_CHECKING:
    from hotlap.settings import Settings
    from runners.protocol import Run
    from runners.replay import ReplayRunner
    from studies import Gate

OUTPUTS = Path("outputs")

RECORDING_S = 7 * 24 * 3600.0
"""A recording has no budget; the shares of one are taken of a week."""

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
    from hotlap.errors import UserInputError
    from hotlap.job import Job, Window, write_text
    from hotlap.settings import Settings
    from runners.open_runner import open_runner
    from runners.table_check import header_of
    from runners.table_writer import TableWriter
    from studies import provenance, pruners, samplers

    runner = replay or open_runner(**vars(config.runner))
    # A recording takes what the space takes; a played study begins on its own clock.
    allowance_s = RECORDING_S if config.record else seconds(config.budget)
    start = None if runner.recorded else next(starts, None)
    budget = studies.Budget(allowance_s, start, runner.clock)
    script = script_here(config)
    workload, args = job_of(config) if script is None else ("", {})
    name = config.name or workload.rpartition(".")[2]
    started = f"{datetime.now():%Y-%m-%d_%H-%M-%S}"
    resume = config.resume
    folder = Path(resume) if resume else studies.new_folder(OUTPUTS / name, started)
    study = studies.study_name(folder, f"{name} {folder.name}")
    base = Settings.from_dict(config.settings)
    window = Window(**vars(config.window))
    if not config.record:  # which takes the time that it takes
        window = budget.shortened(window)
    paths = tuple(config.import_path)
    job = Job(workload, args, {}, window, seed=config.seed, import_path=paths, script=script)
    objective = objectives.make(config.objective.name, **vars(config.run))
    console = reports.console()
    progress = reports.Progress(console, None if config.record else budget.left(), runner.clock)
    tracking = config.tracking
    tracker = reports.open_tracking(
        tracking.name, folder, tracking.uri, tracking.experiment, progress.note
    )
    go_on = go_on_with(folder)

    with (
        studies.held(folder, progress.note),
        runner,
        reports.study_that_ends(tracker, study, go_on, tell),
        progress,
    ):
        write_text(folder / "config.yaml", text)
        timed = config.objective.name == "run_time"
        observer = reports.StudyObserver(study, progress, tracker, timed)
        lab = studies.Lab(runner, job, folder, objective, observer)

        # Which machine, which workload, and so: which knobs?
        observer.stage("probe", f"{name}, results in {folder}")
        earlier = studies.proven_before(folder / "frozen.yaml", observer.note)
        # Nothing of this machine enters a replay: what its table does not say, nobody knows.
        machine = {} if runner.recorded else search_spaces.machine_facts()
        told = studies.knows_facts(folder)  # and so what follows from them, by an earlier session
        allowed = {"budget_s": budget.seconds}
        facts = studies.known_facts(folder, lambda: machine | lab.facts(budget.left()) | allowed)
        if told and not runner.recorded:  # a table's workload does not change
            now = lab.facts(budget.left(), bool(facts.get("fresh")))
            studies.same_workload(facts, now, begin_with(config))
        began: dict[str, Any] = {}
        if config.record:  # a table goes on with the facts, and so the space, that it began with
            began = header_of(place_of(config.record)).get("facts", {})
            anew = begin_with(config, "record=<another file>")
            studies.same_workload(began, facts, anew, "table")
        objective.learn(facts)
        unreached = facts.pop("unreached", {})
        in_script: list[str] = []
        own: dict[str, Any] = {}
        if script is not None:
            seen, scratch = facts.pop("script"), facts.pop("scratch")
            own = facts.pop("own_settings")
            found_in = (seen, scratch, config.override, own)
            in_script = [] if told else reports.found_in_script(*found_in)
            fresh = facts.pop("fresh", False)  # facts of an earlier version have none
            base = lab.own_way(own, config.settings, fresh)
        versions = provenance.versions(facts)
        commit = provenance.git_commit(Path.cwd())
        progress.doing("the tracking begins")
        tracker.study_started(reports.study_record(study, name, facts, versions, commit))
        here, facts = facts, {**facts, **began}
        wanted = [
            search_spaces.Knob.from_mapping(knob, asdict(definition))
            for knob, definition in config.search_space.items()
        ]
        known = {**facts, "unreached": unreached}
        knobs, dropped = search_spaces.active(wanted, known, config.numerics, base)
        space_lines = [*search_spaces.searched(knobs), *dropped]
        for line in [] if told else [*in_script, *search_spaces.unanswered(facts), *space_lines]:
            observer.note(line)
        if not knobs and not config.record:
            names = list(config.search_space)
            raise UserInputError(search_spaces.nothing_left(names, dropped, config.numerics))
        whole = search_spaces.Space(knobs, base)
        space = whole.within(runner.known)
        if space is not whole:
            observer.note(
                f"the table has {space.size} of the {whole.size} settings of its space, and no "
                "others are tried"
            )
        # What the user left out of the space is not the expert's to change either.
        by_hand = space.nearest(search_spaces.expert(base, facts, config.numerics)[0])
        expert = by_hand if lab.knows(by_hand) else base
        if expert is not by_hand:
            observer.note("the table does not have the expert's settings: there is no expert")

        def refuse(settings: Settings) -> str:
            return search_spaces.refusal(settings, facts)

        if config.record:  # the whole space into a table, and no search
            origin = {"versions": versions, "git_commit": commit, "setup_s": budget.spent()}
            first_line = {**header(config, name, job, space, here), **origin}
            every = [base, expert, *space.grid()]
            n_settings = len({settings.key() for settings in every})
            observer.stage("record", f"{n_settings} settings into {config.record}")
            with TableWriter(place_of(config.record), first_line, observer.note) as rows:
                many = (config.record_repeats, config.n_trials)
                observer.note(studies.record(lab, every, rows, observer, refuse, *many))
            tracker.study_ended(reports.ended_record(study, "finished"), [])
            return DONE

        # What a winner has to keep: limits, and what the baseline learns.
        limits = vars(config.constraints)
        constraints = objectives.Constraints(limits, facts, observer.note)

        def class_of(settings: Settings) -> str:
            return search_spaces.numerics_class(settings, base, wanted)

        def gate(baseline: Run, seconds: float) -> Gate:
            n_steps = studies.affordable_steps(baseline, seconds)
            accepts, same_data = objectives.accepts, objectives.same_data
            return studies.Gate(lab, base, class_of, n_steps, accepts=accepts, same_data=same_data)

        # The course: measure, search, take apart, prove.
        sampler = samplers.make(
            config.sampler.name,
            config.sampler.seed,
            config.sampler.n_startup_trials,
            studies.constraints_of,
        )
        pruner = pruners.make(config.pruner.name, config.pruner.error)
        identity = {"workload": workload, "its arguments": sorted(args.items())}
        if script is not None:
            identity = {name: script[name] for name in ("target", "args", "override")}
        identity |= {f"search_space.{knob.name}": list(knob.choices) or "a range" for knob in knobs}
        ledger = studies.Ledger(
            folder, study, objective.direction, sampler, pruner, identity, replay is not None
        )
        proven = None if earlier is None else earlier.settings
        limited = (constraints.violations, refuse, proven, constraints.allow)
        search = studies.Search(ledger, lab, space, budget, studies.PROVE, *limited)
        observer.began_with(search.rate_of(base))
        if replay is not None:  # whoever judges the search asks what it believes meanwhile
            replay.ask_best = lambda: next(iter(search.best(1).values()), None)
        plan = studies.Plan(
            n_trials=config.n_trials,
            n_best=config.confirm.n_best,
            max_rounds=config.confirm.max_rounds,
            guided=config.sampler.name in samplers.GUIDED,
            sampler=config.sampler.name,
            seed=config.seed,
            full_run=studies.Endurance(
                **vars(config.run),
                limits=studies.Limits()
                if runner.recorded
                else studies.Limits.here(facts.get("memory_bytes"), objectives.device_bytes(facts)),
            ),
            shares_cores=str(facts.get("device", "cpu")) == "cpu",
            own_threads=facts.get("default_intraop_threads"),
            diagnose=not runner.recorded and (script is None or bool(facts.get("loader"))),
        )
        course = studies.Course(
            lab,
            search,
            space,
            budget,
            plan,
            observer,
            constraints.reasons,
            None if runner.recorded else gate,
        )
        asked = (config.objective.name, vars(config.run), base, wanted, knobs)
        bank = studies.Reuse(
            None if runner.recorded else bank_folder(**vars(config.bank)),
            facts,
            "" if runner.recorded else study_key(config),
            studies.Goal.of(*asked, budget.seconds, config.n_trials, limits),
            space,
            (base, expert),
            refuse,
            observer.note,
        )
        found = course.run(base, expert, bank.known)

        # Freeze what was proven: the winner, or the baseline if nothing was faster.
        winner = found.proof.winner.settings
        origin = {
            "versions": versions,
            "git_commit": commit,
            "study": study,
            "date": provenance.now(),
            **({} if script is None else script_origin(config, own, winner)),
            **({} if found.together is None else {"tuned_together": list(found.together)}),
            "facts": facts,
        }
        files = [folder / "frozen.yaml", *([place_of(config.freeze)] if config.freeze else [])]
        frozen = studies.freeze(files, name, found.proof, origin, earlier)
        path = frozen.path
        n_outcomes = search.n_outcomes()
        in_force = found.proof.found_better or frozen.kept or "imposed" in origin
        look = tracker.ui_command()
        result = reports.result_of(
            found,
            expert if expert is by_hand else None,
            config.objective.name,
            workload=name,
            study=study,
            folder=folder,
            frozen=path,
            kept=frozen.kept,
            earlier=frozen.earlier,
            facts=facts,
            versions=versions,
            n_outcomes=n_outcomes,
            dropped=tuple(dropped),
            warnings=tuple(studies.doubts_of(found, folder, sum(n_outcomes.values()))),
            wall_s=budget.spent(),
            commands=next_commands(config, folder, path, look, found.would_do, in_force),
            epochs=config.run.epochs,
            n_epoch_samples=config.run.n_samples,
            script="" if script is None else shlex.join(run_words(config.words)),
            by_itself=script is not None and not config.settings,
        )
        # The result first: the bank's folder is others' too, and may keep this study waiting.
        reports.write_json(result, folder / "result.json")
        result = replace(result, bank=bank.keep(found, name, origin))
        reports.write_json(result, folder / "result.json")
        files = [path, folder / "config.yaml", folder / "result.json"]
        tracker.study_ended(reports.ended_record(study, "finished", result), files)
    reports.print_result(result, console)
    return DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "config", tune))
