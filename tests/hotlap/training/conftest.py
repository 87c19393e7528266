"""Scripts on a virtual clock."""

import pytest

from tests.hotlap.training.virtual_script import Script


@pytest.fixture
def script():
    """A script on a virtual clock."""
    return Script()
