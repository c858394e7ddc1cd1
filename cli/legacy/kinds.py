"""The kinds of the first releases: every documented field, and its current equivalent."""

from __future__ import annotations

from typing import Final

from dynamo_webhooks.cli.legacy.fields import Field, How, LegacyKind

_BUILD: Final = "a setting of image builds, which are made outside the cluster"
_PLACED: Final = "set by the API server on the new object"
_APPLIED: Final = "a copy of the old object; kubectl writes a new one"
_SAME: Final = tuple(Field(name) for name in ("apiVersion", "kind", "metadata.name", "metadata.namespace"))
_METADATA: Final = (
    *(Field(f"metadata.{name}", How.GONE, _PLACED) for name in ("uid", "resourceVersion", "generation", "creationTimestamp")),
    *(Field(f"metadata.{name}", How.GONE, _PLACED) for name in ("selfLink", "managedFields", "deletionTimestamp")),
    Field("metadata.deletionGracePeriodSeconds", How.GONE, _PLACED),
    Field("metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]", How.GONE, _APPLIED),
    Field("metadata.finalizers", How.GONE, "set by the old operator; nothing would remove it"),
    Field("metadata.ownerReferences", How.GONE, "names an old object, with which this one would be deleted"),
)
_STATUS: Final = Field("status", How.GONE, "written by the operator")

_IMAGE: Final = "names a build of the old operator: build and push the image, and set extraPodSpec.mainContainer.image of each component"
_REFERENCE: Final = "extraPodSpec.mainContainer.image"
SERVICES: Final = "spec.services.*"
SPEC: Final = "spec"
_OBJECTLESS: Final = "no object to write it to"
_NAME: Final = "name of the build that graphs and components refer to"
_BUILT: Final = (
    "set extraPodSpec.mainContainer.image of the components that ran it; done for documents of the same file that name this build"
)
_PULLED: Final = "the operator finds the registries' Secrets of a namespace; name others in extraPodSpec.imagePullSecrets"

# fields of a component, in its own object or in a graph's services
_DISCOVERY: Final = "components of one graph find each other: make them services of the same graph"
_SCALING: Final = "has no effect: set scalingAdapter.enabled, and scale the adapter with a HorizontalPodAutoscaler"
_TAG: Final = "names the class that the container ran: set extraPodSpec.mainContainer.command and args, such as python3 -m dynamo.vllm"

COMPONENT: Final = (
    Field("dynamoNamespace", How.NAMESPACE, "follows from the graph's namespace and name", "globalDynamoNamespace"),
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
_MADE: Final = "standalone components create no claims: create it beforehand"
_MOUNT: Final = (
    Field("pvc", How.CLAIM),
    Field("pvc.mountPath", How.CLAIM, "", "volumeMounts[].mountPoint"),
    Field("pvc.mountPoint", How.CLAIM, "", "volumeMounts[].mountPoint"),
)
PVC_OF_SERVICE: Final = (
    *_MOUNT,
    Field("pvc.name", How.CLAIM, "also the name of the mount", "spec.pvcs[].name"),
    *(Field(f"pvc.{name}", How.CLAIM, "", f"spec.pvcs[].{name}") for name in _OF_CLAIM),
)
PVC_ALONE: Final = (
    *_MOUNT,
    Field("pvc.name", How.CLAIM, "the claim must exist beforehand", "volumeMounts[].name"),
    *(Field(f"pvc.{name}", How.DECIDE, _MADE) for name in _OF_CLAIM),
)


def _graph(name: str, reference: str, about: str) -> LegacyKind:
    fields = (
        *_SAME,
        *_METADATA,
        Field(f"spec.{reference}", How.IMAGE, _IMAGE, f"{SERVICES}.{_REFERENCE}"),
        Field("spec.envs"),
        *(field.under(SERVICES) for field in (*COMPONENT, *PVC_OF_SERVICE)),
        _STATUS,
    )
    return LegacyKind(name, "DynamoGraphDeployment", about, fields, SERVICES)


def _component(name: str, reference: str, about: str) -> LegacyKind:
    fields = (
        *_SAME,
        *_METADATA,
        Field(f"spec.{reference}", How.IMAGE, _IMAGE, f"spec.{_REFERENCE}"),
        *(field.under(SPEC) for field in (*COMPONENT, *PVC_ALONE)),
        _STATUS,
    )
    return LegacyKind(name, "DynamoComponentDeployment", about, fields, SPEC)


def _request(name: str, about: str, *spec: Field) -> LegacyKind:
    fields = (
        *(Field(name, How.GONE, _OBJECTLESS) for name in ("apiVersion", "kind", "metadata")),
        *(field.under(SPEC) for field in spec),
        Field("spec.*", How.GONE, _BUILD),
        _STATUS,
    )
    return LegacyKind(name, "", about, fields)


KINDS: Final[dict[str, LegacyKind]] = {
    kind.name: kind
    for kind in (
        _graph("DynamoGraphDeployment", "dynamoComponent", "Only with `spec.dynamoComponent`; otherwise it is the current kind."),
        _component(
            "DynamoComponentDeployment",
            "dynamoComponent",
            "Only with `spec.dynamoComponent`, `spec.dynamoTag` or `spec.externalServices`; otherwise it is the current kind.",
        ),
        _graph("DynamoDeployment", "dynamoNim", "The first name of a graph."),
        _component("DynamoNimDeployment", "dynamoNim", "The first name of a component."),
        _request(
            "DynamoComponent",
            "An image build. Its `image` is written into graphs and components of the same file that name it.",
            Field("dynamoComponent", How.GONE, _NAME),
            Field("image", How.DECIDE, _BUILT),
            Field("imagePullSecrets", How.GONE, _PULLED),
        ),
        _request("DynamoNimRequest", "The first name of an image build.", Field("bentoTag", How.GONE, _NAME)),
    )
}
