"""Prints the ValidatingAdmissionPolicies of a cluster that are about Dynamo's kinds, with their bindings and parameters, as YAML."""

import argparse
import asyncio
from typing import Any, Final

from ....admission.userrules.policy import BINDING, POLICY, POLICY_GROUP, PolicyError
from ....admission.userrules.read import read_policy
from ....api.kinds import GROUP
from ....api.paths import format_path
from ....kube.errors import ApiError
from ....kube.protocol import Cluster, Node
from ....kube.resources import CONFIG_MAPS, Resource
from ...console.exits import NOTHING_FOUND, OK, UNREACHABLE
from ...console.output import write_stderr, write_stdout
from ...installation.connection import connect_cluster
from ...rewrite.emit import emit_yaml

_POLICIES: Final = Resource(POLICY_GROUP, "v1", "validatingadmissionpolicies", POLICY, namespaced=False)
_BINDINGS: Final = Resource(POLICY_GROUP, "v1", "validatingadmissionpolicybindings", BINDING, namespaced=False)
_NAMES: Final = ("name", "labels", "annotations", "namespace")


def print_policies(arguments: argparse.Namespace) -> int:
    """Reads the cluster and changes nothing there; 3 without such a policy, 6 when it can't be reached."""
    try:
        found = asyncio.run(_asked(arguments))
    except ApiError as error:
        write_stderr(f"the cluster can't be asked: {error.message}")
        return UNREACHABLE
    write_stdout("".join(f"---\n{emit_yaml(one)}" for one in found))
    if not found:
        write_stderr("no ValidatingAdmissionPolicy of the cluster is about Dynamo's kinds")
    return OK if found else NOTHING_FOUND


async def _asked(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    async with connect_cluster("dynamo-webhooks-policy", arguments.kubeconfig, arguments.context) as cluster:
        return await collect(cluster)


async def collect(cluster: Cluster) -> list[dict[str, Any]]:
    """The policies, their bindings, and their parameters where these are ConfigMaps. Raises: ApiError."""
    policies = {one["metadata"]["name"]: one for one in (await cluster.list(_POLICIES)).items if _is_about_ours(one)}
    bindings = [one for one in (await cluster.list(_BINDINGS)).items if one["spec"].get("policyName") in policies]
    found = [*policies.values(), *bindings]
    for one in bindings:
        param, ref = policies[one["spec"]["policyName"]]["spec"].get("paramKind"), one["spec"].get("paramRef") or {}
        if param == {"apiVersion": "v1", "kind": "ConfigMap"} and ref.get("name") and ref.get("namespace"):
            read = await cluster.get(CONFIG_MAPS, ref["name"], ref["namespace"])
            found += [read] if read is not None else []
        elif ref:
            write_stderr(f"{one['metadata']['name']}: add the parameter that it names to rules-from yourself")
    return [_plain(one) for one in found]


def _is_about_ours(policy: Node) -> bool:
    """Whether a policy may be about one of Dynamo's kinds; one that can't be read here is reported, and left out."""
    try:
        return bool(read_policy(policy, (), "").rule.where)
    except PolicyError as error:
        rules = (policy["spec"].get("matchConstraints") or {}).get("resourceRules") or ()
        if any({"*", GROUP} & {*one.get("apiGroups", ())} for one in rules):
            write_stderr(f"{policy['metadata']['name']}: is left out, since it can't be read here: {format_path(error.path)}: {error.text}")
        return False


def _plain(obj: Node) -> dict[str, Any]:
    """The object as a user would write it."""
    kept = ("apiVersion", "kind", "spec", "data")
    metadata = {key: value for key, value in obj["metadata"].items() if key in _NAMES}
    return {**{key: obj[key] for key in kept[:2] if key in obj}, "metadata": metadata, **{key: obj[key] for key in kept[2:] if key in obj}}
