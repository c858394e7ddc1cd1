"""Deployments of operators as installations have them, ours from our own manifests."""

import copy
import json
from pathlib import Path
from typing import Any, Final

import yaml

from dynamo_webhooks.kube.protocol import Cluster
from dynamo_webhooks.kube.resources import CONFIG_MAPS, DEPLOYMENTS

Node = dict[str, Any]
BASE: Final = Path(__file__).resolve().parents[3] / "manifests" / "base"
OURS: Final[Node] = yaml.safe_load((BASE / "server.yaml").read_text())
CONFIGURATION: Final[Node] = yaml.safe_load((BASE / "config.yaml").read_text())


def deployment(name: str, labels: dict[str, str], args: list[str], **more: Any) -> Node:
    """A Deployment of one container."""
    container = {"name": "manager", "args": args, **{key: more[key] for key in more if key != "pod"}}
    pod = {"containers": [container], **more.get("pod", {})}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"template": {"metadata": {"labels": labels}, "spec": pod}},
    }


GO: Final = deployment(
    "platform-controller-manager",
    {"control-plane": "controller-manager"},
    ["--config=/etc/dynamo-operator/config.yaml", "--operator-version=1.3.0"],
    env=[
        {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "POD_SERVICE_ACCOUNT", "valueFrom": {"fieldRef": {"fieldPath": "spec.serviceAccountName"}}},
        {"name": "DYN_OPERATOR_ALLOW_GMS_SNAPSHOT", "value": "1"},
    ],
    volumeMounts=[{"name": "config", "mountPath": "/etc/dynamo-operator"}],
    pod={
        "serviceAccountName": "platform-controller-manager",
        "volumes": [{"name": "config", "configMap": {"name": "dynamo-webhooks-config"}}],
    },
)


def configuration(**changes: Any) -> Node:
    """The configuration of our manifests with other sections."""
    return {**copy.deepcopy(CONFIGURATION), **changes}


async def install(cluster: Cluster, operator: Node, config: Node, namespace: str = "dynamo-system") -> None:
    """Creates the Deployment and its ConfigMap."""
    placed = copy.deepcopy(operator)
    placed["metadata"]["namespace"] = namespace
    await cluster.create(DEPLOYMENTS, placed)
    metadata = {"name": "dynamo-webhooks-config", "namespace": namespace}
    data = {"config.yaml": json.dumps(config)}
    await cluster.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
