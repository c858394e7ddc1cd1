"""The fields of a legacy component, which stand in an object of its own or in a graph's services; and its one claim, which differs."""

from __future__ import annotations

from typing import Final

from dynamo_webhooks.cli.legacy.fields import Field, How

_DISCOVERY: Final = "not needed today: components of one graph find each other; describe them as services of the same graph"
_SCALING: Final = "scales nothing today: set scalingAdapter.enabled, and scale the adapter with a HorizontalPodAutoscaler"
_TAG: Final = (
    "names the class that the container ran: set extraPodSpec.mainContainer.command and args to what runs it today, "
    "such as python3 -m dynamo.vllm"
)

COMPONENT: Final = (
    Field("dynamoNamespace", How.NAMESPACE, "follows from the namespace and name of the graph today", "globalDynamoNamespace"),
    Field("dynamoTag", How.DECIDE, _TAG),
    Field("serviceName"),
    Field("replicas"),
    Field("envs"),
    Field("envFromSecret"),
    Field("externalServices", How.GONE, _DISCOVERY),
    Field("annotations"),
    Field("labels"),
    Field("resources"),
    Field("autoscaling", How.GONE, _SCALING),
    Field("ingress"),
    Field("extraPodMetadata"),
    Field("extraPodSpec"),
    Field("livenessProbe"),
    Field("readinessProbe"),
)
_OF_CLAIM: Final = ("create", "size", "storageClass", "volumeAccessMode")
_MADE: Final = "part of the claim, and a component of its own makes none today: make the claim beforehand"
_MOUNT: Final = (
    Field("pvc", How.CLAIM),
    Field("pvc.mountPath", How.CLAIM, "", "volumeMounts[].mountPoint"),
    Field("pvc.mountPoint", How.CLAIM, "", "volumeMounts[].mountPoint"),
)
PVC_OF_SERVICE: Final = (
    *_MOUNT,
    Field("pvc.name", How.CLAIM, "the mount names it, too", "spec.pvcs[].name"),
    *(Field(f"pvc.{name}", How.CLAIM, "", f"spec.pvcs[].{name}") for name in _OF_CLAIM),
)
PVC_ALONE: Final = (
    *_MOUNT,
    Field("pvc.name", How.CLAIM, "the claim must exist beforehand", "volumeMounts[].name"),
    *(Field(f"pvc.{name}", How.DECIDE, _MADE) for name in _OF_CLAIM),
)
