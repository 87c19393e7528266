"""What came of a job on a script."""


def ok(found):
    """The measurement of one that ended well."""
    assert found.outcome == "ok", f"{found.reason}\n{found.traceback}"
    return found.measurement


def events(found, name):
    return [event for event in found.events if event["event"] == name]
