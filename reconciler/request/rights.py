"""What the pods of a profiling Job may do: they run the image of the request's author, who must not gain anything by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.render.discovery import RBAC_GROUP, account_labels, binding
from dynamo_webhooks.reconciler.render.objects import child
from dynamo_webhooks.reconciler.request.names import account_of, output_of

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields

# what profiling on real graphs needs in the request's namespace
_ONLINE: Final = (
    ("nvidia.com", "dynamographdeployments", ("get", "list", "watch", "create", "delete")),
    ("", "pods", ("get", "list")),
    ("", "pods/log", ("get",)),
)


def rights(request: Fields, account: str) -> list[Fields]:
    """The request's own account, and a Role for the account that its Job names: to write its result, and to read itself.

    Only the own account gets what an online search needs: an account that an author names has what others have given to it.
    """
    metadata = request["metadata"]
    name, namespace, own = str(metadata["name"]), str(metadata["namespace"]), account_of(str(metadata["name"]))
    marks = account_labels(own)
    role = child(f"{RBAC_GROUP}/v1", "Role", own, namespace, labels=marks, owner=request)
    role["rules"] = [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [output_of(name)], "verbs": ["get", "patch"]},
        {"apiGroups": ["nvidia.com"], "resources": ["dynamographdeploymentrequests"], "resourceNames": [name], "verbs": ["get"]},
    ]
    mine = account == own
    if mine and (request.get("spec") or {}).get("searchStrategy") == "thorough":
        role["rules"] += [{"apiGroups": [group], "resources": [plural], "verbs": [*verbs]} for group, plural, verbs in _ONLINE]
    bound = child(f"{RBAC_GROUP}/v1", "RoleBinding", own, namespace, labels=marks, owner=request)
    bound |= binding("Role", own, account, namespace)
    return [*([child("v1", "ServiceAccount", own, namespace, labels=marks, owner=request)] if mine else []), role, bound]
