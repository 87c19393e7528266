"""Hidden: addresses as they may be shown and kept, without user and password.

No torch here: the tuner uses this.
"""

from __future__ import annotations

import re

STARS = "***"
"""Stands where a user, a password or both stood."""

_URL = re.compile(r"([a-z][\w+.-]*)://\S+", re.IGNORECASE)
_OF_SERVER = re.compile(r"(?<=://)[^/?#]*@")
_OF_DATABASE = re.compile(r"(?<=://)[^:/]*(:[^@]*)?@")
"""As SQLAlchemy takes an address apart: a password may hold all but an @."""
_IN_QUERY = re.compile(r"(?<=[?&])(user|password|passwd|pwd|odbc_connect)=[^&]*", re.IGNORECASE)


def hidden(text: str, login: str = f"{STARS}@") -> str:
    """`text` with every address in it as it may be shown.

    Args:
        text: An address, or a sentence that may hold some.
        login: What takes the place of user and password before the host.
    """
    return _URL.sub(lambda found: _without(found[0], found[1], login), text)


def is_hidden(address: str) -> bool:
    """Whether this is what `hidden` has left of an address: nobody is let in with it."""
    return f"://{STARS}@" in address or f"={STARS}" in address


def _without(address: str, scheme: str, login: str) -> str:
    of_it = _OF_SERVER if scheme.lower() in ("http", "https") else _OF_DATABASE
    return _IN_QUERY.sub(rf"\1={STARS}", of_it.sub(login, address, count=1))
