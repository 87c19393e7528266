"""Checking the objective: its direction, and what it has to know of the full run."""

from __future__ import annotations

from collections.abc import Iterator

from conf.fault import Fault
from conf.schema import TuneConfig
from conf.sources import Sources

DIRECTIONS = {"throughput": "maximize", "run_time": "minimize"}
BETTER = {"throughput": "more samples per second", "run_time": "fewer seconds"}


def faults(config: TuneConfig, sources: Sources) -> Iterator[Fault]:
    """What is wrong with the objective of a config whose names and numbers are right."""
    name, direction = config.objective.name, config.objective.direction
    wanted = DIRECTIONS.get(name, direction)
    if direction != wanted:
        yield sources.fault(
            "objective.direction",
            what=f"the objective {name} is to be {direction}d",
            right=f"{BETTER[name]} are better",
            cure=f"objective.direction={wanted}",
        )
    if name == "run_time" and config.run.epochs is None:
        yield sources.fault(
            "objective.name",
            what="objective=run_time does not know how long the full run is",
            right="run.epochs= takes the full run's times through the data set",
            cure="run.epochs=90",
            key="run.epochs",
        )
