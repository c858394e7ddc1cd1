"""The endpoint picker, which since 1.5.0 is part of the runtime."""

from typing import Any

from ..at import At, Findings
from ..components import count_nodes, find_main, is_multinode
from ..finding import Mend
from ..image_tag import explain_missing_version, find_runtime_version
from ..review import Fields, is_line_1_4
from ..rule import COMPONENT, DCD, Stage, differs, rule


@rule("DYN224", where=COMPONENT, when="type=epp", stage=Stage.EPP, until="1.5")
def epp_config_required(at: At) -> Findings:
    """An endpoint picker has no configuration.

    Why
        The configuration selects the plugins that filter and score endpoints. No default suits every model.

    Fix
        Set `eppConfig` with a `configMapRef` or an inline `config`.

    Example
         spec:
           components:
        -    - {name: picker, type: epp}  # expect
        +    - {name: picker, type: epp, eppConfig: {configMapRef: {name: picker-config, key: epp.yaml}}}
    """
    if at.value.get("eppConfig") is None:
        yield at.required("eppConfig", 'must be set for a component of type "epp", got nothing')


@rule("DYN226", where=COMPONENT, when="eppConfig", stage=Stage.EPP)
def epp_config_source_exclusive(at: At) -> Findings:
    """An endpoint picker has both an inline configuration and one from a ConfigMap.

    Why
        The picker reads only one. Even an empty block counts as a configuration.

    Fix
        Keep `configMapRef` or `config`, and remove the other.

    Example
         {picker}
               eppConfig:  # expect
                 configMapRef: {name: picker-config, key: epp.yaml}
        -        config: {plugins: [{type: queue-scorer}], schedulingProfiles: []}
    """
    config = at.value["eppConfig"]
    # line 1.2 reads the block of an endpoint picker alone
    is_read = at.value.get("type") == "epp" or is_line_1_4(at.review)
    if is_read and config.get("configMapRef") is not None and config.get("config") is not None:
        yield at.forbidden("eppConfig", "must not have both configMapRef and config")


@rule("DYN225", where=COMPONENT, when="eppConfig", stage=Stage.EPP)
def epp_config_source_required(at: At) -> Findings:
    """An endpoint picker's configuration has no source.

    Why
        The block only names the source of the configuration. Without a source, the picker has no configuration.

    Fix
        Set `eppConfig.configMapRef` to a key of a ConfigMap, or write the configuration into `eppConfig.config`.

    Example
         spec:
        -  components:
        -    - name: picker
        -      type: epp
        -      eppConfig: {}  # expect
        +  components: [{name: picker, type: epp, eppConfig: {config: {plugins: [{type: queue-scorer}], schedulingProfiles: []}}}]
    """
    config = at.value["eppConfig"]
    # line 1.2 reads the block of an endpoint picker alone
    is_read = at.value.get("type") == "epp" or is_line_1_4(at.review)
    if is_read and config.get("configMapRef") is None and config.get("config") is None:
        yield at.required("eppConfig", "must have configMapRef or config, got neither")


@rule("DYN227", where=COMPONENT, when="type=epp", stage=Stage.EPP)
def epp_configmap_name_required(at: At) -> Findings:
    """An endpoint picker's ConfigMap reference has no name.

    Why
        For historical reasons the Kubernetes schema allows an empty name, but no ConfigMap has one, and the pod would wait for it forever.

    Fix
        Set `eppConfig.configMapRef.name`.

    Example
         {picker}
               eppConfig:
        -        configMapRef: {key: epp.yaml}  # expect
        +        configMapRef: {name: picker-config, key: epp.yaml}
    """
    reference = at.get("eppConfig.configMapRef")
    if reference is not None and not reference.get("name"):
        yield at.required("eppConfig.configMapRef.name", "must name a config map, got nothing")


@differs("a standalone picker fails like one of a graph")
@rule("DYN221", where=COMPONENT, when="type=epp", stage=Stage.EPP, needs=("inferencePool",))
def epp_inferencepool_unavailable(at: At) -> Findings:
    """A graph has an endpoint picker, but the cluster has no InferencePool API.

    Why
        The picker routes requests for an InferencePool that the operator creates. Without the API group `inference.networking.k8s.io`, it
        can't create one. A picker that was accepted earlier can still be edited if the API is removed.

    Fix
        Install the Gateway API Inference Extension, or remove the component.

    Example
        -# facts: {inferencePool: false}
         spec:
           components:
             - {name: picker, type: epp, eppConfig: {configMapRef: {name: c, key: k}}}  # expect

        -# kind: DynamoComponentDeployment/v1beta1
        -# facts: {inferencePool: false}
        -spec: {type: epp, eppConfig: {configMapRef: {name: c, key: k}}}  # expect

        +# facts: {inferencePool: false}
        +spec: {components: [{name: picker, type: epp, eppConfig: {configMapRef: {name: c, key: k}}}]}
        +--- # becomes
        +spec: {components: [{name: picker, type: epp, replicas: 1, eppConfig: {configMapRef: {name: c, key: k}}}]}
    """
    if not at.fact("inferencePool"):
        text = 'must not be of type "epp" in this cluster: the API group inference.networking.k8s.io is not served'
        yield at.forbidden("", text)


@rule("DYN222", where=COMPONENT, when="type=epp", stage=Stage.EPP, until="1.6")
def epp_single_node(at: At) -> Findings:
    """An endpoint picker spans several nodes.

    Why
        A picker is one small process that holds the routing state in its memory. It can't be spread over nodes.

    Fix
        Remove `multinode`.

    Example
         spec:
           components:
        -    - {name: picker, type: epp, multinode: {nodeCount: 2}, eppConfig: {configMapRef: {name: c, key: k}}}  # expect
        +    - {name: picker, type: epp, eppConfig: {configMapRef: {name: c, key: k}}}
    """
    if is_multinode(at.value):
        text = f'must be unset for a component of type "epp", got nodeCount {count_nodes(at.value)}'
        yield at.invalid("multinode", None, text, mend=Mend(None))


@rule("DYN223", where=COMPONENT, when="type=epp", stage=Stage.EPP, until="1.6")
def epp_single_replica(at: At) -> Findings:
    """An endpoint picker must have exactly one replica.

    Why
        Each picker knows only the requests that it routed itself, so two pickers would work against each other. With none, nothing chooses
        endpoints for the pool.

    Fix
        Set `replicas` to 1, or leave it out.

    Example
         spec:
           components:
        -    - {name: picker, type: epp, replicas: 2, eppConfig: {configMapRef: {name: c, key: k}}}  # expect
        +    - {name: picker, type: epp, replicas: 1, eppConfig: {configMapRef: {name: c, key: k}}}
    """
    replicas = at.value.get("replicas")
    # a negative number is refused by replicas-non-negative
    if replicas not in (None, 1) and replicas >= 0:
        text = f'must be 1 for a component of type "epp", got {replicas}'
        yield at.invalid("replicas", replicas, text, mend=Mend(None))


_NATIVE = (1, 5, 0)  # the first runtime with a picker of its own


def _unchanged(at: At) -> bool:
    """Whether an update leaves all as it was that says which picker runs."""
    return _same_version(at) and all(at.old.get(name) == at.value.get(name) for name in ("type", "eppConfig"))


def _same_version(at: At) -> bool:
    """Whether an update leaves the image and its version."""
    return at.old is not None and _version(at.old) == _version(at.value)


def _version(part: Fields) -> tuple[Any, ...]:
    return find_main(part)[0].get("image"), part.get("runtimeVersionOverride")


@rule("DYN234", where=COMPONENT, when="type=epp", stage=Stage.EPP, ratchets=False, since="1.5")
def epp_runtime_config_forbidden(at: At) -> Findings:
    """An endpoint picker with runtime 1.5.0 or later has a configuration.

    Why
        These runtimes include their own picker, which doesn't read `eppConfig`.

    Fix
        Remove `eppConfig`, in the same update as the new image if there is one.

    Example
         {picker}
               podTemplate: {spec: {containers: [{name: main, image: "example/frontend:1.5.0"}]}}
        -      eppConfig: {configMapRef: {name: picker-config, key: epp.yaml}}  # expect
    """
    version = find_runtime_version(at.value)
    if at.value.get("eppConfig") is not None and version is not None and version >= _NATIVE and not _unchanged(at):
        yield at.forbidden("eppConfig", "must be unset from runtime 1.5.0 on, whose picker reads no configuration")


@rule("DYN235", where=COMPONENT, when="type=epp", stage=Stage.EPP, ratchets=False, since="1.5")
def epp_runtime_config_required(at: At) -> Findings:
    """An endpoint picker with a runtime before 1.5.0 has no configuration.

    Why
        The configuration selects the plugins that filter and score endpoints. No default suits every model.

    Fix
        Set `eppConfig` with a `configMapRef` or an inline `config`, or use runtime 1.5.0 or later.

    Example
         spec:
           components:
        -    - {name: picker, type: epp, podTemplate: {spec: {containers: [{name: main, image: "example/picker:1.4.0"}]}}}  # expect
        +    - name: picker
        +      type: epp
        +      podTemplate: {spec: {containers: [{name: main, image: "example/picker:1.4.0"}]}}
        +      eppConfig: {configMapRef: {name: picker-config, key: epp.yaml}}
    """
    version = find_runtime_version(at.value)
    if at.value.get("eppConfig") is None and version is not None and version < _NATIVE and not _unchanged(at):
        yield at.required("eppConfig", "must be set for a picker of a runtime below 1.5.0, got nothing")


@rule("DYN236", where={DCD: "spec"}, when="type=epp", stage=Stage.EPP, ratchets=False, since="1.5")
def epp_runtime_version_required(at: At) -> Findings:
    """The image tag of a standalone endpoint picker doesn't contain the runtime version.

    Why
        The runtime version determines whether the picker needs a configuration.

    Fix
        Use an image whose tag is a version of three numbers, or set `runtimeVersionOverride`.

    Example
         # kind: DynamoComponentDeployment/v1beta1
         spec:  # expect
           type: epp
        +  runtimeVersionOverride: 1.5.0
           podTemplate: {spec: {containers: [{name: main, image: "example/frontend:latest"}]}}

        +# kind: DynamoComponentDeployment/v1beta1
        +spec: {type: epp, podTemplate: {spec: {containers: [{name: main, image: "example/frontend:latest"}]}}}
        +--- # becomes
        +spec:
        +  type: epp
        +  eppConfig: {configMapRef: {name: picker-config, key: epp.yaml}}
        +  podTemplate: {spec: {containers: [{name: main, image: "example/frontend:latest"}]}}
    """
    if not _same_version(at):
        yield from explain_missing_version(at, [at.main[0].get("image")])


@rule("DYN237", where=COMPONENT, when="eppConfig", stage=Stage.EPP, since="1.6")
def epp_runtime_single_replica(at: At) -> Findings:
    """An endpoint picker with a configuration must have exactly one replica.

    Why
        Pickers of runtimes before 1.5.0 know only the requests that they routed themselves, so two of them would work against each other.
        Later pickers share their state.

    Fix
        Set `replicas` to 1, or leave it out.

    Example
         {picker}
               replicas: 2  # expect
        -      podTemplate: {spec: {containers: [{name: main, image: "example/picker:1.4.0"}]}}
        -      eppConfig: {configMapRef: {name: c, key: k}}
        +      podTemplate: {spec: {containers: [{name: main, image: "example/frontend:1.5.0"}]}}
    """
    replicas = at.value.get("replicas")
    # a negative number is refused by replicas-non-negative
    if at.value.get("type") == "epp" and replicas not in (None, 1) and replicas >= 0:
        yield at.invalid("replicas", replicas, f"must be 1 for an endpoint picker with eppConfig, got {replicas}")
