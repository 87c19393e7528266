import pytest
from omegaconf import OmegaConf

from conf.literal import literal

TEXTS = ["", "plain", "${x}", "${x", r"\${x}", r"\\\${x}${y}", "$x", "???", "${oc.env:HOME}"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_resolves_to_itself(text):
    config = OmegaConf.create({"texts": literal([text]), "deep": {"a": literal(text)}})
    assert OmegaConf.to_container(config, resolve=True) == {"texts": [text], "deep": {"a": text}}
    assert not OmegaConf.missing_keys(config)


@pytest.mark.parametrize("text", TEXTS)
def test_it_survives_a_file(text):
    written = OmegaConf.to_yaml(OmegaConf.create(literal({"a": {"b": [text]}})))
    read = OmegaConf.create(written)
    assert OmegaConf.to_container(read, resolve=True) == {"a": {"b": [text]}}


def test_what_is_no_text_stays_as_it_is():
    values = {"a": None, "b": 1.5, "c": True, "d": {"e": 3}}
    assert literal(values) == values
