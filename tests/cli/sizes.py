"""How much a test takes by day, when people wait for it, and by night."""

import pytest


def by_day_and_night(name: str, day: int, night: int) -> pytest.MarkDecorator:
    """Runs a test with the one value of a parameter in `make test`, and with the other in `make nightly`."""
    return pytest.mark.parametrize(name, [day, pytest.param(night, marks=pytest.mark.nightly)])
