"""Every key of the OperatorConfiguration: its default, values that it takes, values that it refuses and with which sentence."""

from __future__ import annotations

from typing import Any, Final

import pytest
import yaml

from dynamo_webhooks.api.operator import projection
from dynamo_webhooks.api.operator.configuration import API_VERSION, KIND, OWN, OperatorConfiguration, leaves
from dynamo_webhooks.api.operator.controllers import Controllers
from dynamo_webhooks.api.operator.judge import Problem, judge, prepared
from dynamo_webhooks.api.paths import MISSING, lookup, render

SMALLEST: Final[dict[str, Any]] = {
    "apiVersion": API_VERSION,
    "kind": KIND,
    "rbac": {"plannerClusterRoleName": "p", "dgdrProfilingClusterRoleName": "q", "eppClusterRoleName": "e"},
    "mpi": {"sshSecretName": "key", "sshSecretNamespace": "dynamo-system"},
}
IPV4: Final = "0.0.0.0"  # noqa: S104 - the reference's default, listened on by nobody here
DIRECTORY: Final = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - as above
DURATION: Final = "must be a duration such as 30s, 15m or 4h"
SWITCH: Final = "must be true or false"
PORT: Final = "must be an integer from 0 to 65535"
PORTS: Final = [(-1, PORT), (65536, PORT), ("8080", PORT), (8080.5, PORT), (True, PORT)]
SWITCHES: Final = [("true", SWITCH), (1, SWITCH), ([], SWITCH)]
AUTOMATIC: Final = [("auto", "must be true, false, or absent"), (0, "must be true, false, or absent")]
TEXTS: Final = [(5, "must be a string, got the number 5"), (True, "must be a string, got true"), ({}, "must be a string, got an object")]
NAMES: Final = [("Not A Name", "must be a DNS name"), ("a" * 254, "must be a DNS name"), (5, "must be a DNS name")]
LABELS: Final = [("a.b", "must be a DNS label"), ("a" * 64, "must be a DNS label"), (5, "must be a DNS label")]
SPANS: Final = [(30, DURATION), ("30", DURATION), ("-1s", DURATION), ("1 s", DURATION), ("", DURATION), ("999999999h", DURATION)]

# key: (default as a file writes it, good values, [(bad value, start of the sentence)])
CALLS: Final = [(value, "must be an integer from 1 to 512") for value in (0, 513, "8")]
ROWS: Final[dict[str, tuple[Any, list[Any], list[tuple[Any, str]]]]] = {
    "apiVersion": (API_VERSION, [API_VERSION], [("v1", f"must be one of {API_VERSION}, got"), (1, "must be one of")]),
    "kind": (KIND, [KIND], [("ConfigMap", f"must be one of {KIND}, got"), ([], "must be one of")]),
    "server.metrics.bindAddress": (IPV4, ["", "::", "127.0.0.1"], TEXTS),
    "server.metrics.port": (8080, [1, 65535], PORTS),
    "server.metrics.secure": (True, [False], SWITCHES),
    "server.metrics.namespaceLabel": (False, [True], SWITCHES),
    "server.healthProbe.bindAddress": (IPV4, ["", "::1"], TEXTS),
    "server.healthProbe.port": (8081, [1, 65535], PORTS),
    "server.webhook.host": ("", [IPV4, "::"], TEXTS),
    "server.webhook.bindAddress": ("", [IPV4], TEXTS),
    "server.webhook.port": (9443, [1, 65535], PORTS),
    "server.webhook.certDir": (DIRECTORY, ["/certs"], TEXTS),
    "server.webhook.certProvisionMode": (
        "managed",
        ["auto", "manual", "provided", "external-injection"],
        [("automatic", "must be one of managed, provided, external-injection, auto, manual, got"), (True, "must be one of")],
    ),
    "server.webhook.clientCA": ("", ["/clients/ca.crt"], TEXTS),
    "server.webhook.clientNames": (
        [],
        [["kube-apiserver"], ["a", "b"], []],
        [
            ("a", "must be a list of non-empty strings"),
            ([""], "must be a list of non-empty strings"),
            ([5], "must be a list of non-empty strings"),
            ({}, "must be a list of"),
        ],
    ),
    "server.webhook.secretName": ("webhook-server-cert", ["a.b"], NAMES),
    "server.webhook.serviceName": ("dynamo-webhooks", ["svc"], NAMES),
    "leaderElection.enabled": (False, [False], SWITCHES),
    "leaderElection.id": ("", ["dynamo.nvidia.com"], NAMES),
    "leaderElection.namespace": ("", ["kube-system"], LABELS),
    "namespace.restricted": ("", ["team-a"], LABELS),
    "namespace.allowed": (
        [],
        [["team-a"], ["team-a", "b"]],
        [(each, "must be a list of DNS labels, each once") for each in ("team-a", [""], ["A"], ["a.b"], ["a", "a"], [5])],
    ),
    "namespace.scope.leaseDuration": ("30s", ["1m", "250ms"], [*SPANS, ("0s", DURATION)]),
    "namespace.scope.leaseRenewInterval": ("10s", ["5s", "1m"], [*SPANS, ("0s", DURATION)]),
    "namespace.scope.grace": ("10s", ["0s", "10m"], [*SPANS, ("11m", DURATION)]),
    "namespace.scope.maxSkew": ("1m", ["0s"], [*SPANS, ("11m", DURATION)]),
    "orchestrators.grove.enabled": (None, [True, False], AUTOMATIC),
    "orchestrators.grove.terminationDelay": ("15m", ["1s", "4h"], SPANS),
    "orchestrators.lws.enabled": (None, [True, False], AUTOMATIC),
    "orchestrators.kaiScheduler.enabled": (None, [True, False], AUTOMATIC),
    "orchestrators.volcanoScheduler.enabled": (None, [True, False], AUTOMATIC),
    "dra.enabled": (None, [True, False], AUTOMATIC),
    "infrastructure.natsAddress": ("", ["nats://nats:4222"], TEXTS),
    "infrastructure.etcdAddress": ("", ["etcd:2379"], TEXTS),
    "infrastructure.modelExpressURL": (
        "",
        ["http://model-express:8001", "model-express", "a:b"],
        [
            *TEXTS,
            ("http://h:99999", "must be a URL"),
            ("http://a b", "must be a URL"),
            ("http://h/%zz", "must be a URL"),
            ("http://[", "must be"),
        ],
    ),
    "infrastructure.prometheusEndpoint": ("", ["http://prometheus:9090"], TEXTS),
    "ingress.virtualServiceGateway": ("", ["ns/gateway"], TEXTS),
    "ingress.controllerClassName": ("", ["nginx"], TEXTS),
    "ingress.controllerTLSSecretName": ("", ["tls"], NAMES),
    "ingress.hostSuffix": ("", ["example.com"], TEXTS),
    "serviceMesh.enabled": (None, [True, False], AUTOMATIC),
    "serviceMesh.provider": ("", ["linkerd"], TEXTS),
    "serviceMesh.istio.tlsMode": (
        MISSING,
        ["DISABLE", "SIMPLE", "ISTIO_MUTUAL", "MUTUAL"],
        [("simple", "must be one of DISABLE, SIMPLE,")],
    ),
    "serviceMesh.istio.insecureSkipVerify": (MISSING, [False], SWITCHES),
    "serviceMesh.istio.clientCertificate": (MISSING, ["/etc/c.pem"], TEXTS),
    "serviceMesh.istio.privateKey": (MISSING, ["/etc/k.pem"], TEXTS),
    "serviceMesh.istio.caCertificates": (MISSING, ["/etc/ca.pem"], TEXTS),
    "rbac.plannerClusterRoleName": ("", ["planner"], NAMES),
    "rbac.dgdrProfilingClusterRoleName": ("", ["profiling"], NAMES),
    "rbac.eppClusterRoleName": ("", ["epp"], NAMES),
    "mpi.sshSecretName": ("", ["ssh"], NAMES),
    "mpi.sshSecretNamespace": ("", ["ns"], LABELS),
    "checkpoint.enabled": (False, [True], SWITCHES),
    "checkpoint.cleanupImage": ("", ["busybox:1.36"], TEXTS),
    "checkpoint.seccomp.disabled": (False, [True], SWITCHES),
    "checkpoint.seccomp.profile": ("profiles/block-iouring.json", ["p.json"], TEXTS),
    "checkpoint.storage.type": ("", ["pvc", "s3"], TEXTS),
    "checkpoint.storage.pvc.pvcName": ("", ["claim"], NAMES),
    "checkpoint.storage.pvc.basePath": ("", ["/checkpoints"], TEXTS),
    "checkpoint.storage.pvc.create": (False, [True], SWITCHES),
    "checkpoint.storage.pvc.size": ("", ["1Ti"], TEXTS),
    "checkpoint.storage.pvc.storageClassName": ("", ["fast"], NAMES),
    "checkpoint.storage.pvc.accessMode": ("", ["ReadWriteMany"], TEXTS),
    "checkpoint.storage.s3.uri": ("", ["s3://bucket"], TEXTS),
    "checkpoint.storage.s3.credentialsSecretRef": ("", ["s"], TEXTS),
    "checkpoint.storage.oci.uri": ("", ["oci://r"], TEXTS),
    "checkpoint.storage.oci.credentialsSecretRef": ("", ["s"], TEXTS),
    "discovery.backend": ("kubernetes", ["etcd"], [("consul", "must be one of kubernetes, etcd, got")]),
    "gpu.discoveryEnabled": (True, [False], SWITCHES),
    "gpu.metricsEndpointTemplate": ("http://{POD_IP}:9400/metrics", ["http://{POD_IP}:1/m"], TEXTS),
    "logging.level": ("info", ["debug", "warn", "warning", "error"], [("INFO", "must be one of debug, info,"), (3, "must be one of")]),
    "logging.format": ("json", ["console"], [("text", "must be one of json, console")]),
    "security.enableHTTP2": (False, [True], SWITCHES),
    "operator.namespace": ("", ["ns"], LABELS),
    "operator.serviceAccount": ("", ["operator"], NAMES),
    "operator.podName": ("", ["pod-1"], NAMES),
    "operator.clusterDomain": ("cluster.local", ["corp.example"], NAMES),
    "operator.version": ("1.2.0", ["2.0.0-beta"], TEXTS),
    "serving.profile": ("current", ["1.2"], [(1.2, "must be one of current, 1.2"), ("1.3", "must be one of current, 1.2")]),
    "serving.workers": (0, [1, 256], [(-1, "must be an integer from 0 to 256"), (257, "must be an integer"), ("2", "must be an integer")]),
    "reconciler.workers": (
        8,
        [1, 256],
        [(0, "must be an integer from 1 to 256"), (257, "must be an integer"), ("2", "must be an integer")],
    ),
    "serving.drainLag": ("15s", ["0s", "5m"], [*SPANS, ("6m", DURATION)]),
    "serving.drainTimeout": ("20s", ["0s", "5m"], [*SPANS, ("6m", DURATION)]),
    "serving.limits.admissionBody": (
        "7Mi",
        ["1Gi", 1],
        [("7MB", "must be a size"), (0, "must be a size"), ("-1", "must be a size"), (1.5, "must be")],
    ),
    "serving.memory": (None, ["2Gi", "512Mi"], [("", "must be a size"), (True, "must be a size")]),
    "serving.limits.requestCpu": ("2s", ["100ms", "30s"], [*SPANS, ("0s", DURATION), ("31s", DURATION)]),
    "serving.limits.conversionBody": (None, ["64Mi"], [("", "must be a size"), (True, "must be a size")]),
    "serving.limits.conversionTimeout": ("30s", ["1s", "10m"], [*SPANS, ("0s", DURATION), ("11m", DURATION)]),
    "serving.limits.connections": (1000, [1], [(0, "must be an integer from 1 to 100000")]),
    "certificates.caSecretName": ("", ["ca"], NAMES),
    "certificates.trustConfigMapName": ("", ["trust"], NAMES),
    "certificates.leaseName": ("", ["lease"], NAMES),
    "certificates.validatingConfiguration": ("dynamo-webhooks-validating", ["v"], NAMES),
    "certificates.mutatingConfiguration": ("dynamo-webhooks-mutating", ["m"], NAMES),
    "certificates.keyAlgorithm": ("ECDSA", ["RSA"], [("rsa", "must be one of ECDSA, RSA")]),
    "certificates.trustFile": ("", ["/trust/ca.crt"], TEXTS),
    "certificates.takeOverConversion": (False, [True], SWITCHES),
    "certificates.forceAdoption": (False, [True], SWITCHES),
    "certificates.caValidity": ("87600h", ["30d", "720h"], [*SPANS, ("29d", DURATION)]),
    "certificates.leafValidity": ("8760h", ["24h"], [*SPANS, ("23h", DURATION)]),
    "certificates.backdate": ("1h", ["0s", "24h"], [*SPANS, ("25h", DURATION)]),
    "certificates.resync": ("10m", ["1m", "60m"], [*SPANS, ("59s", DURATION), ("61m", DURATION)]),
    "certificates.settle": ("2m", ["15s", "1h"], [*SPANS, ("14s", DURATION), ("61m", DURATION)]),
    "certificates.minRoll": ("3m", ["0s", "1h"], [*SPANS, ("61m", DURATION)]),
    "certificates.rollWarn": ("15m", ["1m"], [*SPANS, ("59s", DURATION)]),
    "certificates.drain": ("24h", ["10m", "30d"], [*SPANS, ("9m", DURATION), ("31d", DURATION)]),
    "featureGates.gmsSnapshot": (False, [True], SWITCHES),
    "controllers.models": ("auto", ["on", "off"], [("yes", "must be one of auto, on, off"), (1, "must be one of auto, on, off")]),
    "controllers.checkpoints": ("auto", ["on", "off"], [("yes", "must be one of auto, on, off"), (1, "must be one of auto, on, off")]),
    "checkpoint.onReady": ("wait", ["roll"], [("at once", "must be one of wait, roll")]),
    "checkpoint.fallback": (True, [False], SWITCHES),
    "secrets.pull": ("none", ["none"], [(each, "must be one of none, labelled, all") for each in ("named", True)]),
    "secrets.namespaces": ([], [["a", "b"]], [(each, "must be a list of DNS labels, each once") for each in (["a", "a"], "a")]),
    "secrets.mpiKeys": ("shared", ["perGraph"], [("none", "must be one of shared, perGraph")]),
    "controllers.requests": ("auto", ["on", "off"], [("yes", "must be one of auto, on, off")]),
    "requests.copierImage": ("", ["registry.example/dynamo-webhooks:1"], TEXTS),
    "requests.deadline": ("24h", ["1m", "30d"], [*SPANS, ("59s", DURATION), ("31d", DURATION)]),
    "requests.writeHardware": (False, [True], SWITCHES),
    "models.concurrency": (
        64,
        [1, 512],
        [(0, "must be an integer from 1 to 512"), (513, "must be an integer from 1 to 512"), ("8", "must be an integer from 1 to 512")],
    ),
    "models.perModel": (32, [1, 512], [(0, "must be an integer from 1 to 512")]),
    "models.connectTimeout": ("3s", ["100ms", "1m"], [*SPANS, ("61s", DURATION)]),
    "models.loadTimeout": ("5m", ["1s", "1h"], [*SPANS, ("61m", DURATION)]),
    "models.unloadTimeout": ("1m", ["1s", "1h"], [*SPANS, ("61m", DURATION)]),
    "models.verifyTimeout": ("5s", ["100ms", "1m"], [*SPANS, ("61s", DURATION)]),
    "models.verifyInterval": ("10m", ["10s", "1d"], [*SPANS, ("9s", DURATION)]),
    "models.anySlice": (False, [True], SWITCHES),
    "models.baseReady": ("current", ["legacy"], [("old", "must be one of current, legacy")]),
}
GOOD: Final = [(key, value) for key, (_, values, _) in ROWS.items() for value in values]
BAD: Final = [(key, value, text) for key, (_, _, values) in ROWS.items() for value, text in values]


def file_with(key: str, value: Any, **more: Any) -> dict[str, Any]:
    """The smallest file with one value more."""
    data: dict[str, Any] = {name: dict(block) if isinstance(block, dict) else block for name, block in {**SMALLEST, **more}.items()}
    inner, parts = data, key.split(".")
    for part in parts[:-1]:
        inner[part] = dict(inner.get(part, {}))
        inner = inner[part]
    inner[parts[-1]] = value
    return data


def problems(data: dict[str, Any], *, complete: bool = True) -> list[Problem]:
    return judge(prepared(data), complete=complete)[1]


def told(data: dict[str, Any]) -> list[str]:
    return [f"{render(problem.path)}: {problem.text}" for problem in problems(data)]


def test_on_and_off_without_quotes_are_not_taken_for_booleans() -> None:
    found = yaml.safe_load("on: [on, off]")[True]
    assert [Controllers.model_validate({"models": one}).models for one in found] == ["on", "off"]


def test_the_table_has_a_row_for_every_key() -> None:
    assert list(dict.fromkeys(ROWS)) == list(ROWS)
    assert set(ROWS) == {".".join(key) for key, _ in leaves()}


def test_the_smallest_file_is_accepted_and_one_key_less_is_not() -> None:
    assert told(SMALLEST) == []
    for section in ("apiVersion", "kind", "mpi", "rbac"):
        assert told({key: value for key, value in SMALLEST.items() if key != section}), section


@pytest.mark.parametrize("key", ROWS)
def test_defaults(key: str) -> None:
    dumped = judge(prepared({}), complete=False)[0].model_dump()
    assert lookup(dumped, tuple(key.split("."))) == ROWS[key][0]


@pytest.mark.parametrize(("key", "value"), GOOD)
def test_good_values_are_taken(key: str, value: Any) -> None:
    configuration, found = judge(prepared(file_with(key, value)), complete=True)
    assert [problem for problem in found if problem.path == tuple(key.split("."))] == []
    assert lookup(configuration.model_dump(), tuple(key.split("."))) is not MISSING


@pytest.mark.parametrize(("key", "value", "sentence"), BAD)
def test_bad_values_are_refused_with_what_was_seen(key: str, value: Any, sentence: str) -> None:
    [problem] = [problem for problem in problems(file_with(key, value)) if problem.path == tuple(key.split("."))]
    assert problem.text.startswith(sentence)
    assert ", got " in problem.text


@pytest.mark.parametrize("key", ROWS)
def test_null_means_absent(key: str) -> None:
    if key not in ("apiVersion", "kind", *(f"mpi.{name}" for name in SMALLEST["mpi"]), *(f"rbac.{name}" for name in SMALLEST["rbac"])):
        assert told(file_with(key, None)) == []


@pytest.mark.parametrize(
    ("key", "zero", "default"),
    [
        ("server.metrics.port", 0, 8080),
        ("server.healthProbe.port", 0, 8081),
        ("server.webhook.port", 0, 9443),
        ("orchestrators.grove.terminationDelay", "0s", "15m"),
        ("orchestrators.grove.terminationDelay", "0", "15m"),
    ],
)
def test_zero_means_the_default_where_the_go_operator_takes_it_so(key: str, zero: Any, default: Any) -> None:
    configuration, found = judge(prepared(file_with(key, zero)), complete=True)
    assert found == []
    assert lookup(configuration.model_dump(), tuple(key.split("."))) == default


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("server.webhook.certProvisionMode", "managed"),
        ("server.webhook.secretName", "webhook-server-cert"),
        ("server.webhook.certDir", DIRECTORY),
        ("checkpoint.seccomp.profile", "profiles/block-iouring.json"),
        ("discovery.backend", "kubernetes"),
        ("logging.format", "json"),
        ("certificates.mutatingConfiguration", "dynamo-webhooks-mutating"),
        ("server.metrics.bindAddress", ""),
        ("ingress.hostSuffix", ""),
    ],
)
def test_an_empty_text_means_the_default_where_there_is_one(key: str, default: str) -> None:
    """As in the Go operator, whose files are accepted; but an empty address means all of them."""
    configuration, found = judge(prepared(file_with(key, "")), complete=True)
    assert found == []
    assert lookup(configuration.model_dump(), tuple(key.split("."))) == default


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        ({"leaderElection": {"enabled": True}}, ["leaderElection.id: must be set when leaderElection.enabled is true"]),
        ({"leaderElection": {"enabled": True, "id": "x"}}, []),
        ({"secrets": {"pull": "all"}}, ["secrets.namespaces: must name the namespaces whose Secrets may be read when secrets.pull is all"]),
        ({"secrets": {"pull": "labelled", "namespaces": ["a"]}}, []),
        ({"secrets": {"pull": "labelled"}, "namespace": {"restricted": "a"}}, []),
        ({"secrets": {"pull": "labelled"}, "namespace": {"allowed": ["a"]}}, []),
        (
            {"namespace": {"restricted": "a", "scope": {"leaseDuration": "10s"}}},
            ["namespace.scope.leaseRenewInterval: must be less than namespace.scope.leaseDuration 10s, got 10s"],
        ),
        ({"namespace": {"scope": {"leaseDuration": "10s"}}}, []),
        (
            {"namespace": {"restricted": "a", "scope": {"leaseDuration": "500ms", "leaseRenewInterval": "100ms"}}},
            [
                "namespace.scope.leaseDuration: must be at least 1s in restricted mode, for a Lease counts whole seconds, got 500ms",
            ],
        ),
        ({"serviceMesh": {"provider": "istio"}}, []),
        ({"serviceMesh": {"enabled": False, "provider": "istio", "istio": {"tlsMode": "MUTUAL"}}}, []),
        (
            {"serviceMesh": {"provider": "istio", "istio": {"tlsMode": "MUTUAL"}}},
            [
                "serviceMesh.istio.clientCertificate: must be set when serviceMesh.istio.tlsMode is MUTUAL",
                "serviceMesh.istio.privateKey: must be set when serviceMesh.istio.tlsMode is MUTUAL",
            ],
        ),
        ({"serviceMesh": {"provider": "istio", "istio": {"tlsMode": "MUTUAL", "clientCertificate": "c", "privateKey": "k"}}}, []),
        ({"serviceMesh": {"istio": {"tlsMode": "MUTUAL"}}}, []),
        ({"mpi": {}}, ["mpi.sshSecretName: must be set", "mpi.sshSecretNamespace: must be set"]),
        (
            {"rbac": {"plannerClusterRoleName": "p"}},
            [
                "rbac.dgdrProfilingClusterRoleName: must be set unless namespace.restricted is",
                "rbac.eppClusterRoleName: must be set unless namespace.restricted is",
            ],
        ),
        ({"rbac": {}, "namespace": {"restricted": "a"}}, []),
    ],
)
def test_rules_across_keys(block: dict[str, Any], wanted: list[str]) -> None:
    assert told({**SMALLEST, **block}) == wanted


def test_a_mesh_that_is_switched_on_shows_its_defaults() -> None:
    configuration, _ = judge({**SMALLEST, "serviceMesh": {"provider": "istio"}}, complete=True)
    istio = configuration.model_dump()["serviceMesh"]["istio"]
    assert (istio["tlsMode"], istio["insecureSkipVerify"]) == ("SIMPLE", True)
    assert projection.reconciler(configuration).mesh is not None


def test_an_unknown_key_is_named_with_its_neighbours_and_its_right_place() -> None:
    data = {**SMALLEST, "server": {"webhook": {"prot": 1}, "certDir": "/x"}, "nonsense": {"a": {}}}
    found = {render(problem.path): problem for problem in problems(data)}
    assert set(found) == {"server.webhook.prot", "server.certDir", "nonsense"}
    assert "port" in found["server.webhook.prot"].known
    assert found["server.certDir"].elsewhere == ("server.webhook.certDir",)
    assert "serving" in found["nonsense"].known


def test_everything_wrong_is_told_at_once() -> None:
    data = {
        **SMALLEST,
        "server": {"webhook": {"port": "x"}},
        "dra": [],
        "mpi": {},
        "leaderElection": {"enabled": True},
        "logging": {"level": 1},
    }
    assert [line.partition(":")[0] for line in told(data)] == [
        "server.webhook.port",
        "dra",
        "logging.level",
        "mpi.sshSecretName",
        "mpi.sshSecretNamespace",
        "leaderElection.id",
    ]


def test_a_section_that_is_no_mapping_is_told_once() -> None:
    assert told({**SMALLEST, "mpi": "ssh"}) == ['mpi: must be a mapping, got "ssh"']


def test_a_password_in_a_url_is_not_shown() -> None:
    [problem] = problems(file_with("infrastructure.modelExpressURL", "http://user:secret@host:99999"))
    assert "secret" not in problem.text
    assert "user" in problem.text


def test_own_sections_are_named_as_such() -> None:
    assert set(OWN) <= set(OperatorConfiguration().model_dump())


def configured(**blocks: Any) -> OperatorConfiguration:
    configuration, found = judge({**SMALLEST, **blocks}, complete=True)
    assert found == []
    return configuration


@pytest.mark.parametrize(
    ("written", "mode"),
    [
        ("auto", "managed"),
        ("manual", "provided"),
        ("managed", "managed"),
        ("provided", "provided"),
        ("external-injection", "external-injection"),
    ],
)
def test_old_words_for_certificate_modes_are_mapped(written: str, mode: str) -> None:
    assert projection.provisioner(configured(server={"webhook": {"certProvisionMode": written}})).mode == mode


def test_names_follow_the_serving_secret_unless_given() -> None:
    found = projection.provisioner(configured(server={"webhook": {"secretName": "s"}}, certificates={"leaseName": "mine"}))
    assert (found.serving_secret, found.ca_secret, found.trust, found.lease) == ("s", "s-ca", "s-trust", "mine")


def test_a_lease_is_renewed_three_times_within_its_duration() -> None:
    scope = {"leaseDuration": "30s", "leaseRenewInterval": "25s"}
    assert projection.server(configured(namespace={"restricted": "a", "scope": scope})).scope.renew == 10
    assert projection.server(configured(namespace={"scope": {"leaseRenewInterval": "4s"}})).scope.renew == 4


@pytest.mark.parametrize(
    ("operator", "principal"),
    [
        ({"namespace": "ns", "serviceAccount": "sa"}, "system:serviceaccount:ns:sa"),
        ({"namespace": "ns"}, ""),
        ({"serviceAccount": "sa"}, ""),
        ({}, ""),
    ],
)
def test_the_principal_needs_both_names(operator: dict[str, str], principal: str) -> None:
    assert projection.server(configured(operator=operator)).identity.principal == principal


def test_records_carry_what_the_file_says() -> None:
    found = configured(
        server={"webhook": {"host": "::", "port": 1}, "metrics": {"port": 2, "secure": False}, "healthProbe": {"port": 3}},
        serving={"profile": "1.2", "workers": 4, "drainLag": "1s", "limits": {"admissionBody": "1Mi", "connections": 5}},
        logging={"level": "warn", "format": "console"},
        orchestrators={"grove": {"enabled": False}},
        checkpoint={"enabled": True, "seccomp": {"disabled": True}},
        leaderElection={"enabled": True, "id": "lock"},
        operator={"namespace": "ns"},
    )
    serve, reconcile = projection.server(found), projection.reconciler(found)
    assert (serve.webhook, serve.metrics.port, serve.metrics_secure, serve.probes.port) == (("::", 1), 2, False, 3)
    assert (serve.profile, serve.workers, serve.drain_lag, serve.bounds.admission_body, serve.bounds.connections) == ("1.2", 4, 1, 2**20, 5)
    assert (serve.logs.level, serve.logs.console, serve.features.grove, serve.features.dra) == ("warning", True, False, None)
    assert (reconcile.checkpoint.enabled, reconcile.checkpoint.seccomp_profile) == (True, "")
    assert (reconcile.leader_lease, reconcile.leader_namespace, reconcile.mesh) == ("lock", "ns", None)
    assert projection.reconciler(configured()).leader_lease == ""
