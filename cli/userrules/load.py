"""Reads the policy files of `rules-from`. A repository may be a stranger's: files lie in the project's folder, and nothing is fetched."""

# ruff: noqa: PTH113, PTH202 - pathlib takes longer to import than a small file takes to check

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from ...admission.userrules.policy import Binding, Policy, PolicyError
from ...admission.userrules.read import is_binding, is_policy, name_of, read_binding, read_policy
from ...api.paths import Path, format_path
from ...api.wording import shorten
from ..console.exits import UsageError
from ..files.find import find_files
from ..files.read import is_within, load_text
from ..objects.manifest import unfold_list
from ..yaml.errors import InputError
from ..yaml.load import Document, Source, read_text

LONGEST: Final = 2**20  # bytes of one file
MOST: Final = 200  # files, and policies
CASES: Final = (".cases.yaml", ".cases.yml")  # what `policy test` reads


class UserRules(NamedTuple):
    """The policies of a project, and the other objects beside them: parameters and namespaces."""

    policies: tuple[Policy, ...] = ()
    objects: tuple[dict[str, Any], ...] = ()
    documents: tuple[dict[str, Any], ...] = ()  # all of these, and the bindings, as written


def load_user_rules(paths: Sequence[str], folder: str) -> UserRules:
    """Reads files and folders, all of which must lie in `folder`.

    Raises: UsageError, one sentence with file, line and column, for the first thing that can't be used.
    """
    policies: dict[str, Document] = {}
    bindings: list[Binding] = []
    bound: list[tuple[Binding, Document]] = []
    objects: list[dict[str, Any]] = []
    for document in _documents(paths, folder):
        data = document.data
        try:
            if is_policy(data):
                name = name_of(data)
                if name in policies:
                    text = f"must be the only policy called {name}; the other one is {_at(policies[name], ('metadata', 'name'))}"
                    raise PolicyError(("metadata", "name"), text)  # noqa: TRY301 - one place words all errors
                policies[name] = document
            elif is_binding(data):
                bindings.append(binding := read_binding(data))
                bound.append((binding, document))
            elif isinstance(data, dict):
                objects.append(data)
        except PolicyError as error:
            raise _placed(error, document) from None
    for binding, document in bound:
        if binding.policy not in policies:
            wrong = PolicyError(("spec", "policyName"), f"must be the name of a policy in rules-from, got {binding.policy}")
            raise _placed(wrong, document)
    if len(policies) > MOST:
        raise UsageError(f"rules-from must hold at most {MOST} policies, got {len(policies)}")
    documents = (*(one.data for one in policies.values()), *(one.data for _, one in bound), *objects)
    return UserRules(tuple(_policy(document, bindings) for document in policies.values()), tuple(objects), documents)


def _policy(document: Document, bindings: list[Binding]) -> Policy:
    try:
        return read_policy(document.data, bindings, document.source.name)
    except PolicyError as error:
        raise _placed(error, document) from None


def _documents(paths: Sequence[str], folder: str) -> Iterator[Document]:
    files = [one for one in find_files(paths) if isinstance(one, InputError) or not one.endswith(CASES)]
    if len(files) > MOST:
        raise UsageError(f"rules-from must hold at most {MOST} files, got {len(files)}")
    for file in files:
        if isinstance(file, InputError):
            raise UsageError(f"rules-from: {file}")
        if not is_within(os.path.realpath(file), folder):
            raise UsageError(f"{file}: must lie in the folder of the project file, and is a link out of it")
        if os.path.isfile(file) and (size := os.path.getsize(file)) > LONGEST:
            raise UsageError(f"{file}: must be at most {LONGEST // 2**20} MiB long, got {size} bytes")
        try:
            source = Source(file, load_text(file))
        except InputError as error:
            raise UsageError(f"rules-from: {error}") from None
        for document in read_text(source):
            if isinstance(document, InputError):
                raise UsageError(str(document))
            yield from unfold_list(document)


def _placed(error: PolicyError, document: Document) -> UsageError:
    field = shorten(format_path(error.path), 200)
    return UsageError(f"{_at(document, error.path, error.line, error.column)}: {field}: {shorten(error.text, 1_000)}")


def _at(document: Document, path: Path, line: int = 0, column: int = 0) -> str:
    """File, line and column of a field, or of a place in its text, which is looked for in the lines where it can be."""
    position = document.value_position(path)
    place = f"{document.source.name}:{position.line}:{position.column}"
    value = document.data
    for step in path if line else ():
        value = value[step]
    if not line or not isinstance(value, str):
        return place
    wanted = (value.split("\n")[line - 1 : line] or [""])[0]
    lines = document.source.lines
    for number in (*((position.line,) if line == 1 else ()), position.line + line):
        begin = lines[number - 1].find(wanted.strip()) if wanted.strip() and number <= len(lines) else -1
        if begin >= 0:
            return f"{document.source.name}:{number}:{begin + max(column - (len(wanted) - len(wanted.lstrip())), 1)}"
    return place
