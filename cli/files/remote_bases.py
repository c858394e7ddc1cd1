"""What a kustomization would fetch: resources that are addresses instead of local files. Nothing is rendered here."""

# ruff: noqa: PTH112, PTH113, PTH118, PTH120 - pathlib raises for a name that is too long, and drops the author's ./

import os
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ...api.paths import Path as Field
from ...api.paths import format_path
from ..yaml.errors import InputError
from ..yaml.load import Document, Source, read_text
from .read import load_text

_FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_CONFIGURED: Final = frozenset({"generators", "transformers", "validators"})
_INCLUDED: Final = _CONFIGURED | {"resources", "bases", "components"}
# fields that name files or folders, in kustomizations and in configurations of generators and transformers; in any case, as for kustomize
_LOADED: Final = _INCLUDED | {"crds", "configurations", "path", "paths", "files", "env", "envs", "patchesstrategicmerge"}
# what kustomize takes for the address of a file, or of a repository: with a scheme or a user, or at a host that it knows
_ADDRESS: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://|git::|gh:|[\w.-]+@[\w.-]+[:/]|(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org)[:/]|[^\n]*(?:\.git(?:[/?]|$)|/_git/|\?ref=)",
    re.IGNORECASE,
)
_PASSWORD: Final = re.compile(r"(?<=//)[^/@\s]*@")


class Remote(NamedTuple):
    """A resource that kustomize would fetch, and its position."""

    file: str
    line: int
    column: int
    field: str
    address: str


def is_address(text: str) -> bool:
    """Whether kustomize would fetch this instead of reading a file."""
    return "\n" not in text and bool(_ADDRESS.match(text))


def strip_credentials(address: str) -> str:
    """An address for people: without a user and password."""
    return _PASSWORD.sub("", address)


def first(folder: str) -> Remote | None:
    """The first remote resource of a kustomization and of all that it includes; None if all are local.

    Raises: InputError for a file that can't be read here, such as one with a duplicate key, which kustomize might accept.
    """
    return next(_within(folder, set(), configures=False), None)


def _within(folder: str, seen: set[tuple[str, bool]], *, configures: bool) -> Iterator[Remote]:
    """`configures`: what the folder's kustomization names are generators and transformers, whose own fields may name files."""
    real = (os.path.realpath(folder), configures)
    if real in seen:
        return
    seen.add(real)
    for name in _FILES:
        file = os.path.join(folder, name)
        if os.path.isfile(file):
            yield from _file(file, seen, configures=configures)


def _file(file: str, seen: set[tuple[str, bool]], *, configures: bool) -> Iterator[Remote]:
    """What a kustomization, or the configuration of a generator, names. Raises: InputError."""
    for document in read_text(Source(file, load_text(file))):
        if isinstance(document, InputError):
            raise document
        for field, value in _named(document.data, (), loaded=False):
            yield from _resource(document, field, value, seen, configures=configures)
        for field, value in _inline(document):
            if _is_fetched(file, value):
                yield _remote(document, field, value)


def _resource(document: Document, field: Field, value: str, seen: set[tuple[str, bool]], *, configures: bool) -> Iterator[Remote]:
    file, top = document.source.name, _folded(field[0])
    beside, configured = _beside(file, value), configures or top in _CONFIGURED
    if _is_fetched(file, value):
        yield _remote(document, field, value)
    elif os.path.isdir(beside):
        yield from _within(beside, seen, configures=configured)
    elif configured and top in _INCLUDED and os.path.isfile(beside) and (beside, True) not in seen:
        seen.add((beside, True))
        yield from _file(beside, seen, configures=True)


def _inline(document: Document) -> Iterator[tuple[Field, str]]:
    """The same of configurations of generators that a kustomization holds as texts. Raises: InputError for one that can't be read."""
    data, file = document.data, document.source.name
    for name in [name for name in data if _folded(name) in _CONFIGURED] if isinstance(data, dict) else ():
        texts = data[name] if isinstance(data[name], list) else []
        for index, text in enumerate(texts):
            for one in read_text(Source(file, text)) if isinstance(text, str) else ():
                if isinstance(one, InputError):
                    if not {*"\n:{"}.intersection(text):  # the odd name of a file
                        continue
                    line, column, _ = document.value_position((name, index))
                    raise InputError(f"{format_path((name, index))}: {one.text}", file, line, column)
                yield from (((name, index, *field), value) for field, value in _named(one.data, (), loaded=False))


def _beside(file: str, value: str) -> str:
    return os.path.join(os.path.dirname(file), value)


def _is_fetched(file: str, value: str) -> bool:
    return is_address(value) and ("://" in value or not os.path.isfile(_beside(file, value)))


def _remote(document: Document, field: Field, value: str) -> Remote:
    line, column, _ = document.value_position(field)
    return Remote(document.source.name, line, column, format_path(field), strip_credentials(value))


def _named(data: Any, at: Field, *, loaded: bool) -> Iterator[tuple[Field, str]]:
    """Every text below a field that names files, with its path; a generator's file may be written as KEY=FILE."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _named(value, (*at, key), loaded=_folded(key) in _LOADED)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _named(value, (*at, index), loaded=loaded)
    elif loaded and isinstance(data, str) and "\n" not in data:
        key, equals, file = data.partition("=")
        yield at, file if equals and len(at) > 1 and _folded(at[-2]) == "files" and "/" not in key else data


def _folded(step: str | int) -> str:
    return str(step).casefold()
