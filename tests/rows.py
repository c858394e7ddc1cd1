"""The rows of a table as subtests of one test: each that fails is reported by itself, and none is a case that costs to be collected."""

import functools
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeAlias

import pytest

Test: TypeAlias = Callable[..., Any]


def run_each(names: str | tuple[str, ...], rows: Iterable[Any], ids: Iterable[str] = ()) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, for rows that may share the fixtures of one test; a table without rows fails.

    Of `tmp_path` each row has a folder of its own.
    """
    values: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) if isinstance(names, tuple) else {names: row} for row in rows]
    # reports travel as UTF-8, and rows may hold halves of characters
    titles: list[dict[str, Any]] = [{"msg": ascii(name)} for name in ids] or [{"row": ascii(row)} for row in values]

    def decorate(test: Test) -> Test:
        parameters = inspect.signature(test).parameters
        fixtures = [each for each in parameters.values() if each.name not in values[0] and each.name != "subtests"]

        def given(subtests: pytest.Subtests, more: dict[str, Any]) -> dict[str, Any]:
            folder = {"tmp_path": Path(mkdtemp(dir=more["tmp_path"]))} if "tmp_path" in more else {}
            return more | folder | ({"subtests": subtests} if "subtests" in parameters else {})  # another table below this one

        @functools.wraps(test)
        def run(subtests: pytest.Subtests, **more: Any) -> None:
            for name, row in zip(titles, values, strict=True):
                with subtests.test(**name):
                    test(**given(subtests, more), **row)

        @functools.wraps(test)
        async def run_async(subtests: pytest.Subtests, **more: Any) -> None:
            for name, row in zip(titles, values, strict=True):
                with subtests.test(**name):
                    await test(**given(subtests, more), **row)

        runner: Any = run_async if inspect.iscoroutinefunction(test) else run
        runner.__signature__ = inspect.Signature([*fixtures, inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)])
        return runner  # type: ignore[no-any-return]

    return decorate
