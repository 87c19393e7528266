"""Tracking by the name that the config gives it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hotlap.errors import NoRoom, UserInputError
from hotlap.room import no_room
from hotlap.settings import near
from reports.mlflow_tracking import MlflowTracking
from reports.no_tracking import NoTracking
from reports.tracking import Tracking, ended_record

NAMES = ("mlflow", "none")

OUTPUTS = "outputs"
"""The folder in which tune.py and train.py make theirs, `<model>/<time>`."""

Tell = Callable[[BaseException], None]
"""Says why something ended early."""


def _nobody(error: BaseException) -> None:
    """Whoever called says it."""


def open_tracking(
    name: str,
    folder: Path,
    uri: str | None,
    experiment: str,
    warn: Callable[[str], None] | None = None,
) -> Tracking:
    """The tracking `name` for the study or full run in `folder`.

    Without a server its SQLite file is the one that has its earlier records; at first it lies two
    folders up where that is `outputs`, so that all studies there can be compared, and else in the
    folder itself. `warn` is told once if a server fails, or the disk is full.

    Raises:
        UserInputError: There is no tracking of this name.
    """
    if name == "none":
        return NoTracking()
    if name == "mlflow":
        folder = Path(os.path.abspath(folder))
        above = folder.parent.parent
        database = (above if above.name == OUTPUTS else folder) / "mlflow.db"
        return MlflowTracking(folder, database, uri, experiment, warn)
    raise UserInputError(
        f"tracking.name: there is no tracking '{name}'{near(name, NAMES)}; "
        f"write tracking={' or tracking='.join(NAMES)}"
    )


@contextmanager
def study_that_ends(
    tracking: Tracking, study: str, go_on: str, tell: Tell = _nobody
) -> Iterator[None]:
    """Whatever happens within, the tracking is told how the study ended, and closed.

    Args:
        tracking: Who is told.
        study: The study's name in it.
        go_on: What to type after an interruption.
        tell: Tells the user first: the tracking may take half a minute.

    Raises:
        KeyboardInterrupt: It was interrupted; the error's text says what to type.
        NoRoom: A disk is full, wherever that was found out; so does this one's.
    """
    try:
        yield
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        state = "interrupted" if interrupted else "failed"
        kept = f"what was measured is kept, to go on: {go_on}"
        reason = kept if interrupted else _last_line(error)
        tell(ended := _with_what_is_kept(error, lambda: kept))
        tracking.study_ended(ended_record(study, state, reason=reason), [])
        if ended is not error:
            raise ended from (None if interrupted else error)
        raise
    finally:
        tracking.close()


@contextmanager
def run_that_ends(
    tracking: Tracking, go_on: Callable[[], str], tell: Tell = _nobody
) -> Iterator[None]:
    """The same for a full run, whose good end is told within.

    Args:
        tracking: Who is told.
        go_on: Says what to type after an interruption.
        tell: Tells the user first.

    Raises:
        KeyboardInterrupt: It was interrupted; the error's text says what to type.
        NoRoom: A disk is full.
    """
    try:
        yield
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        state = "interrupted" if interrupted else "failed"
        tell(ended := _with_what_is_kept(error, go_on))
        tracking.run_ended({"state": state, "metrics": {}}, [])
        if ended is not error:
            raise ended from (None if interrupted else error)
        raise
    finally:
        tracking.close()


def _with_what_is_kept(error: BaseException, kept: Callable[[], str]) -> BaseException:
    """The error, and where one can go on the sentence that says how."""
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt(kept())
    if full := no_room(error):
        return NoRoom(f"{full}. Make room; {kept()}")
    return error


def _last_line(error: BaseException) -> str:
    """What an error says in the end: a failed workload's begins with its whole traceback."""
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__
