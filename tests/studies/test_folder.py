"""One command at a time in a folder, told in the words of what it holds."""

import pytest

from hotlap.errors import UserInputError
from studies import held


@pytest.mark.parametrize("what", ["study", "full run"])
def test_a_folder_is_one_commands_at_a_time(tmp_path, what):
    notes = []
    with held(tmp_path, notes.append, what):
        with pytest.raises(UserInputError, match=f"leave out resume= to start a new {what}$"):
            with held(tmp_path, notes.append, what):
                pass
    with held(tmp_path, notes.append, what):  # it is let go
        assert not notes
