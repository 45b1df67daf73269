"""What the scripts of this folder compare with."""

import gitlab


def equal(what, got, want):
    assert got == want, f"{what}: got {got!r}, want {want!r}"


def refused(what, status, do, *args, **kwargs):
    try:
        do(*args, **kwargs)
    except gitlab.exceptions.GitlabError as e:
        equal(what, e.response_code, status)
        return str(e)
    raise AssertionError(f"{what}: was not refused")
