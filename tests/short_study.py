"""Studies as a user types them, as short as they can be, and what they leave."""

import optuna

WINDOWS = (
    "window.max_s=0.2 window.min_s=0.1 window.block_s=0.05 window.max_warmup_s=0.5 budget=4m "
    "confirm.max_rounds=1 confirm.n_best=1"
).split()
"""Trials end as soon as they can; the budget is long, and so no slow machine runs out of it."""

DIGITS = ["+model=digits_mlp", "runner.preload=[torch,sklearn.datasets]", *WINDOWS]
"""What is not imported beforehand, each trial would import anew, for seconds."""

LIGHT = ["runner.preload=[torch]", *WINDOWS]
MY_CONF = ["--config-dir", "my_conf"]
MINE = [*MY_CONF, "+model=make", *LIGHT]
"""The user's own folder and workload (tests/conftest.py), which needs torch alone."""

ONE_SERVER = ["search_space=[dataloader,optimizer]"]
"""No knob of the process environment, for which trials would need a fork server of their own."""


def folders(cwd):
    return sorted(path.parent for path in (cwd / "outputs").glob("*/*/config.yaml"))


def trials(folder):
    """The trials in a study's file, as Optuna reads it."""
    storage = f"sqlite:///{folder / 'study.db'}"
    (name,) = optuna.get_all_study_names(storage)
    return optuna.load_study(study_name=name, storage=storage).trials


def states(folder):
    """Their states."""
    return [trial.state for trial in trials(folder)]
