"""What a command line names as the workload, as a short key.

The bank writes it into its entries, so that train.py finds those of its workload without asking a
probe: that would build the workload once more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from conf.schema import TuneConfig
from conf.signature import NotFound, signature
from conf.workload import job_of, script_of

DIGITS = 12


def study_key(config: TuneConfig) -> str:
    """The key of what a study is about: a workload, or a script with its arguments and folder."""
    if (script := script_of(config)) is not None:
        return job_key("", {name: script[name] for name in ("target", "args", "cwd")}, ())
    return job_key(*job_of(config), config.import_path)


def job_key(workload: str, args: Mapping[str, Any], import_path: Sequence[str]) -> str:
    """Equal for the same function with the same arguments.

    The same function is the one in the same file: two projects may both have a `my_job.make`. Where
    the source does not tell the file, the folders in which it is looked for count.

    Args:
        workload: The dotted path of the function.
        args: Its keyword arguments.
        import_path: Folders that go first on the worker's sys.path.
    """
    try:
        where = signature(workload, import_path).where.rpartition(", line ")[0]
    except NotFound:
        where = ""
    named = [workload, dict(args), where or list(import_path)]
    text = json.dumps(named, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
