from dataclasses import asdict

from conf.groups import HERE
from conf.sources import read
from hotlap import Settings


def test_the_default_option_is_pytorchs_own_default():
    file = read(HERE / "settings" / "default.yaml", "settings/default", "")
    assert file.values["settings"] == asdict(Settings())
    assert list(file.values["settings"]) == list(asdict(Settings()))
