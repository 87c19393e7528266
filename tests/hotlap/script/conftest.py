"""Jobs on scripts that stand in a folder of the test's own."""

import textwrap

import pytest

from hotlap.job import Job, Window

QUICK = Window(max_s=0.3, min_s=0.1, block_s=0.02, max_warmup_s=0.5)


class Scripts:
    """Runs jobs on scripts in one folder."""

    def __init__(self, runner, folder):
        self.runner = runner
        self.folder = folder
        self.n = 0

    def write(self, text, name="train.py"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def run(self, text="", kind="window", args=(), settings=None, timeout_s=60, **more):
        window, run = more.pop("window", QUICK), more.pop("run", {})
        side = more.pop("side", "both")
        target = more.pop("target", None) or str(self.write(text))
        script = {"target": target, "is_module": False, "args": list(args)}
        script |= {"cwd": str(self.folder), "own": {}, "override": [], **more}
        job = Job("", {}, settings or {}, window, kind=kind, side=side, run=run, script=script)
        self.n += 1
        return self.runner.run(job, self.folder / "jobs" / str(self.n), lambda e: False, timeout_s)

    def facts(self, text="", **more):
        found = self.run(text, kind="probe", **more)
        assert found.outcome == "ok", found.traceback
        return found.events[-1]["facts"]


@pytest.fixture
def scripts(runner, tmp_path):
    return Scripts(runner, tmp_path)
