"""How MLflow behaves while hotlap calls it: no telemetry, no log lines, no minutes of retrying."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator

ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
}
"""MLflow's own defaults retry a dead server for minutes and start a thread that sends telemetry."""

LOGGERS = ("mlflow", "alembic")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Set MLflow's environment and log levels for the time of a call, then put both back.

    What the user has set stays. Putting back matters: the trials' processes inherit our
    environment, and a user's script may use MLflow itself.
    """
    added = {name: text for name, text in ENVIRONMENT.items() if name not in os.environ}
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    os.environ.update(added)
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
