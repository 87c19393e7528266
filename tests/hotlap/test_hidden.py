"""Nobody learns a password from what is shown or kept."""

import pytest

from hotlap.hidden import hidden, is_hidden

SECRET = [
    ("http://me:pw@host:5000", "http://***@host:5000"),
    ("https://me@host/mlflow/", "https://***@host/mlflow/"),
    ("http://me:p@w@host", "http://***@host"),
    ("postgresql://me:p/w?#@host:5432/db", "postgresql://***@host:5432/db"),
    ("mysql+pymysql://:pw@host/db", "mysql+pymysql://***@host/db"),
    (
        "postgresql://host/db?User=me&password=pw&ssl=1",
        "postgresql://host/db?User=***&password=***&ssl=1",
    ),
    ("API request to http://me:pw@host/api failed", "API request to http://***@host/api failed"),
    ("tracking.uri=http://me:pw@host", "tracking.uri=http://***@host"),
]


@pytest.mark.parametrize(("text", "shown"), SECRET)
def test_what_lets_somebody_in_is_left_out(text, shown):
    assert hidden(text) == shown and is_hidden(shown) and not is_hidden(text)
    assert hidden(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "http://host:5000/a@b",
        "http://[::1]:5000/?page=1",
        "sqlite:////home/me@here/a:b@c/my runs.db",
        "sqlite:///relative@2x.db",
        "file:///a@b",
        "databricks",
        "me:pw@host is no address",
        "",
    ],
)
def test_all_else_is_as_it_was(text):
    assert hidden(text) == text and not is_hidden(text)


def test_a_page_is_opened_without_them():
    assert hidden("http://me:pw@host:5000", login="") == "http://host:5000"
