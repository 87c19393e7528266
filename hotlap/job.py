"""Job and events: how the tuner process and a worker speak, by files in the trial's folder.

`job.json` is the order, written once. `events.jsonl` is the answer, appended a line at a time;
`worker.log` has all that the process printed. No torch here: both processes use this.

Each event is a JSON object with `event` (its name) and `t` (seconds of CLOCK_MONOTONIC, the same
clock in all processes of the machine):

    started   pid
    training  a script's first optimizer step was seen
    alive     a script does something else than training, an evaluation say: told now and then
    preparing what, n_done, n_wanted: long work before training, e.g. generating data
    built     startup_s, device, device_uuid (of a CUDA device, by which the driver knows it),
              tokens_per_sample, num_workers, n_epoch_steps (null if unknown),
              side (as the job's), resident (whether one batch lies on the device for good),
              notes (settings that could not be put in force: [{"setting":, "reason":}, ...])
    probing   batch_size: what a job of kind "probe" asks about is built, and its steps begin
    facts     facts: what hotlap/inspect_workload.py says, the answer to a job of kind "probe";
              device_uuid
    environment  facts of a full run: versions and device (see hotlap/toolchain.py), and what tells
              its workload from others
    batch     facts: batch_shapes of a full run's first batch (see hotlap/structure.py)
    warmup    a block before the window: like `block`
    warm      warmup_s, reason ("settled", "cap", or "ended" with the script itself), compile_s
    block     steps, samples, seconds, data_wait_s, other_cpu_share, loss, n_ready, at_step,
              host_bytes, open_files, shared_bytes, device_bytes, stalled_s
    timed     compile_s, epoch_start_s, epoch_start_known, epochs_in_blocks, n_epoch_steps
    losses    what hotlap/losses.py says, the answer to a job of kind "losses"; of a script also
              stale (why its imposed workers had something else than the script, or "")
    step      meanwhile: step, loss; in a full run: epoch, step, step_in_epoch, n_epoch_steps, loss,
              samples_per_s (since the one before), mean_samples_per_s
    epoch     an epoch of a full run is done: epoch, loss, seconds
    checkpoint  path, epoch, steps, step_in_epoch
    unsaved   a checkpoint could not be saved: path, reason
    unreadable  one was saved and can never be loaded: path, reason
    trained   a full run is done: epoch, steps, n_session_steps (those of this session), samples and
              seconds after its first one, samples_per_s, loss, interrupted
    finished  peak_device_bytes, peak_host_bytes, n_skipped_steps; of a script left_out_share
    failed    outcome ("oom", "crash", "invalid", "diverged"), error (one line), traceback,
              no_room (whether the error says that a disk is full)
    stopping  limit_s: not in the file; the runner has asked a full run to save and end by itself
"""

from __future__ import annotations

import errno
import json
import os
import time
import weakref
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hotlap.aside import aside


@dataclass(frozen=True)
class Window:
    """How long a trial warms up and is timed. All times in seconds.

    Attributes:
        max_s: The timed part ends here, or earlier when it is precise enough; later only while the
            loader's queue is on its way.
        min_s: The timed part is never shorter.
        block_s: About how long one block is; always a whole multiple of `num_workers` steps.
        precision: The window ends when the half width of the rate's 95 % interval is this share.
        max_warmup_s: Warm-up ends here with a warning, settled or not, but not before the first
            step, nor before blocks are whole multiples of `num_workers`; the time in which a
            compiler works is not counted.
        first_step_s: A trial whose first step takes longer has the outcome timeout; where
            `compile_mode` is set, a compiler has more (see runners/silence.py).
        silence_s: So has one which is silent for longer than this between two events.
        patience_s: No longer than this is waited for an epoch's border or for the loader's queue to
            come to rest, and epochs of which three fit in are timed whole, or one in which borders
            cut nearly every block; None: `max_s`.
    """

    max_s: float = 8.0
    min_s: float = 2.0
    block_s: float = 0.5
    precision: float = 0.02
    max_warmup_s: float = 15.0
    first_step_s: float = 120.0
    silence_s: float = 60.0
    patience_s: float | None = None

    @property
    def waits_s(self) -> float:
        """The patience, in seconds."""
        return self.max_s if self.patience_s is None else self.patience_s


@dataclass(frozen=True)
class Job:
    """What a worker is to do.

    Attributes:
        workload: Dotted path of a function that returns a `hotlap.Workload`; empty for a script.
        args: Its keyword arguments.
        settings: Settings as plain data (see hotlap.Settings.to_dict).
        window: How to time it.
        kind: "window" times training, "probe" answers the workload's facts, "full_run" trains,
            "losses" trains a few steps to compare them.
        side: For "window": "both" trains, "loader" and "compute" drive one side alone (see
            hotlap/sides.py).
        seed: For torch, numpy and random before the workload is built.
        import_path: Folders that go first on the worker's sys.path.
        run: For "full_run": epochs, checkpoint, resume, ... (see hotlap/full_run.py). For
            "losses": steps.
        script: Somebody's own script instead of a workload: what to run and how, see
            hotlap/script/worker.py.
    """

    workload: str
    args: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    window: Window = field(default_factory=Window)
    kind: str = "window"
    side: str = "both"
    seed: int = 0
    import_path: tuple[str, ...] = ()
    run: dict[str, Any] = field(default_factory=dict)
    script: dict[str, Any] | None = None

    def write(self, folder: Path) -> None:
        """Write `folder/job.json`, aside first and then renamed into place."""
        write_text(folder / "job.json", json.dumps(asdict(self), indent=1))

    @classmethod
    def read(cls, folder: Path) -> Job:
        """Read `folder/job.json`."""
        data = json.loads((folder / "job.json").read_text(encoding="utf-8"))
        data["window"] = Window(**data["window"])
        data["import_path"] = tuple(data["import_path"])
        return cls(**data)


class EventLog:
    """Appends events to `folder/events.jsonl`, each in one write, so a reader sees whole lines."""

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder / "events.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._torn = ""

    def __call__(self, event: str, **values: Any) -> None:
        """Append one event.

        Raises:
            OSError: The disk has no room for all of it. What it took is no line, and no part of
                the next one.
        """
        line = json.dumps({"event": event, "t": time.monotonic(), **values}) + "\n"
        text = f"{self._torn}{line}".encode()
        n_written = os.write(self._fd, text)
        self._torn = "" if n_written == len(text) else "\n"
        if self._torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "events.jsonl")


class EventReader:
    """Reads the events of `folder/events.jsonl` as they come.

    The file is open from the beginning: a script may remove the folder that its trial writes to.

    Args:
        folder: The trial's or full run's folder.
        from_now: Leave out what is there already: a full run that goes on writes into the file of
            its earlier session.
    """

    def __init__(self, folder: Path, from_now: bool = False) -> None:
        self._file = Kept(folder / "events.jsonl")
        self._offset = self._file.size() if from_now else 0

    def new(self) -> list[dict[str, Any]]:
        """The events appended since the last call; a line still being written waits."""
        data = self._file.read(self._offset)
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [event for line in whole.splitlines() if (event := _event(line)) is not None]


class Kept:
    """A file that others append to, made here if it is not there, and open until nobody has this.

    So it can be read whatever happens to its folder meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        weakref.finalize(self, os.close, self._fd)

    def size(self) -> int:
        """Its bytes now."""
        return os.fstat(self._fd).st_size

    def read(self, offset: int) -> bytes:
        """All from `offset` on."""
        data = b""
        while more := os.pread(self._fd, 1 << 20, offset + len(data)):
            data += more
        return data

    def cut(self, n_first: int, n_last: int, words: str) -> None:
        """Keep its first and last bytes, `words` between them; whoever appends goes on behind."""
        last = os.pread(self._fd, n_last, max(n_first, self.size() - n_last))
        os.ftruncate(self._fd, n_first)
        os.write(self._fd, words.encode() + last)


def _event(line: bytes) -> dict[str, Any] | None:
    """The event in a line; None if a script that found the file has written something else."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "event" in event else None


def printable(text: str) -> str:
    """`text` as any terminal, file and database takes it: no control characters, valid UTF-8."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8, whatever the user's locale says; nobody ever reads half of it."""
    with aside(path) as place:
        place.write_text(text, encoding="utf-8")
