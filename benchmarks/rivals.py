"""Beside the rivals: four real loops tuned by each, and a neutral judge of what came out.

    python -m benchmarks.rivals
    python -m benchmarks.rivals --loops convnet --tuners hotlap optuna --budget 60 --rounds 9
    python -m benchmarks.rivals --judge outputs/rivals.json

Four plain scripts (benchmarks/rival/loops): samples that wait, samples that compute, a convolution
net, a small transformer. Each is tuned by tune.py, by the released packages pytorch-autotune and
train-doctor, and by Optuna alone, each in an environment of its own; and a small grid is measured
whole. Then the judge runs nothing but the settings, and the default twice.

To reach, on every loop: first, by intervals that are apart or at the grid's best; 95 % or more of
the grid's best; the judged speedup within the interval that we claim; no more minutes than a rival
that does as well. Results are kept in --out as they come: a second run goes on with it. Answers to
another budget, or found with other blocks, are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

if not __package__:  # started by its path and not by -m: the clone has to be importable
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import UNJUDGED, count, interruptible, uptime, versions  # noqa: E402
from benchmarks.rival import grid, judge, venvs  # noqa: E402
from benchmarks.rival.tuners import TUNERS, WINDOWED, Answer, Asking, ask  # noqa: E402
from benchmarks.rival.verdict import Loop, doubts, misses, table, unjudged  # noqa: E402

Record = dict[str, Any]
"""What --out holds: `sessions`, and `loops`, each with `tuners`, `grid`, `arms`, `rounds`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Tune, walk the grids, judge, print.

    Returns:
        0 if no target is missed, 1 if one is, 2 if the record is damaged, `UNJUDGED` if nobody
        can tell, for ours was not asked or no rival has an answer.
    """
    given = arguments(argv)
    record = load(given.out)
    print(f"before: {uptime()}\n{versions()}", flush=True)
    record.setdefault("sessions", []).append({"before": uptime(), "versions": versions()})
    for name in given.loops:
        one = record["loops"].setdefault(name, {"tuners": {}})
        if not given.judge:
            tune(name, one, given, record)
        elif missing := missing_in(one):
            unfit(f"{given.out} has no {missing} of {name}; run it without --judge first")
        judge_loop(name, one, given, record)
        print(table(loop_of(name, one, given)), flush=True)
    record["sessions"][-1]["after"] = uptime()
    save(record, given.out)
    print(f"after:  {uptime()}")
    loops = [loop_of(name, record["loops"][name], given) for name in given.loops]
    said = {
        word: [sentence for loop in loops for sentence in sentences(loop)]
        for word, sentences in (("doubt", doubts), ("not judged", unjudged), ("missed", misses))
    }
    for word, sentences in said.items():
        for sentence in sentences:
            print(f"{word}: {sentence}")
    missed, unknown = said["missed"], said["not judged"]
    counts = f"missed: {len(missed) or 'none'}, not judged: {len(unknown) or 'none'}"
    print(f"claim: first on each loop, 95 % of the grid's best; {counts}")
    return 1 if missed else UNJUDGED if unknown else 0


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rivals",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--loops", nargs="+", choices=grid.GRIDS, default=list(grid.GRIDS))
    add("--tuners", nargs="+", choices=TUNERS, default=list(TUNERS))
    add("--budget", type=float, default=120, help="seconds of each search (%(default)s)")
    add("--rounds", type=count, default=9, help="of the judge, for each loop (%(default)s)")
    add("--seconds", type=float, default=2, help="of a timed block (%(default)s)")
    add("--venvs", type=Path, default=venvs.default_folder(), help="environments (%(default)s)")
    add("--share", action="store_true", help="environments see this interpreter's packages")
    add("--out", type=Path, default=Path("outputs/rivals.json"), help="kept results (%(default)s)")
    add("--judge", type=Path, metavar="FILE", help="judge its settings anew, tune nothing")
    add("--seed", type=int, default=0, help="of all orders")
    given = parser.parse_args(argv)
    if given.budget < 30 or given.rounds < judge.LEAST or given.seconds <= 0:
        parser.error(
            f"--budget takes 30 or more, --rounds {judge.LEAST} or more, --seconds more than 0"
        )
    given.out = (given.judge or given.out).absolute()
    return given


def tune(name: str, one: Record, given: argparse.Namespace, record: Record) -> None:
    """Answers and grid of a loop that the record does not have yet."""
    place = given.out.with_name(f"{given.out.stem}-work")
    place.mkdir(parents=True, exist_ok=True)
    how = Asking(given.budget, given.seconds, given.venvs.absolute(), given.share, place)
    for tuner in random.Random(f"{given.seed} {name}").sample(given.tuners, len(given.tuners)):
        if is_answered(tuner, one["tuners"].get(tuner), given):
            continue
        answer = ask(tuner, name, how)
        one["tuners"][tuner] = asdict(answer)
        save(record, given.out)
        said = f"no: {answer.failed}" if answer.failed else f"{answer.claimed} {answer.settings}"
        print(f"{name} {tuner}: {answer.minutes:.1f} minutes, {said}", flush=True)
    if "grid" not in one or one["grid"].get("seconds") != given.seconds:
        begun = time.monotonic()
        points = grid.walk(name, given.seconds, given.seed)
        minutes = (time.monotonic() - begun) / 60
        one["grid"] = {"points": points, "minutes": minutes, "seconds": given.seconds}
        save(record, given.out)


def is_answered(tuner: str, old: Record | None, given: argparse.Namespace) -> bool:
    """Whether the record has an answer of the tuner's to what is asked now."""
    return old is not None and not old["failed"] and is_same(tuner, old, given)


def is_same(tuner: str, old: Record, given: argparse.Namespace) -> bool:
    """Whether the tuner was asked what is asked now."""
    if old["budget_s"] != given.budget:
        return False
    return tuner not in WINDOWED or bool(old.get("seconds") == given.seconds)


def comparable(one: Record, given: argparse.Namespace) -> dict[str, Record]:
    """A loop's answers to what is asked now, ours first; `--judge` takes ours' question for it."""
    known = {tuner: one["tuners"][tuner] for tuner in TUNERS if tuner in one["tuners"]}
    if given.judge:
        budget_s = next(iter(known.values()))["budget_s"]
        return {tuner: old for tuner, old in known.items() if old["budget_s"] == budget_s}
    return {tuner: old for tuner, old in known.items() if is_same(tuner, old, given)}


def missing_in(one: Record) -> str:
    """What a loop's record lacks to be judged; empty if nothing."""
    return ", ".join(word for word in ("tuners", "grid") if not one.get(word))


def judge_loop(name: str, one: Record, given: argparse.Namespace, record: Record) -> None:
    """Rounds until there are as many as asked; old ones count while the arms are the same."""
    known = comparable(one, given)
    answers = {tuner: old["settings"] for tuner, old in known.items() if not old["failed"]}
    settings = judge.arms(answers, one["grid"]["points"][0]["settings"])
    if given.judge or one.get("arms") != settings or one.get("seconds") != given.seconds:
        one.update(arms=settings, seconds=given.seconds, rounds=[])
    while (n := len(one["rounds"])) < given.rounds:
        chance = random.Random(f"{given.seed} {name} {n}")
        one["rounds"].append(judge.one_round(name, settings, given.seconds, chance))
        save(record, given.out)


def loop_of(name: str, one: Record, given: argparse.Namespace) -> Loop:
    """A loop's record as the verdict reads it, our answer first."""
    answers = {tuner: Answer(**old) for tuner, old in comparable(one, given).items()}
    best = one["grid"]["points"][0]["settings"]
    return Loop(name, answers, best, one["grid"]["minutes"], one["rounds"])


def load(path: Path) -> Record:
    """What is kept in `path`, or an empty record."""
    if not path.exists():
        return {"loops": {}}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        unfit(f"{path} is no record of this benchmark ({error}); name another")
    if not isinstance(record, dict) or not isinstance(record.get("loops"), dict):
        unfit(f"{path} is no record of this benchmark (it has no `loops`); name another")
    return record


def unfit(why: str) -> NoReturn:
    """The input is wrong: exit code 2, since 1 says that a target is missed."""
    print(why, file=sys.stderr)
    raise SystemExit(2)


def save(record: Record, path: Path) -> None:
    """Written aside and renamed, so that an interrupted run leaves a whole file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".part")
    aside.write_text(json.dumps(record, indent=1), encoding="utf-8")
    os.replace(aside, path)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and what it started ends with it
    sys.exit(interruptible(main, sys.argv[1:]))
