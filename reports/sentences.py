"""What a study found, in plain sentences."""

from __future__ import annotations

from hotlap.measurement import Rate, Ratio
from hotlap.spoken import UNKNOWN, interval, typed
from reports.payback import WORTH_A_WORD_S, Payback, payback
from reports.result import Result
from reports.text import clock, duration, number, times


def sentences(result: Result) -> list[str]:
    """What was found, how sure that is, what binds, and what it took."""
    said = []
    speedup = result.winner.speedup
    baseline, same = "PyTorch's defaults", "the default"
    if result.by_itself:
        baseline = same = "the script by itself"
    elif result.script or result.baseline.settings.changed():
        baseline = same = "its own baseline"
    if result.found_better and speedup is not None:
        said.append(_found(result, speedup, baseline))
        if result.together:
            said.append(f"{TOGETHER}: {', '.join(result.together)}.")
        if result.earlier:
            said.append(result.earlier)
        if result.searched is not None:
            said.append(_searched(result, result.searched, speedup.value))
        if result.objective != "run_time":
            back = payback(result.winner, result.baseline, speedup.value, result.n_epoch_samples)
            if abs(back.extra_s) >= WORTH_A_WORD_S:
                said.append(_pays(back, result.epochs))
    else:
        said.append(_nothing(result, same))
        if result.earlier:
            said.append(result.earlier)
        if result.searched is not None and speedup is not None and result.searched > 1:
            said.append(_searched(result, result.searched, speedup.value))
    said += [text for text in (result.no_expert, *result.late, result.noise) if text]
    said += [f"{name.capitalize()}: {text}" for name, text in result.diagnosis.items() if text]
    counts = ", ".join(f"{n} {outcome}" for outcome, n in result.n_outcomes.items() if n)
    n_tried = sum(result.n_outcomes.values())
    among = ", the baseline among them" if n_tried > 1 else ""
    said.append(
        f"Settings tried before the proof: {n_tried}{among} ({counts or 'none'}); "
        f"{clock(result.wall_s)} in this session."
    )
    said += [f"The bank: {words}." for end, words in BANK.items() if result.bank.get(end)]
    return said


TOGETHER = "Proven with the others only, and not whether they pay on their own"
"""Of those of the winner's settings of which no rounds show more."""

BANK = {
    "added": "it has these settings from now on",
    "updated": "these settings take the place of its own",
    "hit": "its settings have proven themselves again; bank=none searches anew",
    "kept": "its own settings stay, as these are not better for sure",
    "unsatisfied": "nothing was proven that it could take",
}
"""How a study ends for the bank, and what that means; the counts stand in result.json."""


def _found(result: Result, speedup: Ratio, baseline: str) -> str:
    sure = f"(95 % interval {interval(speedup)})"
    new, old = result.winner.run_time, result.baseline.run_time
    if new is None or old is None:
        return f"The winner trains {times(speedup.value)} as fast as {baseline} {sure}."
    run = f"A run of {_epochs(result.epochs)}" if result.epochs else "The run"
    return (
        f"{run} takes {_time(new)} with the winner and {_time(old)} with {baseline}: it is done "
        f"{times(speedup.value)} as fast {sure}."
    )


def _nothing(result: Result, same: str) -> str:
    """Nothing was faster, or nothing was proven to be, or may be frozen, or nothing was tried."""
    speedup = result.winner.speedup
    so = " in this session" if result.kept else f", so {same} is frozen"
    if result.uncompared:
        return f"No round could be compared{so}: {result.uncompared}."
    nothing = "Nothing that may be frozen" if result.refused else "Nothing"
    unproven = f"{nothing} is proven to be better than {same}{so}."
    refused = f"Nothing better than {same} may be frozen{so}."
    if speedup is None or speedup.value <= 1:
        if result.late or (result.no_expert and result.expert is None):  # who may be better
            return unproven
        if result.refused:  # whatever that might have been
            return refused
        if speedup is None and sum(result.n_outcomes.values()) == 1:
            return f"Nothing was tried but {same}{so}."
        return f"Nothing better than {same} was found{so}."
    if result.winner.barred:
        return (
            f"{refused} What measured {times(speedup.value)} was refused: {result.winner.barred}."
        )
    return f"{unproven} What came closest measured {times(speedup.value)}, {_doubt(speedup)}."


def _doubt(speedup: Ratio) -> str:
    """What is known of it, where nothing is proven."""
    if speedup.known:
        return f"95 % interval {interval(speedup)}"
    return "and was measured too few times for that to mean anything"


def _searched(result: Result, searched: float, proven: float) -> str:
    """The best of many is picked for its luck too: winner's curse."""
    of, n_tried = result.searched_of, sum(result.n_outcomes.values())
    whose = f" for {of}, of which this is a part" if of else ""
    told = f"The search itself, corrected for drift, had measured {times(searched)}{whose}"
    if searched <= proven:
        return f"{told}."
    luck = f"the best of {n_tried} noisy trials looks better than it is"
    if n_tried <= 2:  # the baseline is one of them
        luck = "a single trial may be a lucky one"
    return f"{told}; {luck}, so only the fresh rounds count."


def _pays(back: Payback, epochs: float | None) -> str:
    """When the winner has paid for its start-up and compilation."""
    takes = f"The winner takes {number(abs(back.extra_s), 2)} s"
    if back.seconds == 0:
        return f"{takes} less than the baseline before its first step, and is faster from then on."
    text = (
        f"{takes} more than the baseline before its first step and has paid for them {back.words}"
    )
    pays = back.within(epochs)
    if epochs is None or pays is None:
        return f"{text}."
    long = "long enough" if pays else "too short: keep the baseline, or tune for objective=run_time"
    return f"{text}; a run of {_epochs(epochs)} is {long}."


def _time(run: Rate) -> str:
    sure = f"[{duration(run.low)}, {duration(run.high)}]" if run.known else f"({UNKNOWN})"
    return f"{duration(run.value)} {sure}"


def _epochs(n: float) -> str:
    return "1 epoch" if n == 1 else f"{typed(n)} epochs"
