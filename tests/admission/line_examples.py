"""The worked examples of lines 1.2, 1.5 and 1.6 as data: what is written, over what, and what each line answers.

An answer is empty where the write is admitted, else the reasons and fields of its refusal; of line 1.2, whose operator answers in flat
words, only whether it refuses counts. `GUESSED` lists rows of which the specification says that they were inferred.
"""

from typing import Any, Final, NamedTuple

Node = dict[str, Any]
Answers = dict[str, set[str]]


class Example(NamedTuple):
    """One row: the write, the stored object if it is an update, the refusals by line, and facts that it needs."""

    number: str
    obj: Node
    answers: Answers
    old: Node | None = None
    facts: Node | None = None


IMAGE: Final = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:"


def pod(tag: str = "1.5.0", **more: Any) -> Node:
    """A pod template whose main container has an image of that tag."""
    return {"spec": {"containers": [{"name": "main", "image": IMAGE + tag}], **more}}


def graph(*components: Node, version: str = "v1beta1", annotations: Node | None = None, **spec: Any) -> Node:
    """A graph of components, or in v1alpha1 of services by their names."""
    parts: Node = {"components": list(components)}
    if version == "v1alpha1":
        parts = {"services": {part["name"]: {key: value for key, value in part.items() if key != "name"} for part in components}}
    metadata: Node = {"name": "g", "namespace": "ns"} | ({"annotations": annotations} if annotations else {})
    return {"apiVersion": f"nvidia.com/{version}", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": {**spec, **parts}}


def alone(part: Node, **metadata: Any) -> Node:
    """A component on its own."""
    spec = {"backendFramework": "vllm", **part}
    about = {"name": part["name"], "namespace": "ns", **metadata}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment", "metadata": about, "spec": spec}


def request(**spec: Any) -> Node:
    """A request of a graph."""
    about = {"name": "r", "namespace": "ns"}
    full = {"model": "m", "backend": "vllm", "image": IMAGE + "1.5.0", **spec}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "metadata": about, "spec": full}


def worker(**more: Any) -> Node:
    """A worker."""
    return {"name": "w", "type": "worker", "podTemplate": pod(), **more}


def spread(*roles: Node, nodes: int = 4, **more: Any) -> Node:
    """A worker on several nodes, with roles."""
    return worker(multinode={"nodeCount": nodes}, **({"roles": list(roles)} if roles else {}), **more)


def same(*answers: str, older: tuple[str, ...] = ()) -> Answers:
    """The same answers on 1.5 and 1.6, and others on 1.2."""
    return {"1.2": {*older}, "1.5": {*answers}, "1.6": {*answers}}


def later(*answers: str, before: tuple[str, ...] = (), older: tuple[str, ...] = ()) -> Answers:
    """Answers that 1.6 alone gives, and those of 1.5 and 1.2."""
    return {"1.2": {*older}, "1.5": {*before}, "1.6": {*answers}}


def newest(*answers: str) -> Answers:
    """Answers of 1.6, where no other line is asked."""
    return {"1.6": {*answers}}


LEADER, WORKER, HELPER = ({"name": name} for name in ("leader", "worker", "helper"))
ADOPTED: Final = {"nvidia.com/workload-provider": "grove"}
OVERRIDE: Final = {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": {"packDomain": "rack"}}}
TARGET: Final = {**OVERRIDE, "target": "PodCliqueTemplateSpec"}
PICKER: Final = {"config": {"plugins": [{"type": "t"}], "schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "t"}]}]}}


OTHER_PICKER: Final = {"configMapRef": {"name": "c", "key": "k"}}


def picker(tag: str, **more: Any) -> Node:
    """An endpoint picker."""
    return {"name": "p", "type": "epp", "podTemplate": pod(tag), **more}


def frontend(**more: Any) -> Node:
    """A frontend."""
    return {"name": "w", "type": "frontend", "podTemplate": pod(), **more}


def service(kind: str) -> Node:
    """A service of v1alpha1."""
    return graph({"name": "w", "componentType": kind, "extraPodSpec": {"mainContainer": {"image": IMAGE + "1.5.0"}}}, version="v1alpha1")


def snapshot(**more: Any) -> Node:
    """A component with a checkpoint."""
    return {"experimental": {"checkpoint": {"enabled": True, "checkpointRef": "snap", **more}}}


def planner(tag: str) -> Node:
    """A planner."""
    return {"name": "p", "type": "planner", "podTemplate": pod(tag)}


def pair(*more: str) -> Node:
    """A worker with standby engines in its pod, and with more features."""
    features = {"gpuMemoryService": {"mode": "IntraPod"}, "failover": {"mode": "IntraPod"}}
    part = worker(experimental={**features, **{name: {"enabled": True} for name in more}})
    part["podTemplate"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    return part


RUNTIME: Final = {"name": "runtime", "image": IMAGE + "1.6.0", "restartPolicy": "Always"}
BARE: Final = {key: value for key, value in RUNTIME.items() if key != "restartPolicy"}
BOTH: Final = tuple({"name": name, "podTemplate": pod()} for name in ("leader", "worker"))
CEL: Final = "Invalid spec.components[0]"


def beside(container: Node, tag: str = "1.6.0") -> Node:
    """A pod template with a container that starts before the main one."""
    return pod(tag, initContainers=[container])


def bare(part: Node) -> Node:
    """The part without a pod template of its own."""
    return {key: value for key, value in part.items() if key != "podTemplate"}


def lpx(*roles: str, name: str = "x", **more: Any) -> Node:
    """A component of type lpx with templates in its roles."""
    return {"name": name, "type": "lpx", "lpx": {"buildId": "b"}, "roles": agents(pod(), *roles), **more}


def of_alpha(kind: str, *roles: Node, name: str = "w", image: bool = False, **more: Any) -> Node:
    """A service of v1alpha1 with roles, on several nodes unless it is of type lpx."""
    own = {"lpx": {"buildId": "b"}} if kind == "lpx" else {"multinode": {"nodeCount": 4}}
    main = {"extraPodSpec": {"mainContainer": {"image": IMAGE + "1.5.0"}}} if image else {}
    return {"name": name, "componentType": kind, "roles": list(roles), **own, **main, **more}


def partitions(mode: str, ids: list[int]) -> Node:
    """What a component of type lpx says of its partitions."""
    return {"buildId": "b", "experimental": {"localPartitions": {"mode": mode, "ids": ids}}}


def noted(key: str) -> Node:
    """A pod template with an annotation."""
    return {**pod(), "metadata": {"annotations": {key: "x"}}}


def agents(template: Node, *names: str) -> list[Node]:
    """The roles of a component of type lpx, all with a template."""
    return [{"name": name, "podTemplate": template} for name in (names or ("agent", "conductor"))]


def made_by(version: str) -> Node:
    """A graph that an operator of a version made."""
    return graph(worker(), annotations={ORIGIN: version})


LPX_ROLES: Final = tuple(agents(pod()))
NOTES: Final = "podTemplate.metadata.annotations"
S5_LPX: Final = (f"Invalid spec.components[0].roles[0].{NOTES}", "Forbidden spec.components")
BLANK: Final = {"name": "main", "image": " "}
WITHOUT_MAIN: Final = worker(
    podTemplate={"spec": {"containers": [{"name": "other", "image": IMAGE + "1.6.0"}], "initContainers": [RUNTIME]}}
)
ALPHA_SIDECAR: Final = graph(
    {
        "name": "w",
        "componentType": "worker",
        "extraPodSpec": {
            "mainContainer": {"image": IMAGE + "1.6.0"},
            "initContainers": [{key: value for key, value in RUNTIME.items() if key != "image"}],
        },
    },
    version="v1alpha1",
)
NOTHING: Final[Node] = {  # fields that mean nothing
    "nodeSelector": {},
    "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
    "topologySpreadConstraints": [],
    "hostname": "",
}
ENUM: Final = "NotSupported spec.components[0].type"
LPX_OFF: Final = "Forbidden spec.components[0].type"
NO_LPX: Final[dict[str, tuple[str, ...]]] = {"before": (ENUM,), "older": (ENUM,)}  # which lines before 1.6 don't know
NO_PAIR: Final[dict[str, tuple[str, ...]]] = dict.fromkeys(NO_LPX, (ENUM, ENUM.replace("0", "1")))
NO_ALONE: Final[dict[str, tuple[str, ...]]] = dict.fromkeys(NO_LPX, ("NotSupported spec.type",))
LPX_ON: Final = {"lpx": True}
OFF_GROVE: Final = {"grove": False}
TEMPLATE: Final = "spec.components[0].podTemplate.spec"
NO_CONTAINERS: Final = f"Required {TEMPLATE}.containers"
NODES: Final = "Invalid spec.components[0].multinode"
PARTITIONS: Final = "Invalid spec.components[0].lpx.experimental.localPartitions"
SKU: Final = "NotSupported spec.hardware.gpuSku"
STRATEGY: Final = "nvidia.com/grove-update-strategy"
CHECKPOINT: Final = "Forbidden spec.components[0].experimental.checkpoint"
NO_CONFIG: Final = "Required spec.components[0].eppConfig"
REPLICAS: Final = "Invalid spec.components[0].replicas"
ORIGIN: Final = "nvidia.com/dynamo-operator-origin-version"
E1: Final = graph(spread(LEADER, WORKER))
E8: Final = graph(spread({"name": "leader", "providerOverride": OVERRIDE}, WORKER), annotations=ADOPTED)
E8_STORED: Final = graph(spread({"name": "leader", "providerOverride": TARGET}, WORKER), annotations=ADOPTED)
E10: Final = graph(spread({"name": "leader", "providerOverride": {**TARGET, "target": "PodCliqueSet"}}, WORKER), annotations=ADOPTED)
E17: Final = graph(frontend(multinode={"nodeCount": 2}))
LABELLED: Final = graph(frontend(multinode={"nodeCount": 2}), labels={"a": "b"})
SHARED: Final = "Forbidden spec.components[0].experimental.gpuMemoryService"
PARALLEL: Final = {"id": "1", "strategy": {"type": "Parallel"}}
LPX_IS_OFF: Final = {"lpx": False}
OWNER: Final = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "u", "controller": True}
PAIRED: Final[Node] = {"annotations": {"nvidia.com/dynamo-kube-discovery-mode": "container"}, "backendFramework": "vllm"}
LONG: Final = graph(worker(name="w" * 30, multinode={"nodeCount": 2}))
OVERRIDDEN: Final = "Required spec.components[0].runtimeVersionOverride"
ROLES: Final = "spec.components[0].roles"
ALPHA_IMAGE: Final = "Required spec.services[w].extraPodSpec.mainContainer.image"
ALPHA_CEL: Final = "Invalid spec.services[w]"

EXAMPLES: Final[tuple[Example, ...]] = (
    Example("E1", E1, same()),
    Example("E2", graph(spread(WORKER, LEADER)), same()),
    Example("E3", graph(spread(LEADER)), same(f"Required {ROLES}")),
    Example("E4", graph(spread(LEADER, HELPER)), same(f"NotSupported {ROLES}[1].name", f"Required {ROLES}")),
    Example("E5", graph(spread(LEADER, LEADER)), same(f"Duplicate {ROLES}[1]")),
    Example("E6", graph(worker(roles=[LEADER, WORKER])), same(f"Forbidden {ROLES}")),
    Example("E7", graph(worker(multinode={"nodeCount": 2, "leader": {"providerOverride": OVERRIDE}}), annotations=ADOPTED), same()),
    Example("E8", E8, same()),
    Example("E9", alone(spread({"name": "leader", "providerOverride": OVERRIDE}, WORKER)), same()),
    Example("E10", E10, same(f"Invalid {ROLES}[0].providerOverride.target"), E8_STORED),
    Example("E11", E1, same(), graph(spread())),
    Example("E12", graph(spread(nodes=4)), later("Invalid spec.components[0].multinode.nodeCount"), graph(spread(nodes=2)), OFF_GROVE),
    Example("E13", graph(worker(type="prefill")), same(CEL), graph(worker(type="decode"))),
    Example("E14", graph(worker()), same(), graph(worker(type=None))),
    Example("E15", graph(worker(type=None)), same(CEL), graph(worker())),
    Example("E16", service("frontend"), same("Invalid spec.services[w]"), service("worker")),
    Example("E17", E17, later("Forbidden spec.components[0].multinode")),
    Example("E18", LABELLED, same(), E17),
    Example("E19", graph(frontend()), later(before=(NODES,), older=(NODES,)), E17),
    Example("E20", graph(frontend(multinode={"nodeCount": 3})), later("Forbidden spec.components[0].multinode"), E17, OFF_GROVE),
    Example("S7", graph(frontend()), newest(NODES), graph({**frontend(multinode={"nodeCount": 2}), "type": None})),
    Example("E21", graph(picker("1.4.0")), same(NO_CONFIG, older=(NO_CONFIG,))),
    Example("E22", graph(picker("1.5.0", eppConfig=PICKER)), same("Forbidden spec.components[0].eppConfig")),
    Example("E23", graph(picker("1.5.0", replicas=1)), same(older=(NO_CONFIG,))),
    Example("E24", graph(picker("1.5.0", replicas=2)), later(before=(REPLICAS,), older=(REPLICAS, NO_CONFIG))),
    Example("E25", graph(picker("1.4.0", replicas=2, eppConfig=PICKER)), same(REPLICAS, older=(REPLICAS,))),
    Example("E26", alone(picker("latest")), same("Required spec.runtimeVersionOverride", older=("Required spec.eppConfig",))),
    Example("E27", graph(picker("1.5.0")), same(older=(NO_CONFIG,)), graph(picker("1.4.0", eppConfig=PICKER))),
    Example("E28", graph(picker("latest", eppConfig=PICKER), labels={"a": "b"}), same(), graph(picker("latest", eppConfig=PICKER))),
    Example("E30", graph(frontend(**snapshot())), same(CHECKPOINT)),
    Example("E31", alone(worker(**snapshot())), same("Forbidden spec.experimental.checkpoint.checkpointRef")),
    Example("E32", alone(worker(**snapshot()), ownerReferences=[OWNER]), same()),
    Example("E33", graph(worker(**snapshot())), same(CHECKPOINT), facts={"checkpoint": False}),
    Example("E34", graph(pair("checkpoint"), **PAIRED), same(CHECKPOINT, older=(CHECKPOINT,)), facts={"allowGmsSnapshot": False}),
    Example("E35", graph(spread({**LEADER, "replicas": 2}, {**WORKER, "replicas": 2}, nodes=3)), later(f"Invalid {ROLES}[0].replicas")),
    Example("E36", graph(bare(spread(*BOTH))), later(before=(NO_CONTAINERS,))),
    Example("E37", graph(bare(spread(BOTH[0], WORKER))), later(CEL, before=(NO_CONTAINERS,))),
    Example("E38", graph(spread(*BOTH)), later(CEL)),
    Example("E39", graph(bare(spread(*BOTH, experimental={"gpuMemoryService": {}}))), newest(SHARED)),
    Example("E40", graph(bare(spread(*BOTH)), planner("1.5.0")), later(f"Forbidden {ROLES}", before=(NO_CONTAINERS,))),
    Example("E41", graph(bare(spread(*BOTH)), planner("1.6.0")), newest(), graph(spread(LEADER, WORKER), planner("1.5.0"))),
    Example("E42", graph(worker(podTemplate=beside(RUNTIME))), same()),
    Example("E43", graph(worker(podTemplate=beside(BARE))), later(f"Invalid {TEMPLATE}.initContainers[0].restartPolicy")),
    Example("E44", graph(frontend(podTemplate=beside(RUNTIME))), later(f"Forbidden {TEMPLATE}.initContainers[0].name")),
    Example("E45", graph(worker(podTemplate=beside(RUNTIME), multinode={"nodeCount": 2})), later("Forbidden spec.components[0].multinode")),
    Example("E46", graph(worker(podTemplate=beside(RUNTIME, "latest"))), later(before=(OVERRIDDEN,))),
    Example("E47", graph(lpx()), later(**NO_LPX), facts=LPX_ON),
    Example("E48", graph(lpx()), later(LPX_OFF, **NO_LPX), facts=LPX_IS_OFF),
    Example("E49 label", graph(lpx(), labels={"a": "b"}), newest(), graph(lpx()), facts=LPX_IS_OFF),
    Example("E49 other", graph(lpx(), worker(replicas=2)), newest(), graph(lpx(), worker()), facts=LPX_IS_OFF),
    Example("E49 itself", graph(lpx(replicas=2)), newest(LPX_OFF), graph(lpx()), facts=LPX_IS_OFF),
    Example("E50 without lpx", graph(bare({**lpx(), "lpx": None})), later(CEL, **NO_LPX), facts=LPX_ON),
    Example("E50 on a worker", graph(worker(lpx={"buildId": "b"})), later(CEL), facts=LPX_ON),
    Example("E51", graph(lpx(scalingAdapter={})), later(CEL, **NO_LPX), facts=LPX_ON),
    Example("E52", graph(lpx("agent", replicas=9), lpx(name="y")), later(REPLICAS, **NO_PAIR), facts=LPX_ON),
    Example("E52a", graph(lpx(replicas=10)), later(**NO_LPX), facts=LPX_ON),
    Example("E52a minAvailable", graph(lpx(minAvailable=2)), later(**NO_LPX), facts=LPX_ON),
    Example("E52b", graph(lpx("agent")), later("Forbidden spec.components", **NO_LPX), facts=LPX_ON),
    Example("E52c", graph(lpx()), newest("Invalid spec.components[0].type"), graph({"name": "x", "podTemplate": pod()}), facts=LPX_ON),
    Example("E53", graph(lpx(), restart={"id": "1"}), newest("Invalid spec"), graph(lpx()), facts=LPX_ON),
    Example("E53 parallel", graph(lpx(), restart=PARALLEL), newest(), graph(lpx()), facts=LPX_ON),
    Example("E54", graph(worker(podTemplate=pod(schedulerName="lpx-scheduler"))), later(f"Forbidden {TEMPLATE}.schedulerName")),
    Example("E55", alone({"name": "x", "type": "lpx"}), later("Invalid spec", **NO_ALONE)),
    Example("E56", graph(lpx(lpx=partitions("All", [1]))), later(PARTITIONS, **NO_LPX), facts=LPX_ON),
    Example("E56 ids", graph(lpx(lpx=partitions("IDs", [1]))), later(**NO_LPX), facts=LPX_ON),
    Example("E56 no ids", graph(lpx(lpx=partitions("IDs", []))), later(f"{PARTITIONS}.ids", **NO_LPX), facts=LPX_ON),
    Example("E57", request(hardware={"gpuSku": "gb200"}), later(before=(SKU,), older=(SKU,))),
    Example("E58", request(hardware={"gpuSku": "gb200_sxm"}), same()),
    Example("E59", request(features={"kvRouter": {"enabled": True}}), same()),
    Example("E60", made_by("0.9.0"), same()),
    Example("E61", made_by("1.0.0"), later(f"Invalid metadata.annotations[{ORIGIN}]"), made_by("1.5.0")),
    Example("E62", graph(worker(), annotations={STRATEGY: "Coherent"}), later(before=(f"NotSupported metadata.annotations[{STRATEGY}]",))),
    Example("TA7", graph(worker(), annotations={STRATEGY: "coherent"}), same(f"NotSupported metadata.annotations[{STRATEGY}]")),
    Example(
        "E37 v1alpha1",
        graph(of_alpha("worker", BOTH[0], WORKER), version="v1alpha1"),
        later("Required spec.services[w].roles[1].podTemplate", before=(ALPHA_IMAGE,)),
    ),
    Example(
        "E38 v1alpha1",
        graph(of_alpha("worker", *BOTH, image=True), version="v1alpha1"),
        later("Forbidden spec.services[w].extraPodSpec"),
    ),
    Example(
        "E40 v1alpha1",
        graph(of_alpha("worker", *BOTH), {**service("planner")["spec"]["services"]["w"], "name": "p"}, version="v1alpha1"),
        later("Forbidden spec.services[w].roles", before=(ALPHA_IMAGE,)),
    ),
    Example(
        "E48 v1alpha1",
        graph(of_alpha("lpx", *LPX_ROLES), version="v1alpha1"),
        newest("Forbidden spec.services[w].componentType"),
        facts=LPX_IS_OFF,
    ),
    Example("E50 v1alpha1", graph(of_alpha("lpx", *LPX_ROLES, lpx=None), version="v1alpha1"), newest(ALPHA_CEL), facts=LPX_ON),
    Example("E51 v1alpha1", graph(of_alpha("lpx", *LPX_ROLES, scalingAdapter={}), version="v1alpha1"), newest(), facts=LPX_ON),
    Example(
        "E51 v1alpha1 on",
        graph(of_alpha("lpx", *LPX_ROLES, scalingAdapter={"enabled": True}), version="v1alpha1"),
        newest(ALPHA_CEL),
        facts=LPX_ON,
    ),
    Example("E52 eight", graph(lpx("agent", replicas=8), lpx(name="y")), newest(), facts=LPX_ON),
    Example(
        "E52 minAvailable",
        graph(lpx("agent", replicas=8, minAvailable=2), lpx(name="y")),
        newest("Forbidden spec.components[0].minAvailable"),
        facts=LPX_ON,
    ),
    Example(
        "E53 v1alpha1",
        graph(of_alpha("lpx", *LPX_ROLES), version="v1alpha1", restart={"id": "1"}),
        newest("Invalid spec"),
        graph(of_alpha("lpx", *LPX_ROLES), version="v1alpha1"),
        LPX_ON,
    ),
    Example("S11", graph(worker(roles=[])), same(f"Forbidden {ROLES}")),
    Example("S15", graph(picker("latest", eppConfig=OTHER_PICKER)), same(), graph(picker("latest", eppConfig=PICKER))),
    Example("S15 alone", alone(picker("latest", eppConfig=OTHER_PICKER)), same(), alone(picker("latest", eppConfig=PICKER))),
    Example("S5", graph(bare(spread({**LEADER, "podTemplate": noted("a b")}, BOTH[1]))), newest(f"Invalid {ROLES}[0].{NOTES}")),
    Example("S5 lpx", graph(lpx(roles=agents(noted("/x"), "agent"))), newest(*S5_LPX), facts=LPX_ON),
    Example(
        "S6",
        graph(lpx(roles=agents({"spec": {"containers": [BLANK]}}))),
        {"1.6": {f"Required {ROLES}[{index}].podTemplate.spec.containers[0].image" for index in (0, 1)}},
        facts=LPX_ON,
    ),
    Example("S6 sidecar", graph(bare(spread(*BOTH, frontendSidecar=""))), newest("Invalid spec.components[0].frontendSidecar")),
    Example("S16", graph(WITHOUT_MAIN, labels={"a": "b"}), newest(f"Required {TEMPLATE}.containers"), graph(WITHOUT_MAIN)),
    Example("S17", graph(worker(podTemplate=beside(RUNTIME), **snapshot())), newest(f"{CHECKPOINT}.enabled")),
    Example("S17 name", LONG, {"1.5": {"Invalid spec.components[0]"}, "1.6": {"Invalid spec.components[0].name"}}),
    Example("NA20", ALPHA_SIDECAR, newest("Required spec.services[w].extraPodSpec.initContainers[0].image")),
    Example("L17 none", graph(worker(multinode={"nodeCount": 2}, roles=[])), same(f"Required {ROLES}")),
    Example("L17 three", graph(spread(LEADER, WORKER, HELPER)), later(f"TooMany {ROLES}", before=(f"NotSupported {ROLES}[2].name",))),
    Example("S4 draft", graph(lpx(), lpx(name="y")), newest(), graph(lpx("agent"), lpx(name="y")), facts=LPX_ON),
    Example("S4 pair", graph(lpx("agent"), lpx(name="y")), newest(), graph(lpx(), lpx(name="y")), facts=LPX_ON),
    Example("S9", graph(lpx(), worker()), newest("Forbidden spec.components"), graph(lpx()), facts=LPX_IS_OFF),
    Example("L8 meaning", graph(lpx(roles=agents(pod(**NOTHING)))), newest(), graph(lpx()), facts=LPX_IS_OFF),
    Example("L8 difference", graph(lpx(roles=agents(pod(**NOTHING, hostNetwork=True)))), newest(LPX_OFF), graph(lpx()), facts=LPX_IS_OFF),
    Example("NA34 nothing", graph(lpx(roles=agents(pod(**NOTHING)))), newest(), facts=LPX_ON),
    Example("S13", graph(bare(spread({**LEADER, "podTemplate": pod("latest")}, BOTH[1]))), newest(OVERRIDDEN)),
    Example("S13 lpx", graph(lpx(roles=agents(pod("latest")))), newest(), facts=LPX_ON),
)
GUESSED: Final = {"E34", "E17", "E18", "E19", "E20", "E30", "E31", "E57"}
