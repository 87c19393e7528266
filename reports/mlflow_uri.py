"""Where MLflow keeps the runs: a server, or an SQLite file with its artifacts beside it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote

URI_VARIABLE = "MLFLOW_TRACKING_URI"
SQLITE = "sqlite:///"


def tracking_uri(database: Path, configured: str | None = None) -> str:
    """The environment's MLFLOW_TRACKING_URI, else the `configured` one, else the SQLite file.

    A relative SQLite path is made absolute: the command that is printed must work in any folder.
    """
    uri = os.environ.get(URI_VARIABLE) or configured
    return from_anywhere(uri) if uri else SQLITE + _in_url(database.resolve())


def from_anywhere(uri: str) -> str:
    """The same place, whatever the current folder is later: an SQLite path is made absolute."""
    path = uri.removeprefix(SQLITE)
    if path == uri or path.startswith("/"):
        return uri
    return f"{SQLITE}{_in_url(Path.cwd())}/{path}"


def artifacts_beside(uri: str) -> str | None:
    """The URI of the folder beside an SQLite file; None where a server chooses its own."""
    file = _file(uri)
    return None if file is None else (file.parent / "mlartifacts").as_uri()


def is_writable(uri: str) -> bool:
    """Whether `uri` is that of an SQLite file which is there and can be written."""
    file = _file(uri)
    return (
        file is not None
        and file.is_file()
        and all(os.access(p, os.W_OK) for p in (file, file.parent))
    )


def is_server(uri: str) -> bool:
    """Whether `uri` is that of a tracking server."""
    return uri.startswith(("http://", "https://"))


def _file(uri: str) -> Path | None:
    if not uri.startswith(SQLITE):
        return None
    return Path(unquote(uri.removeprefix(SQLITE).partition("?")[0]))


def _in_url(path: Path) -> str:
    """The path as SQLAlchemy reads it back: a `?` would begin the query, a %41 be an A.

    No other character is escaped: MLflow makes the folders of the path as they stand in the URL.
    """
    return re.sub(r"\?|%(?=[0-9A-Fa-f]{2})", lambda found: quote(found[0]), str(path))
