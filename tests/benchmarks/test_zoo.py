"""The zoo's studies: of what tune.py prints the report is shown, without where it lies."""

import pytest

from benchmarks.machine import Unmeasured
from benchmarks.zoo import MODELS, report
from conf.groups import options


def test_each_workload_of_the_zoo_has_a_study():
    assert sorted(MODELS) == sorted(options("model"))


def test_the_report_begins_with_the_models_name_and_ends_before_the_advice():
    said = "gpt_small\n  looked at\n\ngpt_small   \n\n a table  \n\nfull run:\n  train.py x\n"
    assert report(said, "gpt_small") == "gpt_small\n\n a table"


def test_a_study_without_a_report_is_no_row():
    with pytest.raises(Unmeasured, match="killed"):
        report("trial 1  ok\nkilled\n", "gpt_small")
