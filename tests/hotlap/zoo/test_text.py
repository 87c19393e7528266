import pickle

import pytest

from hotlap.errors import UserInputError
from hotlap.zoo.text import Pieces, standard_library, text


def test_default_is_a_megabyte_or_more_of_real_source():
    dataset = text()
    assert len(dataset) * 128 > 1_000_000
    file = standard_library(8_000_000)
    assert b"Abstract Base Classes" in file.read_bytes()
    assert dataset.file == file


def test_a_piece_comes_with_the_tokens_that_follow(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"abcdefghij")
    dataset = text(str(tmp_path / "x.txt"), context=4)
    assert len(dataset) == 2
    pieces = [tuple(bytes(part.tolist()) for part in dataset[i]) for i in range(2)]
    assert pieces == [(b"abcd", b"bcde"), (b"efgh", b"fghi")]
    with pytest.raises(IndexError):
        dataset[2]


def test_no_more_than_asked_is_taken(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"a" * 1000)
    assert len(text(str(tmp_path / "x.txt"), n_bytes=101, context=10)) == 10
    assert len(text(str(tmp_path / "x.txt"), n_bytes=None, context=10)) == 99


def test_a_spawned_worker_is_not_sent_the_text(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"a" * 1_000_000)
    dataset = Pieces(tmp_path / "x.txt", 1_000_000, 8)
    before = dataset[3]
    sent = pickle.dumps(dataset)
    assert len(sent) < 2000
    assert pickle.loads(sent)[3][0].equal(before[0])


def test_an_absent_file_says_what_to_type():
    with pytest.raises(UserInputError, match=r"data.path is absent.txt.*type data.path=/path"):
        text("absent.txt")


def test_a_text_that_is_too_short_says_so(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"a" * 64)
    with pytest.raises(UserInputError, match=r"64 bytes, too few .* type model.context=8"):
        text(str(tmp_path / "x.txt"), context=64)
