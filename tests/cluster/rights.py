"""Roles and bindings that show how far the API server's authorizer has read, and the questions that find it out."""

from collections.abc import Iterator
from typing import Any, Final

Node = dict[str, Any]
GROUP: Final = "rbac.authorization.k8s.io"
ROOT: Final = f"/apis/{GROUP}/v1"
_NAMESPACED: Final = "namespaces/default/"
# the kind of role -> the folder of its collection, and the verb that it grants
_KINDS: Final = {"Role": (_NAMESPACED, "get"), "ClusterRole": ("", "list")}


def probes(name: str) -> Iterator[tuple[str, Node]]:
    """Yields a role and a binding of each kind, each with the path of its collection below ROOT."""
    common = {"apiVersion": f"{GROUP}/v1", "metadata": {"name": name}}
    for kind, (folder, verb) in _KINDS.items():
        rules = [{"apiGroups": [GROUP], "resources": [name], "verbs": [verb]}]
        yield f"{folder}{kind.lower()}s", {**common, "kind": kind, "rules": rules}
        subjects = [{"apiGroup": GROUP, "kind": "User", "name": name}]
        role = {"apiGroup": GROUP, "kind": kind, "name": name}
        yield f"{folder}{kind.lower()}bindings", {**common, "kind": f"{kind}Binding", "roleRef": role, "subjects": subjects}


def questions(name: str) -> Iterator[Node]:
    """Yields one question, as the spec of a review, for each kind of role: may the user of the probes do what that role alone grants?"""
    for _, verb in _KINDS.values():
        attributes = {"namespace": "default", "group": GROUP, "resource": name, "verb": verb}
        yield {"user": name, "resourceAttributes": attributes}
