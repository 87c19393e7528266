import logging
import os

import pytest

from reports.mlflow_quiet import quiet


def test_the_environment_and_the_log_levels_are_put_back(monkeypatch):
    monkeypatch.delenv("MLFLOW_HTTP_REQUEST_TIMEOUT", raising=False)
    level = logging.getLogger("alembic").level
    with pytest.raises(RuntimeError), quiet():
        assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "5"
        assert logging.getLogger("alembic").level == logging.WARNING
        raise RuntimeError
    assert "MLFLOW_HTTP_REQUEST_TIMEOUT" not in os.environ
    assert logging.getLogger("alembic").level == level


def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "77")
    with quiet():
        assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "77"
    assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "77"
