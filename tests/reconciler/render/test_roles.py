"""What line 1.6 renders otherwise: pods of roles, the sidecar `runtime`, frontend sidecars by name; and lpx, which is not run."""

from typing import Any

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.reconciler.render.children import compute_worker_hash, render
from dynamo_webhooks.reconciler.render.graph import read_graph
from dynamo_webhooks.reconciler.render.settings import Settings
from dynamo_webhooks.reconciler.render.template import read_pod_templates
from tests.reconciler.rendering import children, env_of, graph, pod_of, stored, vllm
from tests.rows import run_each

Fields = dict[str, Any]
BY_CONTAINER = {"nvidia.com/dynamo-kube-discovery-mode": "container"}


def _template(role: str, **main: Any) -> Fields:
    annotations = {"nvidia.com/vllm-distributed-executor-backend": "mp", "of": role}
    container = {"name": "main", "image": "i:1.6.0", "args": ["--distributed-executor-backend mp", role], **main}
    pod = {"schedulerName": f"s-{role}", "containers": [container, {"name": "fe", "image": "f:1.6.0"}]}
    return {"metadata": {"labels": {"of": role}, "annotations": annotations}, "spec": pod}


def _roles(*order: str, **main: Any) -> Fields:
    roles = [{"name": name, "podTemplate": _template(name, **main)} for name in order or ("worker", "leader")]
    return {"name": "w", "type": "worker", "multinode": {"nodeCount": 3}, "frontendSidecar": "fe", "roles": roles}


def _pods(component: Fields, *, grove: bool, created: str = "1.6.0", line: str = "1.6.0", **spec: Any) -> dict[str, Fields]:
    """The templates of leader and worker of the only component of a graph."""
    done = render(stored(graph(component, **spec), created, grove=grove), Settings(grove=grove, lws=True, operator_version=line))
    assert (done.problems, [str(note) for note in done.notes if "roles" in str(note)]) == ([], [])
    [made] = [child for child in done.children if child["kind"] in ("PodCliqueSet", "LeaderWorkerSet")]
    return dict(zip(("leader", "worker"), read_pod_templates(made).values(), strict=True))


@run_each("grove", [False, True])
def test_pods_of_a_role_come_from_its_template(*, grove: bool) -> None:
    env = [{"name": "OF_GRAPH", "value": "x"}]
    for name, made in _pods(_roles(), grove=grove, backendFramework="vllm", env=env).items():
        metadata, spec = made.get("metadata", made), made["spec"]
        assert (metadata["labels"]["of"], metadata["annotations"]["of"], spec["schedulerName"]) == (name, name, f"s-{name}")
        assert metadata["labels"]["nvidia.com/dynamo-component"] == "w"
        main, sidecar = spec["containers"]
        assert ("command" in main, main["args"]) == (False, ["--distributed-executor-backend mp", name])
        assert (main["name"], main["image"], sidecar["name"]) == ("main", "i:1.6.0", "fe")
        assert "initContainers" not in spec  # nothing is added to what the author starts
        assert [port["name"] for port in main["ports"]] == ["system", "nixl"]
        assert {"livenessProbe", "readinessProbe", "startupProbe"} <= main.keys()
        assert env_of(main)["OF_GRAPH"] == "x"
        assert env_of(main)["DYN_SYSTEM_PORT"] == "9090"
        assert env_of(main)["VLLM_NIXL_SIDE_CHANNEL_HOST"] == {"fieldRef": {"fieldPath": "status.podIP"}}


# as upstream's documentation starts the nodes of roles with pod templates
DOCUMENTED = ["-m", "dynamo.vllm", "--nnodes", "2", "--node-rank", "$(DYNAMO_RANK)", "--master-addr", "$(DYNAMO_LEADER_ADDRESS)"]
ADDRESSES = {True: "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-w-ldr-0.$(GROVE_HEADLESS_SERVICE)", False: "$(LWS_LEADER_ADDRESS)"}
RANKS = {True: "$(GROVE_PCSG_POD_INDEX)", False: "$(LWS_WORKER_INDEX)"}


def _by_author(*worker: str, backend: str = "vllm", **main: Any) -> Fields:
    def template(*args: str) -> Fields:
        container = {"name": "main", "image": "i:1.6.0", "command": ["python3"], "args": [*args], **main}
        return {"spec": {"containers": [container]}}

    call = [word.replace("vllm", backend) for word in DOCUMENTED]
    roles = [{"name": "leader", "podTemplate": template(*call)}, {"name": "worker", "podTemplate": template(*call, *worker)}]
    return {"name": "w", "type": "worker", "multinode": {"nodeCount": 2}, "roles": roles}


@run_each("grove", [False, True])
def test_nodes_that_an_author_starts_find_each_other_by_the_documented_names(*, grove: bool) -> None:
    env = [{"name": "DYNAMO_RANK", "value": "mine"}]
    for name, made in _pods(_by_author("--headless", env=env), grove=grove).items():
        spec = made["spec"]
        (main,) = spec["containers"]
        variables = env_of(main)
        assert (variables["DYNAMO_RANK"], variables["DYNAMO_LEADER_ADDRESS"]) == (RANKS[grove], ADDRESSES[grove])
        assert main["command"] == ["python3"]
        assert main["args"] == [*DOCUMENTED, *(["--headless"] if name == "worker" else []), "--master-port=29500"]
        waits = [container["command"][-1] for container in spec.get("initContainers", ())]
        assert [
            f'LEADER_HOST="{ADDRESSES[grove].replace("$(", "${").replace(")", "}")}" LEADER_PORT="29500"' in line for line in waits
        ] == [True] * (name == "worker")
        assert ("startupProbe" in main) == (name == "leader")  # a headless engine answers none


@run_each(
    ("worker", "port", "waits"),
    [(("--master-port", "31000"), "31000", True), (("--distributed-executor-backend", "ray"), "29500", False)],
)
def test_what_an_author_says_of_nodes_stays(worker: tuple[str, ...], port: str, *, waits: bool) -> None:
    probe = {"exec": {"command": ["ok"]}}
    spec = _pods(_by_author("--headless", *worker, livenessProbe=probe), grove=False)["worker"]["spec"]
    assert spec["containers"][0]["args"] == [*DOCUMENTED, "--headless", *worker]
    assert spec["containers"][0]["livenessProbe"] == probe
    assert [f'LEADER_PORT="{port}"' in container["command"][-1] for container in spec.get("initContainers", ())] == [True] * waits


@run_each("grove", [False, True])
def test_mpi_of_nodes_that_an_author_starts_has_its_key_and_is_asked_by_sshd(*, grove: bool) -> None:
    for name, made in _pods(_by_author(backend="trtllm"), grove=grove).items():
        spec = made["spec"]
        (main,) = spec["containers"]
        assert main["args"] == [word.replace("vllm", "trtllm") for word in DOCUMENTED]
        [mount] = [mount for mount in main["volumeMounts"] if mount["mountPath"] == "/ssh-pk"]
        assert [volume["secret"]["secretName"] for volume in spec["volumes"] if volume["name"] == mount["name"]] == ["mpi-run-ssh-secret"]
        assert ("tcpSocket" in main["readinessProbe"], "startupProbe" in main) == (name == "worker", name == "leader")


@run_each("grove", [False, True])
@run_each(("backend", "created", "named"), [("vllm", "1.6.0", True), ("sglang", "1.6.0", True), ("vllm", "1.5.0", False)])
def test_graphs_that_1_6_creates_use_the_same_names(*, grove: bool, backend: str, created: str, named: bool) -> None:
    made = vllm(
        "w", args=("--tensor-parallel-size", "2"), multinode={"nodeCount": 2}, main={"command": ["python3", "-m", f"dynamo.{backend}"]}
    )
    for pod in _pods(made, grove=grove, created=created).values():
        (main,) = pod["spec"]["containers"]
        text = " ".join(main["args"])
        assert ({"DYNAMO_RANK", "DYNAMO_LEADER_ADDRESS"} <= env_of(main).keys()) is named
        assert ("--node-rank $(DYNAMO_RANK)" in text and "$(DYNAMO_LEADER_ADDRESS)" in text) is named


def test_the_rank_of_engines_that_share_gpus_between_pods_is_that_of_their_clique() -> None:
    made = vllm(
        "w", args=("--tensor-parallel-size", "2"), multinode={"nodeCount": 2}, experimental={"gpuMemoryService": {"mode": "InterPod"}}
    )
    done = render(stored(graph(made), "1.6.0", grove=True), Settings(grove=True, operator_version="1.6.0"))
    cliques = next(child for child in done.children if child["kind"] == "PodCliqueSet")["spec"]["template"]["cliques"]
    ranks = {clique["name"]: env_of(clique["spec"]["podSpec"]["containers"][0]).get("DYNAMO_RANK") for clique in cliques}
    assert ranks == {"w-gms-0": None, "w-ldr": "0", "w-gms-1": None, "w-wkr-1": "1"}


def test_a_template_of_a_role_needs_neither_command_nor_gpus() -> None:
    obj = stored(graph({**_roles(args=None)}), "1.6.0")
    assert [str(problem) for problem in render(obj, Settings(lws=True, operator_version="1.6.0")).problems] == []


def test_a_problem_in_a_template_of_a_role_has_its_place() -> None:
    obj = stored(graph(_roles(volumeMounts=[{"name": "v", "mountPath": ""}])), "1.6.0")
    done = render(obj, Settings(lws=True, operator_version="1.6.0"))
    place = "spec.components[0].roles[1].podTemplate.spec.containers[0].volumeMounts[0].mountPath"
    assert [str(problem).partition(": ")[0] for problem in done.problems] == [place]


def test_templates_of_roles_are_content_of_the_generation_and_their_order_is_not() -> None:
    def named(*order: str, **main: Any) -> str:
        return compute_worker_hash(read_graph(stored(graph(_roles(*order, **main)), "1.6.0"), Line.V1_6), Line.V1_6)

    assert named() == named("leader", "worker") != named(image="i:1.6.1")


def _with_runtime(policy: str = "Always", **runtime: Any) -> Fields:
    sidecar = {"name": "runtime", "image": "r:1.6.0", "restartPolicy": policy, **runtime}
    env = [{"name": "OF_GRAPH", "value": "x"}]
    return graph(vllm(pod={"initContainers": [sidecar]}), annotations=dict(BY_CONTAINER), env=env)


def _pod(obj: Fields, version: str) -> Fields:
    return pod_of(children(obj, operator_version=version)["Deployment g-worker"])


def test_the_sidecar_has_the_defaults_and_main_is_its_authors() -> None:
    spec = _pod(_with_runtime(), "1.6.0")
    (main,), (runtime,) = spec["containers"], spec["initContainers"]
    assert main.keys() == {"name", "image", "command", "args", "resources", "env", "volumeMounts"}
    assert env_of(main) == {"OF_GRAPH": "x"}
    env = env_of(runtime)
    names = ("OF_GRAPH", "DYN_SYSTEM_ENABLED", "DYN_SYSTEM_PORT", "CONTAINER_NAME")
    assert [env[name] for name in names] == ["x", "true", "9090", "runtime"]
    assert "command" not in runtime
    assert runtime["ports"] == [{"name": "system", "containerPort": 9090, "protocol": "TCP"}]
    assert not [name for name in env if "NIXL" in name or "HEALTH" in name or "FORWARDPASS" in name]  # which are of engines
    figures = {
        kind: [probe["httpGet"]["path"], probe["periodSeconds"], probe["failureThreshold"], probe["timeoutSeconds"]]
        for kind, probe in runtime.items()
        if kind.endswith("Probe")
    }
    assert figures == {
        "startupProbe": ["/live", 2, 30, 1],
        "livenessProbe": ["/live", 5, 3, 4],
        "readinessProbe": ["/health", 5, 3, 4],
    }


def test_what_an_author_says_of_the_sidecar_wins() -> None:
    probe = {"exec": {"command": ["ok"]}}
    spec = _pod(_with_runtime(args=["exec run"], env=[{"name": "DYN_SYSTEM_PORT", "value": "1"}], startupProbe=probe), "1.6.0")
    (runtime,) = spec["initContainers"]
    assert (runtime.get("command"), runtime["args"], runtime["startupProbe"]) == (None, ["exec run"], probe)
    assert env_of(runtime)["DYN_SYSTEM_PORT"] == "1"


@run_each(("policy", "version"), [("Always", "1.5.0"), ("OnFailure", "1.6.0")])
def test_another_init_container_of_that_name_is_an_ordinary_one(policy: str, version: str) -> None:
    done = render(_with_runtime(policy), Settings(operator_version=version))
    spec = pod_of(next(child for child in done.children if child["kind"] == "Deployment"))
    assert spec["initContainers"] == [{"name": "runtime", "image": "r:1.6.0", "restartPolicy": policy}]
    assert "livenessProbe" in spec["containers"][0]


def test_the_place_of_kv_caches_is_told_to_the_sidecar() -> None:
    obj = _with_runtime()
    obj["spec"]["experimental"] = {"kvTransferPolicy": {"labelKey": "example/rack", "domain": "rack"}}
    spec = _pod(obj, "1.6.0")
    assert env_of(spec["initContainers"][0])["DYN_KV_TRANSFER_DOMAIN"] == "rack"
    assert "DYN_KV_TRANSFER_DOMAIN" not in env_of(spec["containers"][0])


FRONTEND = graph(vllm(pod={"containers": [{"name": "fe", "image": "f:1"}]}, frontendSidecar="fe"), annotations=dict(BY_CONTAINER))


@run_each(("version", "name"), [("1.5.0", "main"), ("1.6.0", "fe")])
def test_a_frontend_sidecar_is_discovered_by_its_own_name_from_1_6_on(version: str, name: str) -> None:
    main, sidecar = _pod(FRONTEND, version)["containers"]
    assert (env_of(main)["CONTAINER_NAME"], env_of(sidecar)["CONTAINER_NAME"]) == ("main", name)


ONCE = {"sidecar": _with_runtime(), "frontend": FRONTEND}
NEVER = {
    "plain": graph(vllm()),
    "ordinary": _with_runtime("OnFailure"),
    "frontend": {**FRONTEND, "metadata": {"name": "g", "namespace": "demo"}},
}


@run_each(("obj", "rolls"), [*((obj, True) for obj in ONCE.values()), *((obj, False) for obj in NEVER.values())])
def test_only_pods_that_change_make_a_new_generation_on_1_6(obj: Fields, *, rolls: bool) -> None:
    before, after = (compute_worker_hash(read_graph(obj, line), line) for line in (Line.V1_5, Line.V1_6))
    assert (before != after) is rolls


OF_ROLE: Fields = {"spec": {"containers": [{"name": "main", "image": "i:1.6.0", "command": ["x"]}]}}
LPX: Fields = {"name": "x", "type": "lpx", "lpx": {"buildId": "b"}, "roles": [{"name": "agent", "podTemplate": OF_ROLE}]}
BOTH = [{"name": name, "podTemplate": OF_ROLE} for name in ("leader", "worker")]
TEMPLATED: Fields = {"name": "w", "type": "worker", "multinode": {"nodeCount": 2}, "roles": BOTH}


@run_each("grove", [False, True])
def test_a_component_of_type_lpx_is_not_run_and_the_status_says_so(*, grove: bool) -> None:
    settings = Settings(grove=grove, operator_version="1.6.0")
    with_it = render(stored(graph(LPX, vllm()), "1.6.0", grove=grove), settings)
    without = render(stored(graph(vllm()), "1.6.0", grove=grove), settings)
    assert with_it.problems == without.problems == []
    assert with_it.children == without.children
    text = "spec.components[0]: is not run: only the Go operator 1.6 runs components of type lpx"
    assert [str(note) for note in with_it.notes if note not in without.notes and "components[0]" in str(note)] == [text]


@run_each("grove", [False, True])
def test_pod_templates_of_roles_are_a_problem_before_line_1_6(*, grove: bool) -> None:
    done = render(graph(TEMPLATED), Settings(grove=grove, lws=True, operator_version="1.5.0"))
    text = "spec.components[0].roles: must have no pod templates before operator 1.6; use podTemplate"
    assert text in map(str, done.problems)
    assert not {child["kind"] for child in done.children} & {"PodCliqueSet", "LeaderWorkerSet", "Deployment"}


@run_each(
    ("module", "flag", "on_workers"),
    [
        ("dynamo.vllm", "--tensor-parallel-size", False),
        ("dynamo.vllm", "--data-parallel-hybrid-lb", True),
        ("dynamo.sglang", "--tp", False),
        ("dynamo.sglang", "--enable-dp-attention", True),
    ],
)
@run_each("grove", [False, True])
def test_an_engine_on_several_nodes_has_its_sidecar_where_it_is_served(module: str, flag: str, on_workers: bool, grove: bool) -> None:
    """Since line 1.7: on the first node, or on each that serves for itself."""
    engine: Fields = {"name": "main", "image": "e:1.7.0", "command": ["python3", "-m", module], "args": [flag, "16"]}
    engine["resources"] = {"limits": {"nvidia.com/gpu": "8"}}
    spec = {
        "containers": [engine],
        "initContainers": [{"name": "setup"}, {"name": "runtime", "image": "r:1.7.0", "restartPolicy": "Always"}],
    }
    worker = {"name": "w", "type": "worker", "multinode": {"nodeCount": 2}, "podTemplate": {"spec": spec}}
    pods = _pods(worker, grove=grove, created="1.7.0", line="1.7.0").values()
    leader, follower = ([container["name"] for container in pod["spec"]["initContainers"]] for pod in pods)
    assert "runtime" in leader
    assert ("runtime" in follower) is on_workers
    assert "setup" in follower
