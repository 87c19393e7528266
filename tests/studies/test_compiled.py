"""What is compiled once is found by all later processes here; the full run may stand elsewhere."""

from pathlib import Path

import pytest
from simulated import Watching

from hotlap.job import Job, Window
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from objectives import Throughput
from runners.protocol import Run
from studies import Lab
from studies.compiled import Compiled

COMPILED, EAGER = Settings(compile_mode="default"), Settings()


class CompilesOnce:
    """A runner whose first trial with a compile mode takes 80 s to compile, later ones 5 s."""

    def __init__(self):
        self._seen = set()

    def clock(self):
        return 0.0

    def run(self, job, folder, watch, timeout_s, within_s=None):
        mode = job.settings["compile_mode"]
        compile_s = 0.0 if mode == "none" else 5.0 if mode in self._seen else 80.0
        self._seen.add(mode)
        return Run("ok", Measurement((), compile_s=compile_s))

    def close(self):
        pass


def test_every_trial_says_what_compilation_costs_where_nothing_was_compiled(tmp_path: Path):
    job = Job("simulated.workload", window=Window())
    lab = Lab(CompilesOnce(), job, tmp_path, Throughput(), Watching())
    kinds = [("search", COMPILED), ("confirm", EAGER), ("confirm", COMPILED)]
    trials = [lab.measure(kind, settings, 10) for kind, settings in kinds]
    assert [trial.run.measurement.compile_s for trial in trials] == [80.0, 0.0, 80.0]


@pytest.mark.parametrize(("mode", "compile_s"), [("default", 80.0), ("max-autotune", 3.0)])
def test_an_earlier_sessions_compilation_counts_for_its_own_mode(mode, compile_s):
    compiled = Compiled()
    compiled.learn("default", 80.0)
    compiled.learn("default", 5.0)
    compiled.learn("none", 9.0)  # cuDNN's choice of algorithms, say: it is made in each process
    settings = Settings(compile_mode=mode)
    assert compiled.from_nothing(settings, Measurement((), compile_s=3.0)).compile_s == compile_s
    assert compiled.from_nothing(EAGER, Measurement((), compile_s=3.0)).compile_s == 3.0
