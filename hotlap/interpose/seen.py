"""Seen: what hotlap found in a script while it ran. Plain data; no torch here.

The reach report (`hotlap.interpose.reach`) and the tuner read it; interposition fills it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from hotlap.frozen import plain


def simple(value: Any) -> Any:
    """A value of the script's as it is where JSON knows it, else in words."""
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)


@dataclass
class LoaderSeen:
    """A DataLoader as the script made it; made again at the same place it is the same one.

    Two that are made alike there, and have an open pass at the same time, are two.

    Attributes:
        name: Its class.
        dataset: Its dataset's class.
        batch_size: As the script or its batch sampler gave it; None where the dataset decides.
        num_workers: As the script gave it.
        sampler: The class of what gives the order (see samplers.py).
        iterable: Whether the dataset is a stream (IterableDataset).
        where: `file:line` of its making, or of its first pass if it came about by itself.
        shuffles: Whether that order is a random one of torch's.
        imposed: DataLoader arguments that hotlap changed, with their values.
        by_itself: Whether it came about without DataLoader.__init__ (see known_loaders.py).
        stale: Why imposed workers had something else in a pass than the script; "" if they had not.
        n_iterators: Times it was gone through.
        n_batches: Batches it gave.
        n_steps: Optimizer steps that followed its batches.
        steps_per_batch: Steps with each batch, None where that cannot be told (see pace.py).
    """

    name: str
    dataset: str
    batch_size: int | None
    num_workers: int
    sampler: str
    iterable: bool
    where: str
    shuffles: bool = False
    imposed: dict[str, Any] = field(default_factory=dict)
    by_itself: bool = False
    stale: str = ""
    n_iterators: int = 0
    n_batches: int = 0
    n_steps: int = 0
    steps_per_batch: float | None = None

    @property
    def trains(self) -> bool:
        """Whether optimizer steps follow its batches; an evaluation's loader has none."""
        return self.n_steps > 0

    def made_like(self, before: LoaderSeen) -> bool:
        """Whether it may be `before` made anew at its place: with another batch size, or beside."""
        alike = ("name", "dataset", "num_workers", "sampler", "where")
        return bool(self.where) and all(getattr(self, n) == getattr(before, n) for n in alike)

    def beside(self) -> LoaderSeen:
        """Another one that is made alike at its place, and has given nothing yet."""
        return replace(
            self, imposed=dict(self.imposed), stale="", n_iterators=0, n_batches=0, n_steps=0,
            steps_per_batch=None,
        )  # fmt: skip


@dataclass
class RootSeen:
    """Outermost modules that hold parameters of an optimizer: all that are alike, of one place.

    Attributes:
        name: Its class.
        device: Of its first parameter.
        dtypes: Of its floating-point parameters.
        input_ranks: Dimensions of each tensor of its first call.
        has_images: Whether it has a 4-D parameter, which channels_last needs.
        memory_format: Of its 4-D parameters, as the script has laid them out.
        where: `file:line` of its first call.
        n_forwards: Calls with gradients enabled.
        n_own_autocast: Those of them within an autocast of the script's own.
        refused: Setting -> why it was not put in force here.
    """

    name: str
    device: str
    dtypes: list[str]
    input_ranks: list[int]
    has_images: bool
    memory_format: str = "contiguous"
    where: str = ""
    n_forwards: int = 0
    n_own_autocast: int = 0
    refused: dict[str, str] = field(default_factory=dict)


@dataclass
class OptimizerSeen:
    """Optimizers that stepped: all of one class that were made at one place, in each fold say.

    Attributes:
        name: Its class.
        kernels: What every parameter group of the first one takes here; None if that was not tried.
        n_steps: Steps done; those that a GradScaler skipped are not among them.
        own_kernel: The kernel that the script asked for, or "default".
        where: `file:line` of its making.
    """

    name: str
    kernels: list[str] | None = None
    n_steps: int = 0
    own_kernel: str = "default"
    where: str = ""


@dataclass
class SetSeen:
    """A flag or thread count that the script set: its setting's name, the value, where.

    `overruled` says that hotlap kept its own value.
    """

    name: str
    value: Any
    where: str
    overruled: bool = False


@dataclass
class Seen:
    """Everything found in one script.

    Attributes:
        loaders: In the order of their making.
        roots: In the order of their first call.
        optimizers: In the order of their first step.
        own: What the script decides itself ("autocast", "scaler", "compile", "deterministic",
            "thread": a call of a module in another thread, "function": a function that it has
            compiled and that calls the module; "process": training in a forked one) and where.
        sets: Flags and threads that it set, the last value of each.
        n_optimizers_made: Optimizers that it made, stepping or not.
        n_steps: Optimizer steps in all.
        n_ranks: Processes that train together where hotlap stands in this one alone, else 1.
    """

    loaders: list[LoaderSeen] = field(default_factory=list)
    roots: list[RootSeen] = field(default_factory=list)
    optimizers: list[OptimizerSeen] = field(default_factory=list)
    own: dict[str, str] = field(default_factory=dict)
    sets: dict[str, SetSeen] = field(default_factory=dict)
    n_optimizers_made: int = 0
    n_steps: int = 0
    n_ranks: int = 1

    @property
    def training_loaders(self) -> list[LoaderSeen]:
        """Loaders whose batches are followed by optimizer steps."""
        return [loader for loader in self.loaders if loader.trains]

    def to_dict(self) -> dict[str, Any]:
        """As data that JSON can hold."""
        return {name: plain(value) for name, value in asdict(self).items()}
