"""The line that says how far a long run is: late, on terminals only, and gone at the end."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest

from dynamo_webhooks.cli.check.progress import PATIENCE, over


class Terminal(StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def _clock(step: float) -> Callable[[], float]:
    times = iter(range(1_000_000))
    return lambda: next(times) * step


def test_a_long_run_shows_how_far_it_is_and_erases_it() -> None:
    out = Terminal()
    assert list(over("abcd", 4, stream=out, clock=_clock(PATIENCE / 2))) == list("abcd")
    assert out.getvalue() == "\r\033[K2 of 4 files\r\033[K3 of 4 files\r\033[K4 of 4 files\r\033[K"


def test_a_short_run_shows_nothing() -> None:
    out = Terminal()
    assert list(over("abcd", 4, stream=out, clock=_clock(PATIENCE / 10))) == list("abcd")
    assert out.getvalue() == ""


def test_it_does_not_write_for_every_file() -> None:
    out = Terminal()
    for _ in over(range(10_000), 10_000, stream=out, clock=_clock(0.001)):
        pass
    assert out.getvalue().count("files") == 90  # ten a second, of which the first is silent


@pytest.mark.parametrize(("stream", "quiet"), [(StringIO(), False), (Terminal(), True)])
def test_it_is_silent_where_nobody_looks(stream: StringIO, *, quiet: bool) -> None:
    assert list(over("ab", 2, quiet=quiet, stream=stream, clock=_clock(100))) == ["a", "b"]
    assert stream.getvalue() == ""


def test_an_interrupted_run_leaves_a_clean_line() -> None:
    out = Terminal()
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the loop is what is interrupted
        running = over("abcd", 4, stream=out, clock=_clock(PATIENCE))
        for one in running:
            if one == "c":
                running.close()
                raise KeyboardInterrupt
    assert out.getvalue().endswith("3 of 4 files\r\033[K")
