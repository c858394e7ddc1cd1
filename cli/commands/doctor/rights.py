"""Checks the rights of the installation's service accounts: the API server must grant what the roles of its manifests say."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

from ....api.wording import count_of
from ....certs.installation import Installation
from ....kube.errors import ForbiddenError
from ....kube.protocol import Cluster, Node
from ....kube.resources import ACCESS_REVIEWS
from ...installation.parts import InstalledObjects, Key
from . import repairs
from .finding import DoctorFinding, error, info, warning

_MAX_CONCURRENT_REVIEWS: Final = 8
_MAX_NAMED_RIGHTS: Final = 3  # rights that are named in one finding


class Permission(NamedTuple):
    """A permission that a service account needs; without a name for all objects, without a namespace in all of them."""

    verb: str
    group: str
    resource: str  # with its subresource
    name: str
    namespace: str

    def __str__(self) -> str:
        where = f"in namespace {self.namespace}" if self.namespace else "in all namespaces"
        return f"{self.verb} {self.resource}{f'.{self.group}' if self.group else ''}{f' {self.name}' if self.name else ''} {where}"


async def check_permissions(cluster: Cluster, about: Installation, parts: InstalledObjects) -> list[DoctorFinding]:
    """One finding for each binding that doesn't give its account what the role says.

    Costs a request for each binding, and for each right of those that differ from the manifests.
    """
    findings = list(_roles_to_bind(parts))
    free = asyncio.Semaphore(_MAX_CONCURRENT_REVIEWS)

    async def allowed(account: str, right: Permission) -> bool:
        async with free:
            return await _is_allowed(cluster, parts.namespace, account, right)

    try:
        for key, binding in parts.of_kind("RoleBinding", "ClusterRoleBinding"):
            for subject in binding.get("subjects") or ():
                account = str(subject.get("name"))
                needed = _needed(about, parts, key, binding)
                needed = needed[:1] if _as_wanted(parts, key, binding) else needed
                answers = await asyncio.gather(*(allowed(account, right) for right in needed))
                missing = [right for right, answer in zip(needed, answers, strict=True) if not answer]
                findings += _missing(about, parts, key, account, missing) if missing else ()
    except ForbiddenError as failed:
        text = f"can't be created, so the rights of the service accounts are unknown: {failed.message}"
        findings.append(warning("permission", "subjectaccessreviews", text))
    return findings


def _as_wanted(parts: InstalledObjects, key: Key, binding: Node) -> bool:
    """Whether the binding and its role are as in the manifests: then one right shows that the API server follows them."""
    role, live = _role(parts, key, binding), parts.live.get(key)
    if role is None or not live or not (rules := (parts.live.get(role) or {}).get("rules")):
        return False
    same = live.get("roleRef") == binding["roleRef"] and all(each in (live.get("subjects") or ()) for each in binding["subjects"])
    return same and all(rule in rules for rule in parts.wanted[role]["rules"])


def _needed(about: Installation, parts: InstalledObjects, key: Key, binding: Node) -> list[Permission]:
    """The rights that a binding must give, by the wanted role."""
    where = [key[1]]
    if key[0] == "ClusterRoleBinding" and about.allowed and "reconciler" in key[2]:
        where = list(about.allowed)  # such an installation has a Role in each of these namespaces instead
    role = _role(parts, key, binding)
    rules = (parts.wanted[role].get("rules") or ()) if role else ()
    return [
        Permission(verb, group, resource, name, namespace)
        for rule in rules
        for namespace, group, resource, name, verb in product(
            where, rule.get("apiGroups", ()), rule.get("resources", ()), rule.get("resourceNames") or ("",), rule["verbs"]
        )
    ]


def _role(parts: InstalledObjects, key: Key, binding: Node) -> Key | None:
    reference = binding["roleRef"]
    role = (reference["kind"], key[1] if reference["kind"] == "Role" else "", reference["name"])
    return role if role in parts.wanted else None


async def _is_allowed(cluster: Cluster, namespace: str, account: str, right: Permission) -> bool:
    plural, _, part = right.resource.partition("/")
    spec = {
        "user": f"system:serviceaccount:{namespace}:{account}",
        "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
        "resourceAttributes": {
            "verb": right.verb,
            "group": right.group,
            "resource": plural,
            "subresource": part,
            "name": right.name,
            "namespace": right.namespace,
        },
    }
    obj = {"apiVersion": ACCESS_REVIEWS.api_version, "kind": ACCESS_REVIEWS.kind, "metadata": {}, "spec": spec}
    return ((await cluster.create(ACCESS_REVIEWS, obj)).get("status") or {}).get("allowed") is True


def _missing(about: Installation, parts: InstalledObjects, key: Key, account: str, missing: list[Permission]) -> Iterator[DoctorFinding]:
    """Yields why rights are missing: no binding, a binding of something else, no role, or a role without the rules."""
    what, binding = f"{key[0]} {key[2]}", parts.live.get(key)
    may = f"ServiceAccount {account} must be allowed to {', '.join(map(str, missing[:_MAX_NAMED_RIGHTS]))}"
    may += f" and {count_of(len(missing) - _MAX_NAMED_RIGHTS, 'more right')}" if len(missing) > _MAX_NAMED_RIGHTS else ""
    role = _role(parts, key, parts.wanted[key])
    if key[0] == "ClusterRoleBinding" and about.allowed and "reconciler" in key[2]:
        text = f"{may}; namespace.allowed wants a Role and a RoleBinding in each of its namespaces, with the rules of this one's role"
        yield error("rights", what, text)
    elif key not in parts.live:
        yield error("rights", what, f"{may}, and the binding may not be read")
    elif binding is None:
        yield error("rights", what, f"is not there: {may}", parts.restore(key[0], key[2]))
    elif binding.get("roleRef") != parts.wanted[key]["roleRef"]:
        again = parts.restore(key[0], key[2]).rpartition(" | ")[0]
        text = f"roleRef must name {parts.wanted[key]['roleRef']['name']}, and names {binding['roleRef']['name']}: {may}"
        yield error("rights", what, text, f"{again} | kubectl replace --force -f -" if again else "")
    elif not any(_same(subject, account, parts.namespace) for subject in binding.get("subjects") or ()):
        subject = {"kind": "ServiceAccount", "name": account, "namespace": parts.namespace}
        yield error("rights", what, f"subjects must name the account: {may}", _append(key, "subjects", binding, [subject]))
    elif role is not None and parts.is_missing(role):
        yield error("rights", f"{role[0]} {role[2]}", f"is not there: {may}", parts.restore(role[0], role[2]))
    elif role is not None and (live := parts.live.get(role)) is not None:
        lost = [rule for rule in parts.wanted[role].get("rules") or () if rule not in (live.get("rules") or ())]
        text = f"rules must grant what the manifests grant: {may}"
        yield error("rights", f"{role[0]} {role[2]}", text, _append(role, "rules", live, lost) if lost else "")


def _append(key: Key, member: str, obj: Node, values: list[Node]) -> str:
    """Adds to a list of an object."""
    changes: list[Node] = [{"op": "add", "path": f"/{member}/-", "value": value} for value in values]
    if not obj.get(member):
        changes = [{"op": "add", "path": f"/{member}", "value": values}]
    return repairs.patch_all(key[0], key[2], changes, namespace=key[1])


def _same(subject: Node, account: str, namespace: str) -> bool:
    return (subject.get("kind"), subject.get("name"), subject.get("namespace")) == ("ServiceAccount", account, namespace)


def _roles_to_bind(parts: InstalledObjects) -> Iterator[DoctorFinding]:
    """Roles that the reconciler binds in namespaces of graphs, and the accounts themselves."""
    bound = {_role(parts, key, binding) for key, binding in parts.of_kind("RoleBinding", "ClusterRoleBinding")}
    for key, _ in parts.of_kind("ClusterRole", "Role"):
        if key not in bound and parts.is_missing(key):
            text = "is missing: the reconciler binds it in namespaces of graphs, whose pods then lack permissions"
            yield error("rights", f"{key[0]} {key[2]}", text, parts.restore(key[0], key[2]))
    for key, _ in parts.of_kind("ServiceAccount"):
        if parts.is_missing(key):
            yield error("rights", f"ServiceAccount {key[2]}", "is not there: no new pod with it is made", parts.restore(key[0], key[2]))
    if not parts.wanted:
        text = "can't be checked: the installation has names of its own, and its objects aren't known"
        yield info("rights", "service accounts", text)
