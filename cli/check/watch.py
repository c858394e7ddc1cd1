"""`check --watch`: looks at the times of files again and again, and checks those that changed, until somebody interrupts it.

A look asks for one time a file; between two of them passes PAUSE, or twenty times what the look took, so that looking takes at most a
twentieth of one CPU however many files there are.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, TypeVar

from dynamo_webhooks.api.wording import many, printable
from dynamo_webhooks.cli.check.inputs import found, named
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.files import STDIN
from dynamo_webhooks.cli.output import say
from dynamo_webhooks.cli.project.found import NAME
from dynamo_webhooks.cli.project.found import found as project_file

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from dynamo_webhooks.cli.check.outputs import Wish

_T = TypeVar("_T")

PAUSE: Final = 0.5  # seconds
_SHARE: Final = 20
_NAMED: Final = 5  # files in a line


class Look(NamedTuple):
    """The times and sizes of what a run reads: files to check, and files that say how."""

    files: dict[str, tuple[int, int]]
    settings: dict[str, tuple[int, int]]


def agree(arguments: argparse.Namespace) -> None:
    """Raises: UsageError for flags that write, or read what is no file; reports of a project file are left out."""
    if "outputs" in arguments.laid:
        arguments.output = []
    output: list[Wish] = arguments.output
    for flag, given in (
        ("-k", arguments.kustomize),
        ("--helm", arguments.helm),
        ("--cluster", arguments.cluster),
        ("--fix", arguments.fix),
        ("--update-baseline", arguments.update_baseline),
        ("-", STDIN in (*arguments.paths, arguments.files_from)),
    ):
        if given:
            raise UsageError(f"--watch looks at files, and reads them again when they change: leave out {flag}")
    if any(one.form != "text" or one.file for one in output):
        raise UsageError("--watch prints text for people: leave out -o")


def watch(
    laid: Callable[[], argparse.Namespace],
    check: Callable[[argparse.Namespace, frozenset[str] | None], int],
    sleep: Callable[[float], None] = time.sleep,
) -> NoReturn:
    """Checks everything, then what changes; what can't be used of flags and their files is said, and looked at again.

    `laid` gives the flags with what the project file says at that moment. Raises: UsageError for flags that can't be used at the start.
    """
    arguments = laid()
    before = look(arguments)
    _checked(partial(check, arguments, None))
    while True:
        begin = time.monotonic()
        now = look(arguments)
        took = time.monotonic() - begin
        if now != before:
            _tell(before, now)
            only = frozenset(name for name, stamp in now.files.items() if before.files.get(name) != stamp)
            if now.settings != before.settings:
                fresh = _checked(laid)
                if fresh is not None:
                    arguments, after = fresh, look(fresh)
                    # of those known before as they were then, so that a change meanwhile is seen next time
                    now = after._replace(settings={name: now.settings.get(name, stamp) for name, stamp in after.settings.items()})
                    _checked(partial(check, arguments, None))
            elif only:
                _checked(partial(check, arguments, only))
            before = now
            gc.collect()  # which the command switches off for one run
        sleep(max(PAUSE, _SHARE * took))


def look(arguments: argparse.Namespace) -> Look:
    """What there is now; what can't be looked at is left out."""
    with contextlib.redirect_stderr(io.StringIO()):  # what is said of links and charts has been said
        try:
            files = [one for one in found(arguments, named(arguments)) if isinstance(one, str)]
        except UsageError:
            files = []
    settings = (*arguments.old, *arguments.env_file, arguments.facts, arguments.files_from, arguments.baseline, _project(arguments))
    return Look(_stamps(files), _stamps([name for name in settings if name]))


def _project(arguments: argparse.Namespace) -> str:
    """The project file that counts now, which may be another one than at the start; empty where there is none."""
    place = None if arguments.no_project else project_file(() if "paths" in arguments.laid else arguments.paths)
    return os.path.relpath(os.path.join(place.folder, NAME), os.path.realpath(os.curdir)) if place is not None else ""  # noqa: PTH118 - as in found.py


def _stamps(files: list[str]) -> dict[str, tuple[int, int]]:
    found = {}
    for name in files:
        with contextlib.suppress(OSError, ValueError):
            status = os.stat(name)  # noqa: PTH116 - as in sources.py
            found[name] = status.st_mtime_ns, status.st_size
    return found


def _checked(act: Callable[[], _T]) -> _T | None:
    """What an action returns; says what can't be used, and returns None."""
    try:
        return act()
    except UsageError as error:
        say(f"dynamo-webhooks check: {error}")
        return None


def _tell(before: Look, now: Look) -> None:
    for what, names in (
        ("changed", [name for name, stamp in now.files.items() if before.files.get(name, stamp) != stamp]),
        ("new", [name for name in now.files if name not in before.files]),
        ("gone", [name for name in before.files if name not in now.files]),
        ("changed", [name for name, stamp in now.settings.items() if before.settings.get(name) != stamp]),
    ):
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            say(f"\n{many(len(names), 'file')} {what}: {', '.join(map(printable, names[:_NAMED]))}{more}")
