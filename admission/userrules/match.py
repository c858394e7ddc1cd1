"""Which writes a policy is about: rules of resources and operations, and selectors of labels, as an API server matches them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from ...api.kinds import BY_NAME, GROUP, KINDS
from ...policies.review import CREATE, DELETE, UPDATE

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"  # the label that every namespace has
_ANY: Final = "*"


class Requirement(NamedTuple):
    """One requirement of a selector; `operator` is In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: frozenset[str]

    def holds(self, labels: Mapping[str, Any], *, whole: bool) -> bool | None:
        """Whether labels meet it; None where they are not all known (`whole` False) and this one is not."""
        if self.key not in labels:
            return self.operator in ("NotIn", "DoesNotExist") if whole else None
        match self.operator:
            case "In":
                return labels[self.key] in self.values
            case "NotIn":
                return labels[self.key] not in self.values
            case _:
                return self.operator == "Exists"


class Selector(NamedTuple):
    """Requirements of labels, all of which must hold; none selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def selects(self, labels: Mapping[str, Any], *, whole: bool = True) -> bool | None:
        """Whether it selects what has these labels; None where that depends on labels that are not known."""
        found = [one.holds(labels, whole=whole) for one in self.requirements]
        return False if False in found else None if None in found else True


EVERYTHING: Final = Selector()


class ResourceRule(NamedTuple):
    """One entry of `resourceRules`."""

    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[str, ...]
    operations: frozenset[str]
    names: frozenset[str]
    scope: str

    def covers(self, plural: str, version: str, operation: str, name: str) -> bool:
        """Whether it is about a write; all our kinds live in namespaces."""
        return (
            not self.groups.isdisjoint((_ANY, GROUP))
            and not self.versions.isdisjoint((_ANY, version))
            and not self.operations.isdisjoint((_ANY, operation))
            and any(one in (_ANY, "*/*", plural, f"{plural}/*") for one in self.resources)
            and (not self.names or name in self.names)
            and self.scope != "Cluster"
        )


class Asked(NamedTuple):
    """What matching looks at of a write."""

    kind: str
    version: str
    operation: str
    name: str
    namespace: str
    labels: tuple[Mapping[str, Any], ...]  # of the object and the old object, as far as there are
    namespace_labels: Mapping[str, Any] | None  # None where they are not known


class Match(NamedTuple):
    """What a policy or a binding is about; no rules mean everything."""

    rules: tuple[ResourceRule, ...] = ()
    excluded: tuple[ResourceRule, ...] = ()
    equivalent: bool = True
    namespaces: Selector = EVERYTHING
    objects: Selector = EVERYTHING

    def version_of(self, asked: Asked) -> str:
        """The version in which the object is judged; empty where the resource rules are not about it."""
        if self._found(self.excluded, asked):
            return ""
        return self._found(self.rules, asked) if self.rules else asked.version

    def selects(self, asked: Asked) -> bool | None:
        """Whether its selectors take the object and its namespace; None where the namespace's labels are not known."""
        if self.objects.requirements and not any(self.objects.selects(labels) for labels in asked.labels):
            return False
        known = {NAMESPACE_NAME: asked.namespace} if asked.namespace else {}
        labels = known if asked.namespace_labels is None else {**asked.namespace_labels, **known}
        return self.namespaces.selects(labels, whole=asked.namespace_labels is not None and bool(asked.namespace))

    def places(self) -> Iterator[str]:
        """The `Kind/version`s that it may be about."""
        for kind in KINDS:
            for version in kind.versions:
                asked = ((one, op, name) for one in self.rules for op in _OPS for name in one.names or ("",))
                if not self.rules or any(one.covers(kind.plural, version.name, op, name) for one, op, name in asked):
                    yield f"{kind.name}/{version.name}"

    def operations(self) -> frozenset[str]:
        """The operations that it may be about."""
        return frozenset(op for op in _OPS if not self.rules or any(not one.operations.isdisjoint((_ANY, op)) for one in self.rules))

    def _found(self, rules: tuple[ResourceRule, ...], asked: Asked) -> str:
        kind = BY_NAME[asked.kind]
        others = (one.name for one in kind.versions if one.name != asked.version) if self.equivalent else ()
        versions = (asked.version, *others)
        covered = (one for one in versions if any(rule.covers(kind.plural, one, asked.operation, asked.name) for rule in rules))
        return next(covered, "")


_OPS: Final = (CREATE, UPDATE, DELETE)
