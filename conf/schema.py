"""The types of the config. Only tune.py, train.py and this folder know Hydra.

STYLE: `low`, `high` and `step` are Any on purpose: OmegaConf crashes on an optional union with an
interpolation; conf/check.py checks them.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional  # noqa: UP035  (OmegaConf on 3.10 reads these)


@dataclass
class When:
    """A knob is active only if another knob's value is above a number, or equals a value."""

    knob: str = ""
    above: Any = None
    equals: Any = None


@dataclass
class Knob:
    """One thing that may vary: either `choices`, or `low`/`high` with `step` or `log`.

    `auto` for low, high or choices means: from the machine's and the workload's facts.
    `requires` are words for facts that the whole knob needs; `choice_requires` maps a choice to
    the words that it alone needs (search_spaces/hardware.py has the closed list).
    `numerics` is what the knob may change: exact, rounding or precision.
    """

    choices: Any = None
    low: Any = None
    high: Any = None
    step: Any = None
    log: bool = False
    when: Optional[When] = None  # noqa: UP045
    requires: List[str] = field(default_factory=list)  # noqa: UP006
    choice_requires: Dict[str, List[str]] = field(default_factory=dict)  # noqa: UP006
    numerics: str = "exact"


@dataclass
class Objective:
    """What is better."""

    name: str = "throughput"
    direction: str = "maximize"


@dataclass
class RunConfig:
    """The full run that the settings are for: its epochs, and the samples of one of them."""

    epochs: Optional[float] = None  # noqa: UP045
    n_samples: Optional[int] = None  # noqa: UP045


@dataclass
class WindowConfig:
    """How long a trial warms up and is timed, in seconds (see hotlap.job.Window)."""

    max_s: float = 8.0
    min_s: float = 2.0
    block_s: float = 0.5
    precision: float = 0.02
    max_warmup_s: float = 15.0
    first_step_s: float = 120.0
    silence_s: float = 60.0


@dataclass
class RunnerConfig:
    """Where a trial's process runs, and the modules its server imports beforehand.

    `table` and `seed` are those of a replay.
    """

    name: str = "process"
    preload: List[str] = field(default_factory=lambda: ["torch", "torchvision"])  # noqa: UP006
    table: Optional[str] = None  # noqa: UP045
    seed: int = 0


@dataclass
class SamplerConfig:
    """Who proposes: tpe, gp, random or brute_force."""

    name: str = "tpe"
    seed: int = 0
    n_startup_trials: int = 8


@dataclass
class PrunerConfig:
    """Who stops a trial early: racing or none; `error` is racing's error probability."""

    name: str = "racing"
    error: float = 0.05


@dataclass
class TrackingConfig:
    """Where results go besides the study's folder: mlflow or none."""

    name: str = "mlflow"
    uri: Optional[str] = None  # noqa: UP045
    experiment: str = "hotlap"


@dataclass
class BankConfig:
    """The folder in which proven settings are kept: its `path`, null for the default; or none."""

    name: str = "default"
    path: Optional[str] = None  # noqa: UP045


@dataclass
class Constraints:
    """Limits a winner keeps: share of the device's memory, 0..1."""

    device_memory: float = 0.9


@dataclass
class ConfirmConfig:
    """The stage that proves the winner: how many of the best, and rounds at the most."""

    n_best: int = 2
    max_rounds: int = 40


@dataclass
class Common:
    """What tune.py and train.py share.

    `model` and `data` are open: besides `workload` or `dataset` and `samples`, their keys are the
    keyword arguments of the function named there. `frozen` and `provenance` are filled from a
    frozen settings file; `import_path` are folders that go first on a worker's sys.path, filled
    with the current folder and the one that holds `--config-dir`. `name` is the chosen model's, and
    `words` are those of the command line that the full run takes too.
    """

    model: Any = None
    data: Dict[str, Any] = field(default_factory=dict)  # noqa: UP006
    settings: Dict[str, Any] = field(default_factory=dict)  # noqa: UP006
    runner: RunnerConfig = field(default_factory=RunnerConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    bank: BankConfig = field(default_factory=BankConfig)
    device: Optional[str] = None  # noqa: UP045
    seed: int = 0
    frozen: Optional[str] = None  # noqa: UP045
    provenance: Dict[str, Any] = field(default_factory=dict)  # noqa: UP006
    import_path: List[str] = field(default_factory=list)  # noqa: UP006
    name: str = ""
    words: List[str] = field(default_factory=list)  # noqa: UP006


@dataclass
class TuneConfig(Common):
    """One study: of a `model`, or of a `script` or `module` of one's own.

    `script_args` are the script's arguments, as typed after a bare `--`; `override` names the
    settings that win even over what the script asks for; with `scratch` trials write into a copy
    of the working folder. `cwd` is that folder, filled in when the study begins. `script` is
    absolute once it is found.
    """

    script: Optional[str] = None  # noqa: UP045
    module: Optional[str] = None  # noqa: UP045
    script_args: List[str] = field(default_factory=list)  # noqa: UP006
    override: List[str] = field(default_factory=list)  # noqa: UP006
    scratch: bool = True
    cwd: str = ""

    search_space: Dict[str, Knob] = field(default_factory=dict)  # noqa: UP006
    objective: Objective = field(default_factory=Objective)
    run: RunConfig = field(default_factory=RunConfig)
    window: WindowConfig = field(default_factory=WindowConfig)
    sampler: SamplerConfig = field(default_factory=SamplerConfig)
    pruner: PrunerConfig = field(default_factory=PrunerConfig)
    constraints: Constraints = field(default_factory=Constraints)
    confirm: ConfirmConfig = field(default_factory=ConfirmConfig)
    numerics: str = "precision"
    budget: str = "10m"
    n_trials: Optional[int] = None  # noqa: UP045
    freeze: Optional[str] = None  # noqa: UP045
    resume: Optional[str] = None  # noqa: UP045
    record: Optional[str] = None  # noqa: UP045
    record_repeats: int = 1


@dataclass
class TrainConfig(Common):
    """One full run.

    `own_settings` is filled in: whether the command line says anything of `settings`, which a run
    that goes on then takes in place of those of its first session.
    """

    epochs: int = 1
    max_steps: Optional[int] = None  # noqa: UP045
    checkpoint_every_s: float = 300.0
    resume: Optional[str] = None  # noqa: UP045
    own_settings: bool = False
