"""What a command line names as the workload, as a short key.

The bank writes it into its entries, so that train.py finds those of its workload without asking a
probe: that would build the workload once more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from conf.signature import NotFound, signature

DIGITS = 12


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
