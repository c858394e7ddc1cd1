"""Warns about policies that enforce nothing: misspelt kinds, groups, versions and resources, and engines that aren't read."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ...admission.userrules.policy import BINDING, CHECK, CHECK_VERSION, POLICY, POLICY_GROUP
from ...admission.userrules.read import is_binding, is_policy
from ...api.kinds import GROUP, KINDS
from ...api.paths import Path, format_path
from ...api.wording import escape_unprintable, shorten
from ..console.nearest import MIN_SURE_RATIO, find_nearest
from ..yaml.load import Document

_ANY: Final = "*"
_READ: Final = {POLICY: f"{POLICY_GROUP}/v1", BINDING: f"{POLICY_GROUP}/v1", CHECK: CHECK_VERSION}
_GROUPS: Final = frozenset(version.partition("/")[0] for version in _READ.values())
_MAX_NAME_CHARACTERS: Final = 80
# groups of other policy engines; of the API server's own group, all kinds but those above
_ENGINES: Final = ("kyverno.io", "gatekeeper.sh", "kubewarden.io", "policy.open-cluster-management.io", POLICY_GROUP)
_MUTATING: Final = "Mutating"  # the beginning of kinds of that group that look like ours
_PLURALS: Final = {kind.plural: frozenset(version.name for version in kind.versions) for kind in KINDS}
_NAMES: Final = {**{kind.name: kind.plural for kind in KINDS}, **{plural: plural for plural in _PLURALS}}


def list_idle(documents: Iterable[Document]) -> list[str]:
    """A sentence for each mistake, behind its file, line and column."""
    mistakes = [(document, *mistake) for document in documents if isinstance(document.data, dict) for mistake in _mistakes(document.data)]
    return [escape_unprintable(f"{_format_position(document, path)}: {format_path(path)}: {text}") for document, path, text in mistakes]


def _format_position(document: Document, path: Path) -> str:
    line, column, _ = document.value_position(path)
    return f"{document.source.name}:{line}:{column}"


def _mistakes(data: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    if is_policy(data):
        yield from _of_match(data, ("spec", "matchConstraints", "resourceRules"))
    elif is_binding(data):
        yield from _of_match(data, ("spec", "matchResources", "resourceRules"))
    else:
        yield from _of_kind(str(data.get("kind") or ""), str(data.get("apiVersion") or ""))


def _of_kind(kind: str, version: str) -> Iterator[tuple[Path, str]]:
    """A document that isn't a policy, though it seems to be meant as one."""
    group, name = version.partition("/")[0], shorten(kind, _MAX_NAME_CHARACTERS)
    if kind in _READ:
        yield ("apiVersion",), f"{name} is read only with {_READ[kind]}, got {shorten(version, _MAX_NAME_CHARACTERS)}: it enforces nothing"
    elif group in _GROUPS and not kind.startswith(_MUTATING) and (meant := find_nearest(kind, _READ, MIN_SURE_RATIO)):
        yield ("kind",), f"{name} is not read, and enforces nothing; did you mean {meant}?"
    elif any(group == engine or group.endswith(f".{engine}") for engine in _ENGINES):
        yield ("kind",), f"{name} of {shorten(group, _MAX_NAME_CHARACTERS)} is not read, and enforces nothing here"


def _of_match(data: dict[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    listed: Any = data
    for step in path:
        listed = listed.get(step) if isinstance(listed, dict) else None
    for index, rule in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(rule, dict):
            yield from _of_rule(rule, (*path, index))


def _of_rule(rule: dict[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    groups, versions, resources = (_texts(rule.get(name)) for name in ("apiGroups", "apiVersions", "resources"))
    if not {_ANY, GROUP}.intersection(groups):
        for index, group in enumerate(groups):
            if find_nearest(group, [GROUP], MIN_SURE_RATIO):
                yield (*path, "apiGroups", index), f'"{shorten(group, _MAX_NAME_CHARACTERS)}" has no Dynamo kind; did you mean {GROUP}?'
        return
    about = {plural for resource in resources for plural in _covered(resource)}
    known = frozenset(version for plural in about or _PLURALS for version in _PLURALS[plural])
    for index, resource in enumerate(resources):
        name = resource.partition("/")[0]
        if (
            _covered(resource)
            or (about and not find_nearest(name, _NAMES, MIN_SURE_RATIO))
            or (_ANY in groups and not find_nearest(name, _NAMES, MIN_SURE_RATIO))
        ):
            continue
        meant = find_nearest(name, _NAMES)
        more = f"; did you mean {_NAMES[meant]}?" if meant else ""
        yield (*path, "resources", index), f'no Dynamo kind has the resource "{shorten(name, _MAX_NAME_CHARACTERS)}"{more}'
    for index, version in enumerate(versions):
        if version != _ANY and version not in known and (GROUP in groups or not known.intersection(versions)):
            message = f'no Dynamo kind that the policy is about has the version "{shorten(version, _MAX_NAME_CHARACTERS)}"'
            meant = find_nearest(version, sorted(known))
            yield (
                (*path, "apiVersions", index),
                message + (f"; did you mean {meant}?" if meant else f": it must be {' or '.join(sorted(known))}"),
            )


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _covered(resource: str) -> Iterable[str]:
    """The resources of Dynamo kinds that an entry means, with or without subresources."""
    name = resource.partition("/")[0]
    return _PLURALS if name == _ANY else (name,) if name in _PLURALS else ()
