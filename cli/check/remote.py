"""What a kustomization would fetch: resources that are addresses instead of local files. Nothing is rendered here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.paths import render
from dynamo_webhooks.cli.files import load_text
from dynamo_webhooks.cli.yaml.errors import InputError
from dynamo_webhooks.cli.yaml.load import Document, Source, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.api.paths import Path as Field

_FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
# fields that name files or folders, in kustomizations and in the configurations of generators and transformers
_LOADED: Final = frozenset(
    {
        *("resources", "bases", "components", "crds", "configurations", "generators", "transformers", "validators"),
        *("path", "paths", "files", "env", "envs", "patchesStrategicMerge"),
    }
)
# what kustomize takes for the address of a file, or of a repository: with a scheme or a user, or at a host that it knows
_ADDRESS: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://|git::|gh:|[\w.-]+@[\w.-]+[:/]|(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org)[:/]|[^\n]*(?:\.git(?:[/?]|$)|/_git/|\?ref=)",
    re.IGNORECASE,
)
_PASSWORD: Final = re.compile(r"(?<=//)[^/@\s]*@")


class Remote(NamedTuple):
    """A resource that would be fetched, and where it stands."""

    file: str
    line: int
    column: int
    field: str
    address: str


def is_address(text: str) -> bool:
    """Whether kustomize would fetch this instead of reading a file."""
    return "\n" not in text and bool(_ADDRESS.match(text))


def shown(address: str) -> str:
    """An address for people: without a user and password."""
    return _PASSWORD.sub("", address)


def first(folder: str) -> Remote | None:
    """The first remote resource of a kustomization and of all that it includes; None where everything is local."""
    return next(_within(folder, set()), None)


def _within(folder: str, seen: set[str]) -> Iterator[Remote]:
    real = os.path.realpath(folder)
    if real in seen:
        return
    seen.add(real)
    for name in _FILES:
        file = os.path.join(folder, name)  # noqa: PTH118 - pathlib would drop the author's ./
        if Path(file).is_file():
            yield from _file(file, seen)


def _file(file: str, seen: set[str]) -> Iterator[Remote]:
    """What a kustomization, or the configuration of a generator, names; one that can't be read is for kustomize to complain about."""
    try:
        text = load_text(file)
    except InputError:
        return
    for document in read(Source(file, text)):
        if isinstance(document, Document):
            for field, value in _named(document.data, (), loaded=False):
                yield from _resource(document, field, value, seen)


def _resource(document: Document, field: Field, value: str, seen: set[str]) -> Iterator[Remote]:
    file = document.source.name
    beside = os.path.join(os.path.dirname(file), value)  # noqa: PTH118, PTH120 - as above
    if is_address(value) and ("://" in value or not Path(beside).is_file()):
        line, column, _ = document.value_position(field)
        yield Remote(file, line, column, render(field), shown(value))
    elif Path(beside).is_dir():
        yield from _within(beside, seen)
    elif field[0] in ("generators", "transformers", "validators") and Path(beside).is_file() and beside not in seen:
        seen.add(beside)
        yield from _file(beside, seen)


def _named(data: Any, at: Field, *, loaded: bool) -> Iterator[tuple[Field, str]]:
    """Every text below a field that names files, with its path; a generator's file may be written as KEY=FILE."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _named(value, (*at, key), loaded=key in _LOADED)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _named(value, (*at, index), loaded=loaded)
    elif loaded and isinstance(data, str) and "\n" not in data:
        key, equals, file = data.partition("=")
        yield at, file if equals and at[-2:-1] == ("files",) and "/" not in key else data
