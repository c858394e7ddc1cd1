"""The models say what the API's member tables say: every member of every type, with its kind of value, and no other."""

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.models.constraints import validations
from dynamo_webhooks.api.models.type_constraints import ALL
from dynamo_webhooks.api.schema import load_schema

Node: TypeAlias = dict[str, Any]

# One type a line, `a.` of v1alpha1 and `b.` of v1beta1: members with their type when it isn't text, [list], {map by name}.
MEMBERS: Final = """\
a.DynamoGraphDeploymentSpec: annotations:{str} labels:{str} priorityClassName pvcs:[a.PVC]
    services:{a.DynamoComponentDeploymentSharedSpec} envs:[EnvVar] backendFramework restart:a.Restart
    topologyConstraint:a.SpecTopologyConstraint experimental:a.DynamoGraphDeploymentExperimentalSpec
a.DynamoGraphDeploymentStatus: observedGeneration:i64 state conditions:[Condition] services:{a.ServiceReplicaStatus}
    restart:a.RestartStatus checkpoints:{a.ServiceCheckpointStatus} rollingUpdate:a.RollingUpdateStatus
a.DynamoComponentDeploymentStatus: observedGeneration:i64 conditions:[Condition] podSelector:{str} service:a.ServiceReplicaStatus
a.DynamoGraphDeploymentRequestSpec: model backend useMocker:bool profilingConfig:a.ProfilingConfigSpec enableGpuDiscovery:bool
    autoApply:bool deploymentOverrides:a.DeploymentOverridesSpec
a.DynamoGraphDeploymentRequestStatus: state backend observedGeneration:i64 conditions:[Condition] profilingResults
    generatedDeployment:raw deployment:a.DeploymentStatus
a.DynamoGraphDeploymentScalingAdapterSpec: replicas:i32 dgdRef:a.DynamoGraphDeploymentServiceRef
a.DynamoGraphDeploymentScalingAdapterStatus: replicas:i32 selector lastScaleTime:time
b.DynamoGraphDeploymentSpec: annotations:{str} labels:{str} priorityClassName components:[b.DynamoComponentDeploymentSharedSpec]
    env:[EnvVar] backendFramework restart:b.Restart topologyConstraint:b.SpecTopologyConstraint
    experimental:b.DynamoGraphDeploymentExperimentalSpec
b.DynamoGraphDeploymentStatus: observedGeneration:i64 state conditions:[Condition] components:{b.ComponentReplicaStatus}
    restart:b.RestartStatus checkpoints:{b.ComponentCheckpointStatus} rollingUpdate:b.RollingUpdateStatus
b.DynamoComponentDeploymentStatus: observedGeneration:i64 conditions:[Condition] component:b.ComponentReplicaStatus
b.DynamoGraphDeploymentRequestSpec: model backend image modelCache:b.ModelCacheSpec hardware:b.HardwareSpec workload:b.WorkloadSpec
    sla:b.SLASpec overrides:b.OverridesSpec features:b.FeaturesSpec searchStrategy autoApply:bool
b.DynamoGraphDeploymentRequestStatus: phase profilingPhase dgdName profilingJobName conditions:[Condition]
    profilingResults:b.ProfilingResultsStatus deploymentInfo:b.DeploymentInfoStatus observedGeneration:i64
b.DynamoGraphDeploymentScalingAdapterSpec: replicas:i32 dgdRef:b.DynamoGraphDeploymentComponentRef
b.DynamoGraphDeploymentScalingAdapterStatus: replicas:i32 selector lastScaleTime:time
a.PVC: create:bool name storageClass size:qty volumeAccessMode
a.DynamoComponentDeploymentSharedSpec: annotations:{str} labels:{str} serviceName componentType subComponentType dynamoNamespace
    globalDynamoNamespace:bool resources:a.Resources autoscaling:a.Autoscaling envs:[EnvVar] envFromSecret
    volumeMounts:[a.VolumeMount] ingress:a.IngressSpec modelRef:a.ModelReference sharedMemory:a.SharedMemorySpec
    extraPodMetadata:a.ExtraPodMetadata extraPodSpec:a.ExtraPodSpec livenessProbe:Probe readinessProbe:Probe replicas:i32
    multinode:a.MultinodeSpec scalingAdapter:a.ScalingAdapter eppConfig:a.EPPConfig frontendSidecar:a.FrontendSidecarSpec
    checkpoint:a.ServiceCheckpointConfig topologyConstraint:a.TopologyConstraint gpuMemoryService:a.GPUMemoryServiceSpec
    failover:a.FailoverSpec
a.Restart: id strategy:a.RestartStrategy
a.SpecTopologyConstraint: topologyProfile packDomain
a.DynamoGraphDeploymentExperimentalSpec: kvTransferPolicy:a.KvTransferPolicy
a.ServiceReplicaStatus: componentKind componentName componentNames:[str] replicas:i32 updatedReplicas:i32 readyReplicas:i32
    availableReplicas:i32
a.RestartStatus: observedID phase inProgress:[str]
a.ServiceCheckpointStatus: checkpointName identityHash ready:bool
a.RollingUpdateStatus: phase startTime:time endTime:time updatedServices:[str]
a.Resources: requests:a.ResourceItem limits:a.ResourceItem claims:[ResourceClaim]
a.Autoscaling: enabled:bool minReplicas:i64 maxReplicas:i64 behavior:HorizontalPodAutoscalerBehavior metrics:[MetricSpec]
a.VolumeMount: name mountPoint useAsCompilationCache:bool
a.IngressSpec: enabled:bool host useVirtualService:bool virtualServiceGateway hostPrefix annotations:{str} labels:{str}
    tls:a.IngressTLSSpec hostSuffix ingressControllerClassName
a.ModelReference: name revision
a.SharedMemorySpec: disabled:bool size:qty
a.ExtraPodMetadata: annotations:{str} labels:{str}
a.MultinodeSpec: nodeCount:i32
a.ScalingAdapter: enabled:bool
a.EPPConfig: configMapRef:ConfigMapKeySelector config:EndpointPickerConfig
a.FrontendSidecarSpec: image args:[str] envFromSecret envs:[EnvVar]
a.ServiceCheckpointConfig: enabled:bool mode checkpointRef identity:a.DynamoCheckpointIdentity targetContainerName
    job:a.ServiceCheckpointJobConfig
a.TopologyConstraint: packDomain
a.GPUMemoryServiceSpec: enabled:bool mode deviceClassName extraClientContainers:[str] extraClientPods:[a.GMSClientPodSpec]
a.FailoverSpec: enabled:bool mode numShadows:i32
a.ProfilingConfigSpec: config:raw configMapRef:a.ConfigMapKeySelector profilerImage outputPVC resources:ResourceRequirements
    tolerations:[Toleration] nodeSelector:{str}
a.DeploymentOverridesSpec: name namespace labels:{str} annotations:{str} workersImage
a.DeploymentStatus: name namespace state created:bool
a.DynamoGraphDeploymentServiceRef: name serviceName
b.DynamoComponentDeploymentSharedSpec: name type globalDynamoNamespace:bool podTemplate:PodTemplateSpec replicas:i32
    multinode:b.MultinodeSpec sharedMemorySize:qty modelRef:b.ModelReference scalingAdapter:b.ScalingAdapter eppConfig:b.EPPConfig
    frontendSidecar compilationCache:b.CompilationCacheConfig topologyConstraint:b.TopologyConstraint experimental:b.ExperimentalSpec
b.Restart: id strategy:b.RestartStrategy
b.SpecTopologyConstraint: clusterTopologyName packDomain
b.DynamoGraphDeploymentExperimentalSpec: kvTransferPolicy:b.KvTransferPolicy
b.ComponentReplicaStatus: componentKind componentNames:[str] replicas:i32 updatedReplicas:i32 readyReplicas:i32 availableReplicas:i32
b.RestartStatus: observedID phase inProgress:[str]
b.ComponentCheckpointStatus: checkpointName identityHash ready:bool
b.RollingUpdateStatus: phase startTime:time endTime:time updatedComponents:[str]
b.MultinodeSpec: nodeCount:i32
b.ModelReference: name revision
b.ScalingAdapter:
b.EPPConfig: configMapRef:ConfigMapKeySelector config:EndpointPickerConfig
b.CompilationCacheConfig: pvcName mountPath
b.TopologyConstraint: packDomain
b.ExperimentalSpec: gpuMemoryService:b.GPUMemoryServiceSpec failover:b.FailoverSpec checkpoint:b.ComponentCheckpointConfig
b.ModelCacheSpec: pvcName pvcModelPath pvcMountPath
b.HardwareSpec: gpuSku vramMb:f64 totalGpus:i32 numGpusPerNode:i32 interconnect rdma:bool
b.WorkloadSpec: isl:i32 osl:i32 concurrency:f64 requestRate:f64
b.SLASpec: ttft:f64 itl:f64 e2eLatency:f64 optimizationType
b.OverridesSpec: profilingJob:JobSpec dgd:raw
b.FeaturesSpec: planner:raw mocker:b.MockerSpec
b.ProfilingResultsStatus: pareto:[b.ParetoConfig] selectedConfig:raw
b.DeploymentInfoStatus: replicas:i32 availableReplicas:i32
b.DynamoGraphDeploymentComponentRef: name componentName
a.RestartStrategy: type order:[str]
a.KvTransferPolicy: labelKey domain enforcement preferredWeight:f32
a.ResourceItem: cpu memory gpu gpuType custom:{str}
a.IngressTLSSpec: secretName
a.DynamoCheckpointIdentity: model backendFramework dynamoVersion tensorParallelSize:i32 pipelineParallelSize:i32 dtype maxModelLen:i32
    extraParameters:{str}
a.ServiceCheckpointJobConfig: gmsClientContainers:[str] podTemplate:PodTemplateSpec
a.GMSClientPodSpec: name podTemplate:PodTemplateSpec
a.ConfigMapKeySelector: name key
b.RestartStrategy: type order:[str]
b.KvTransferPolicy: labelKey domain enforcement preferredWeight:f32
b.GPUMemoryServiceSpec: mode deviceClassName extraClientContainers:[str] extraClientPods:[b.GMSClientPodSpec]
b.FailoverSpec: mode numShadows:i32
b.ComponentCheckpointConfig: mode checkpointRef identity:b.DynamoCheckpointIdentity targetContainerName
    job:b.ComponentCheckpointJobConfig
b.MockerSpec: enabled:bool
b.ParetoConfig: config:raw
b.GMSClientPodSpec: name podTemplate:PodTemplateSpec
b.DynamoCheckpointIdentity: model backendFramework dynamoVersion tensorParallelSize:i32 pipelineParallelSize:i32 dtype maxModelLen:i32
    extraParameters:{str}
b.ComponentCheckpointJobConfig: gmsClientContainers:[str] podTemplate:PodTemplateSpec
"""
# What a component on its own has besides the members of one in a graph.
ALONE: Final = ("backendFramework",)
SCALARS: Final[dict[str, Node]] = {
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "i32": {"type": "integer", "format": "int32"},
    "f32": {"type": "number", "format": "float"},
    "f64": {"type": "number"},
    "time": {"type": "string", "format": "date-time"},
    "qty": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
    "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
# Overlays of pod templates that the schema keeps as they are, without looking inside.
OPAQUE_TEMPLATES: Final = ("a.ServiceCheckpointJobConfig", "a.GMSClientPodSpec", "b.ComponentCheckpointJobConfig", "b.GMSClientPodSpec")


def table() -> dict[str, dict[str, str]]:
    """Reads MEMBERS: by type, the members and their types."""
    types = {}
    for line in re.sub(r"\n {4}", " ", MEMBERS).strip().splitlines():
        name, _, rest = line.partition(":")
        types[name] = {member.partition(":")[0]: member.partition(":")[2] or "str" for member in rest.split()}
    for letter in "ab":
        component = types[f"{letter}.DynamoComponentDeploymentSharedSpec"]
        types[f"{letter}.DynamoComponentDeploymentSpec"] = {**component, **dict.fromkeys(ALONE, "str")}
    return types


TYPES: Final = table()
ROOTS: Final = sorted(
    name for name in TYPES if re.fullmatch(r"[ab]\.Dynamo(Graph|Component)Deployment(Request|ScalingAdapter)?(Spec|Status)", name)
)


def differences(node: Node, wanted: str, path: str, owner: str) -> Iterator[str]:
    """Compares one node with a type of the table, and the types below it."""
    if wanted[0] in "[{":
        inner = node.get("items" if wanted[0] == "[" else "additionalProperties")
        if inner is None:
            yield f"{path}: is no {wanted}"
        else:
            yield from differences(inner, wanted[1:-1], path + wanted[0] + wanted[-1], owner)
    elif wanted in TYPES:
        members = node.get("properties", {})
        if set(members) != set(TYPES[wanted]):
            yield f"{path}: members that differ from {wanted}: {sorted(set(members) ^ set(TYPES[wanted]))}"
        for name in members.keys() & TYPES[wanted].keys():
            yield from differences(members[name], TYPES[wanted][name], f"{path}.{name}", wanted)
    elif not fits(node, wanted, owner):
        yield f"{path}: is no {wanted}: {node}"


def fits(node: Node, wanted: str, owner: str) -> bool:
    """Tells whether a node is the scalar, the free-form object or the Kubernetes type that the table names."""
    if wanted == "i64":
        return node.get("type") == "integer" and node.get("format") in (None, "int64")
    if wanted == "PodTemplateSpec" and owner in OPAQUE_TEMPLATES:
        wanted = "raw"
    if wanted in SCALARS:
        return {key: node.get(key) for key in SCALARS[wanted]} == SCALARS[wanted] and (
            wanted in ("i32", "f32", "time") or "format" not in node
        )
    if wanted == "Condition":
        return set(node["properties"]) == {"type", "status", "observedGeneration", "lastTransitionTime", "reason", "message"}
    if wanted == "EndpointPickerConfig":
        return {"plugins", "schedulingProfiles", "featureGates", "saturationDetector", "kind", "apiVersion"} == set(node["properties"])
    if wanted == "a.ExtraPodSpec":
        return bool(node["$ref"].endswith(".PodSpec")) and list(node["properties"]) == ["mainContainer"]
    return str(node.get("$ref", "")).endswith(f".{wanted}")


@pytest.mark.parametrize("root", ROOTS)
def test_every_member_of_the_tables_is_modelled(root: str) -> None:
    """A kind's spec and status have exactly the members of the tables, all the way down."""
    kind, part = re.fullmatch(r"..(\w+?)(Spec|Status)", root).groups()  # type: ignore[union-attr]  # ROOTS were picked by this form
    version = "v1alpha1" if root.startswith("a.") else "v1beta1"
    node = load_schema(kind, version, Line.V1_2)["properties"][part.lower()]
    assert list(differences(node, root, part.lower(), root)) == []


def test_the_tables_are_all_reached() -> None:
    """No type of the table is left out of the comparison by a slip in it: each is a root or named by another."""
    named = {inner.strip("[]{}") for members in TYPES.values() for inner in members.values()}
    assert set(TYPES) - named - set(ROOTS) == set()
    assert len(ROOTS) == 16


def test_constraints_have_distinct_texts_and_messages() -> None:
    """Twenty-seven rules are known; twins are found by their text, so no two may share one."""
    assert len(ALL) == len({item.rule for item in ALL}) == 46
    assert all(re.search(r"\bmust\b", item.message) and not item.message.endswith(".") for item in ALL)
    assert validations(ALL[0]) == {"x-kubernetes-validations": [{"rule": ALL[0].rule, "message": ALL[0].message}]}


def test_the_table_of_kinds_is_consistent() -> None:
    """Each kind has one stored version, which is served; aliases and plurals are unique; only beta successors deprecate."""
    for kind in KINDS:
        assert [version.name for version in kind.versions if version.storage] == [kind.storage_version]
        assert all(version.served for version in kind.versions)
        assert kind.plural == f"{kind.name.lower()}s"
        assert any(version.deprecated for version in kind.versions) == kind.has("v1beta1")
    assert len({kind.alias for kind in KINDS}) == len({kind.short for kind in KINDS}) == len(KINDS) == 7
