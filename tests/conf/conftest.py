import copy
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conf.cli import main


@dataclass
class Ran:
    code: int
    configs: list = field(default_factory=list)
    texts: list = field(default_factory=list)
    out: str = ""
    err: str = ""


@pytest.fixture(autouse=True)
def as_a_user_types(active, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Calls the front as tune.py does, in an empty folder; the task only keeps what it gets."""
    monkeypatch.chdir(tmp_path)

    def call(*argv, primary="config", task=None):
        ran = Ran(0)

        def keep(config, text):
            ran.configs.append(config)
            ran.texts.append(text)
            return task(config) if task else 0

        ran.code = main(argv, primary, keep)
        ran.out, ran.err = capsys.readouterr()
        return ran

    return call


@pytest.fixture
def my_conf(tmp_path):
    """A user's own folder: my_conf/model/mine.yaml and the module that it names."""

    def write(model="model: {workload: my_module.make, width: 3}\n", module=None, **others):
        (tmp_path / "my_module.py").write_text(
            module
            or "raise SystemExit('a user module was imported')\n"
            "def make(width, depth=2, *, device=None): ...\n"
        )
        files = {"model/mine": model, **{name.replace("__", "/"): t for name, t in others.items()}}
        for name, text in files.items():
            path = tmp_path / "my_conf" / f"{name}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# @package _global_\n{text}" if name == "model/mine" else text)
        return tmp_path / "my_conf"

    return write


_BASE = {}


@pytest.fixture
def tune_config():
    """The typed config of `tune.py +model=resnet50`, a copy for each test."""
    from omegaconf import OmegaConf

    from conf.session import Session

    if not _BASE:
        with Session("config") as session:
            _BASE["config"] = OmegaConf.to_object(session.compose(["+model=resnet50"]))
    return copy.deepcopy(_BASE["config"])


@pytest.fixture
def frozen_file(tmp_path):
    """A frozen settings file as the tuner writes it, with its provenance."""

    def write(path: Path | str = "best.yaml", **settings):
        path = tmp_path / path
        path.parent.mkdir(parents=True, exist_ok=True)
        origin = {"speedup": 2.02, "date": "2026-01-02"}
        path.write_text(
            "# @package _global_\n"
            f"settings: {json.dumps(settings or {'num_workers': 4, 'prefetch_factor': 3})}\n"
            f"provenance: {json.dumps(origin)}\n"
        )
        return path

    return write
