"""The legacy kinds as data: every field that their documentation names, and what each is today."""

from __future__ import annotations

from typing import Final

from dynamo_webhooks.cli.legacy.fields import Field, How, LegacyKind

_BUILD: Final = "settings of image builds, which today's operator doesn't make: keep them where your images are built"
_PLACED: Final = "set by the API server on the new object"
_APPLIED: Final = "the old object once more; kubectl writes it anew"
_SAME: Final = tuple(Field(name) for name in ("apiVersion", "kind", "metadata.name", "metadata.namespace"))
_METADATA: Final = (
    *(Field(f"metadata.{name}", How.GONE, _PLACED) for name in ("uid", "resourceVersion", "generation", "creationTimestamp")),
    *(Field(f"metadata.{name}", How.GONE, _PLACED) for name in ("selfLink", "managedFields", "deletionTimestamp")),
    Field("metadata.deletionGracePeriodSeconds", How.GONE, _PLACED),
    Field("metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]", How.GONE, _APPLIED),
    Field("metadata.finalizers", How.GONE, "set by the old operator, and nobody would ever take it off"),
    Field("metadata.ownerReferences", How.GONE, "refers to an object of the old kinds, with which this one would be deleted"),
)
_STATUS: Final = Field("status", How.GONE, "written by the operator, not by people")

_IMAGE: Final = (
    "names a build that the old operator made; today's makes none: build the image, push it, and set extraPodSpec.mainContainer.image "
    "of each component"
)
_REFERENCE: Final = "extraPodSpec.mainContainer.image"
SERVICES: Final = "spec.services.*"
SPEC: Final = "spec"
_OBJECTLESS: Final = "without an object to go to"
_NAME: Final = "the name of the build, by which graphs and components refer to it"
_BUILT: Final = (
    "goes into extraPodSpec.mainContainer.image of the components that ran it; done for documents of the same file that name this build"
)
_PULLED: Final = "not needed today: the operator finds the registries' Secrets of a namespace; name others in extraPodSpec.imagePullSecrets"

# fields of a component, which stand in an object of its own or in a graph's services
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
        _graph("DynamoGraphDeployment", "dynamoComponent", "With `spec.dynamoComponent`; without it, it is today's kind."),
        _component(
            "DynamoComponentDeployment",
            "dynamoComponent",
            "With `spec.dynamoComponent`, `spec.dynamoTag` or `spec.externalServices`; without them, it is today's kind.",
        ),
        _graph("DynamoDeployment", "dynamoNim", "The first name of a graph."),
        _component("DynamoNimDeployment", "dynamoNim", "The first name of a component."),
        _request(
            "DynamoComponent",
            "An image build. In the same file as graphs or components that name it, its `image` is written into them.",
            Field("dynamoComponent", How.GONE, _NAME),
            Field("image", How.DECIDE, _BUILT),
            Field("imagePullSecrets", How.GONE, _PULLED),
        ),
        _request("DynamoNimRequest", "The first name of an image build.", Field("bentoTag", How.GONE, _NAME)),
    )
}
