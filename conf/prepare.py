"""From the words on the command line to checked configs, one for each study, and all mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from conf import check, check_paths
from conf.assemble import assemble
from conf.choices import chooses
from conf.fault import Fault, without_consequences
from conf.frozen_choice import Expanded, expand
from conf.hand_on import shared_words
from conf.its_full_run import its_full_run
from conf.knob_words import last_word
from conf.literal import literal
from conf.own_script import complete, in_hydras_words, no_script
from conf.place import place_of
from conf.recorded import fill, first_line, in_table, is_replay
from conf.resume import resumed
from conf.schema import Common
from conf.session import SCHEMAS, Session
from conf.sources import ConfigFile, Sources
from conf.sweeps import each_job, sweep_fault
from conf.unresolved import unresolved
from conf.words import RAW, as_typed, normal, parse
from hotlap.hidden import hidden


@dataclass(frozen=True)
class Prepared:
    """One study or full run that can start: its config, and the same as YAML text."""

    config: Common
    text: str


@dataclass
class Request:
    """What was typed, and what came of it.

    Attributes:
        session: Hydra at work.
        words: The overrides as typed.
        multirun: True for `-m`.
        program: What to type before the overrides.
        script_args: What followed a bare `--`, as typed.
        faults: All that is wrong.
        jobs: What can start, if nothing is wrong.
        checked: The config of each job whose types are right, and where it is from.
    """

    session: Session
    words: Sequence[str]
    multirun: bool = False
    program: str = "python tune.py"
    script_args: Sequence[str] = ()
    faults: list[Fault] = field(default_factory=list)
    jobs: list[Prepared] = field(default_factory=list)
    checked: list[tuple[Common, Sources]] = field(default_factory=list)


def prepare(request: Request) -> None:
    """Fill `jobs` and `faults` of the request."""
    for words in split(request):
        job = _job(request, words)
        if job is not None:
            request.jobs.append(job)
    same = check_paths.overwritten(request.checked)
    request.faults += without_consequences(request.faults, same)


def structure(request: Request) -> list[str]:
    """The overrides as Hydra takes them, after a check of their form alone, as for `--cfg`."""
    jobs = split(request)
    expanded = expand(jobs[0], _value("settings", _read(request, jobs[0])))
    request.faults += [*expanded.faults]
    config, _, faults = assemble(request.session, _read(request, expanded.words))
    request.faults += faults
    if not request.script_args:
        return expanded.words
    script = request.session.kind == "config" and (config.script or config.module)
    if not script and _value("resume", _read(request, jobs[0])) is None:
        fault = no_script(request.script_args, request.program, config.model is None)
        request.faults += without_consequences(request.faults, [fault])
    return [*expanded.words, in_hydras_words(request.script_args)]


def split(request: Request) -> list[list[str]]:
    """The overrides of each job, well-formed ones only."""
    good: list[Override] = []
    for word in request.words:
        parsed = parse(normal(word, request.multirun), request.session.groups)
        if isinstance(parsed, Fault):
            request.faults.append(parsed)
        elif request.session.kind == "train" and parsed.key_or_group in RAW:
            request.faults.append(its_full_run(parsed, request.words, request.script_args))
        elif parsed.is_sweep_override() and not (request.multirun and parsed.is_discrete_sweep()):
            request.faults.append(sweep_fault(parsed))
        else:
            good.append(parsed)
    return each_job(good)


def _job(request: Request, words: Sequence[str]) -> Prepared | None:
    """One job, checked; its faults go to the request."""
    session = request.session
    overrides = _read(request, words)
    folder = _value("resume", overrides)
    typed_model = any(o.key_or_group == "model" for o in overrides)
    goes_on = isinstance(folder, str) and (session.kind == "config" or not typed_model)
    expanded = Expanded(list(words))
    if not goes_on or session.kind == "train":  # a study that goes on takes no other settings
        expanded = expand(words, _value("settings", overrides))
    asked = _read(request, expanded.words)
    if goes_on:
        config, files, faults = resumed(session, str(folder), asked)
    else:
        config, files, faults = assemble(session, asked)
    faults += expanded.faults
    if config is None:
        request.faults += faults
        return None
    if OmegaConf.get_type(config) is not SCHEMAS[session.kind]:
        request.faults += [*faults, _other_kind(request)]
        return None
    typed = {o.key_or_group: as_typed(o) for o in overrides if not chooses(o, session.groups)}
    _complete(config, files, session, expanded)
    if session.kind == "train":
        named = (f"{o.key_or_group}." for o in overrides)
        config.own_settings = any(name.startswith("settings.") for name in named)
    models = [file.name for file in files if file.group == "model"]
    if models:  # a resumed study has both from its first session
        config.name = config.name or models[-1].rpartition("/")[2]
        config.words = shared_words(words, session.folders)
    last_word(config, set(typed))
    played = session.kind == "config" and is_replay(config)
    if played:
        names = [model.rpartition("/")[2] for model in models]
        config, more = fill(config, overrides, names)
        faults += more
    sources = Sources(
        files=files,
        typed=typed,
        folders=session.folders,
        import_path=list(config.import_path),
        program=request.program,
        table=first_line(config) if played and config.runner.table else "",
    )
    faults += unresolved(config, sources)
    told = [*request.faults, *faults]
    faults += without_consequences(told, complete(config, request.script_args, words, sources))
    ready: Common = OmegaConf.to_object(config)  # type: ignore[assignment]
    found = in_table(check.faults(ready, sources), sources.table)
    request.checked.append((ready, sources))
    faults += without_consequences([*request.faults, *faults], found)
    request.faults += faults
    if faults:
        return None
    values = _kept(OmegaConf.to_container(config, resolve=True))  # type: ignore[arg-type]
    return Prepared(ready, OmegaConf.to_yaml(OmegaConf.create(literal(values))))


def _kept(values: dict[str, Any]) -> dict[str, Any]:
    """The config as its folder keeps it: others can read that, and go on from another folder."""
    for holder, key in ((values, "freeze"), (values, "record"), (values["bank"], "path")):
        if typed := holder.get(key):
            holder[key] = str(place_of(typed).absolute())
    if uri := values["tracking"]["uri"]:
        from reports.mlflow_uri import from_anywhere  # only now: its package has the screen in it

        values["tracking"]["uri"] = hidden(from_anywhere(uri))
    return values


def _complete(
    config: DictConfig,
    files: Sequence[ConfigFile],
    session: Session,
    expanded: Expanded,
) -> None:
    """Fill in what follows from where things lie: the frozen file, the import path."""
    OmegaConf.set_struct(config, False)
    frozen = expanded.path
    if expanded.provenance:
        config.provenance = expanded.provenance
    chosen = [file.path for file in files if file.group == "settings"]
    if config.frozen is None and config.provenance:
        frozen = frozen or (chosen[-1] if chosen else None)
    if frozen is not None:
        config.frozen = str(frozen)
    # A study that is resumed from elsewhere still finds the user's modules: the paths are absolute.
    near_configs = [folder.parent for folder in session.folders[1:]]
    wanted = [Path(p) for p in config.import_path] or [Path.cwd(), *near_configs]
    config.import_path = list(dict.fromkeys(str(path.resolve()) for path in wanted))


def _other_kind(request: Request) -> Fault:
    """The fault of a primary config of one's own that is not built on ours."""
    session = request.session
    return Fault(
        what=f"'{session.primary}' is no config for `{request.program}`",
        where=f"command line: --config-name {session.primary}",
        right=f"a config with `defaults: [{session.kind}, _self_]` at its top",
        cure=f"{request.program} without --config-name",
    )


def _read(request: Request, words: Sequence[str]) -> list[Override]:
    parsed = [parse(word, request.session.groups) for word in words]
    return [override for override in parsed if isinstance(override, Override)]


def _value(key: str, overrides: Sequence[Override]) -> object:
    values = [o.value() for o in overrides if o.key_or_group == key and not o.is_delete()]
    return values[-1] if values else None
