"""Session: Hydra at work in our folder and the user's, for as long as a `with` lasts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import DictConfig

from conf.groups import HERE, all_groups
from conf.schema import TrainConfig, TuneConfig
from conf.sources import ConfigFile, read

SCHEMAS = {"config": TuneConfig, "train": TrainConfig}
"""The type of each kind of config."""


def register() -> None:
    """Tell Hydra our types; config.yaml and train.yaml name them first in their defaults."""
    ConfigStore.instance().store(name="tune_schema", node=TuneConfig)
    ConfigStore.instance().store(name="train_schema", node=TrainConfig)


class Session:
    """Composes configs and says which files they are of.

    Args:
        kind: What is configured: `config` (a study) or `train` (a full run).
        config_dir: The user's own config folder.
        config_path: A folder to use instead of ours.
        name: A primary config of the user's own instead of the one that `kind` names.
    """

    def __init__(
        self,
        kind: str,
        config_dir: Path | None = None,
        config_path: Path = HERE,
        name: str | None = None,
    ) -> None:
        self.kind = kind
        self.primary = name or kind
        self.folders = [config_path, *([config_dir] if config_dir else [])]
        self.groups = all_groups(kind, self.folders)

    def __enter__(self) -> Session:
        register()
        self._hydra = initialize_config_dir(
            config_dir=str(self.folders[0]), job_name="hotlap", version_base="1.3"
        )
        self._hydra.__enter__()
        # As hydra.main does for --config-dir: the user's folder after ours, before the types.
        loader = GlobalHydra.instance().config_loader()
        search_path = loader.get_search_path()
        for folder in self.folders[1:]:
            anchor = SearchPathQuery(provider="schema")
            search_path.prepend("command-line", f"file://{folder}", anchor)
        loader.repository.initialize_sources(search_path)  # type: ignore[attr-defined]
        return self

    def __exit__(self, *error: Any) -> None:
        self._hydra.__exit__(*error)

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        """The composed config, without Hydra's own part.

        Raises:
            HydraException, OmegaConfBaseException: It cannot be composed.
            OSError, UnicodeDecodeError: A file cannot be read.
        """
        return compose(self.primary, overrides=list(overrides))

    def files(self, overrides: Sequence[str]) -> list[ConfigFile]:
        """The YAML files that `overrides` choose, in the order in which they are merged.

        Raises:
            HydraException, OmegaConfBaseException, yaml.YAMLError: A file is missing or wrong.
            OSError, UnicodeDecodeError: A file cannot be read.
        """
        loader = GlobalHydra.instance().config_loader()
        chosen = loader.compute_defaults_list(self.primary, list(overrides), RunMode.RUN)
        found = []
        for default in chosen.defaults:
            path = self.find(default.config_path or "")
            if path is not None:
                found.append(read(path, default.config_path or "", default.package or ""))
        return found

    def find(self, name: str) -> Path | None:
        """The file of a config such as `model/resnet18`, in the first folder that has it."""
        paths = [folder / f"{name}.yaml" for folder in self.folders]
        return next((path for path in paths if path.is_file()), None)
