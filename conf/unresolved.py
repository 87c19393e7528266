"""Values that were to be filled in and were not: `???`, and references to nothing."""

from __future__ import annotations

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from conf.fault import Fault
from conf.sources import Sources


def unresolved(config: DictConfig, sources: Sources) -> list[Fault]:
    """The faults of such values; each of them is null afterwards."""
    found = []
    while (broken := _broken(config)) is not None:
        key, why = broken
        found.append(
            sources.fault(
                key,
                what=f"{key} refers to what is not there: {why}",
                right="the name of a key of the config within ${ }",
                cure=f"{key}=<value>",
            )
        )
        OmegaConf.update(config, key, None)
    for key in sorted(OmegaConf.missing_keys(config)):
        found.append(
            sources.fault(
                key,
                what=f"{key} is ???, a value that has to be given",
                right="a value for it",
                cure=f"{key}=<value>",
            )
        )
        OmegaConf.update(config, key, None)
    return found


def _broken(config: DictConfig) -> tuple[str, str] | None:
    """The first key whose reference cannot be resolved, and why."""
    try:
        OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        return str(error.full_key), str(error).splitlines()[0]
    return None
