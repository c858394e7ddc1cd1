"""Every key of the OperatorConfiguration: values that it takes, values that it refuses and with which sentence.

Each key of the Go operator's file is known with the default that it has there, or with another for a reason.
"""

import re
from typing import Any, Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.api.operator.amounts import amount, seconds, size, span
from dynamo_webhooks.api.operator.configuration import API_VERSION, KIND, OWN, OperatorConfiguration, leaves
from dynamo_webhooks.api.operator.judge import Problem, drop_absent_values, validate_configuration
from dynamo_webhooks.api.operator.section import dump
from dynamo_webhooks.api.paths import MISSING, format_path, lookup

SMALLEST: Final[dict[str, Any]] = {
    "apiVersion": API_VERSION,
    "kind": KIND,
    "rbac": {"plannerClusterRoleName": "p", "dgdrProfilingClusterRoleName": "q", "eppClusterRoleName": "e"},
    "mpi": {"sshSecretName": "key", "sshSecretNamespace": "dynamo-system"},
}
LEAVES: Final = {".".join(path): each for path, each in leaves()}
NUMBER: Final = re.compile(r"an integer from (\d+) to (\d+)")
SPAN: Final = re.compile(r"a duration such as 30s, 15m or 4h, (at least|more than) (\S+?)(?: and at most (\S+))?")
# by the words for what is allowed: values that are, and values that are not
FORMS: Final[dict[str, tuple[list[Any], list[Any]]]] = {
    "a string": (["a", ""], [5, True, {}]),
    "a URL such as https://docs.example.org/": (["https://a.example/b", ""], ["a.example", "https://a b", 5]),
    "an absolute path, or a URL of file:// or gs://": (["/models", "gs://models", "file:///m", ""], ["http://x", "models", 5]),
    "true or false": ([True, False], ["true", 1, []]),
    "true, false, or absent for automatic detection": ([True, False], ["auto", 0]),
    "a DNS name of at most 253 lower-case letters, digits, hyphens and dots": (["a.b"], ["Not A Name", "a" * 254, 5]),
    "a DNS label of at most 63 lower-case letters, digits and inner hyphens": (["a-b"], ["a.b", "a" * 64, 5]),
    "a list of non-empty strings": ([["a"], ["a", "B"]], ["a", [""], [5], {}]),
    "a list of DNS labels, each once": ([["a"], ["a", "b"]], ["a", [""], ["A"], ["a.b"], ["a", "a"], [5]]),
    "a size such as 65536, 64Ki, 7Mi or 1Gi": (["1Gi", 65536], ["7MB", 0, "-1", 1.5, True]),
    "a size such as 64Mi or 2Gi, or absent": (["2Gi"], ["", "7MB", True]),
}


def values_of(allowed: str) -> tuple[list[Any], list[Any]]:
    """Values that a key takes and values that it refuses, by the words for what it allows."""
    if allowed in FORMS:
        return FORMS[allowed]
    if allowed.startswith("one of "):
        return allowed.removeprefix("one of ").split(", "), ["neither", allowed, {}]
    if match := NUMBER.fullmatch(allowed):
        low, high = map(int, match.groups())
        return [low or 1, high], [low - 1, high + 1, str(high), high - 0.5, True]
    match = SPAN.fullmatch(allowed)
    assert match is not None, allowed
    bound, first, last = match.groups()
    least = seconds(first)
    assert least is not None
    below = [first] if bound == "more than" else [span(least * 0.9)] if least else []
    above = [span(2 * (seconds(last) or 0))] if last else []
    fine = [span(least + 1), *([] if below == [first] else [first]), *([last] if last else [])]
    return [each for each in fine if each != "0s"], [*below, *above, 30, "30", "-1s", "1 s", "", "999999999h"]


GOOD: Final = [(key, value) for key, each in LEAVES.items() for value in values_of(each.allowed.text)[0]]
BAD: Final = [(key, value) for key, each in LEAVES.items() for value in values_of(each.allowed.text)[1]]


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
    return validate_configuration(drop_absent_values(data), complete=complete)[1]


def told(data: dict[str, Any]) -> list[str]:
    return [f"{format_path(problem.path)}: {problem.text}" for problem in problems(data)]


def test_on_and_off_without_quotes_are_not_taken_for_booleans() -> None:
    values = yaml.safe_load("on: [on, off]")[True]
    assert [configured(controllers={"models": value}).controllers.models for value in values] == ["on", "off"]


def test_the_smallest_file_is_accepted_and_one_key_less_is_not() -> None:
    assert told(SMALLEST) == []
    for section in ("apiVersion", "kind", "mpi", "rbac"):
        assert told({key: value for key, value in SMALLEST.items() if key != section}), section


def test_a_default_is_allowed(subtests: pytest.Subtests) -> None:
    for key, each in LEAVES.items():
        with subtests.test(key=key):
            written = lookup(dump(OperatorConfiguration()), tuple(key.split(".")))
            assert written is None or written == "" or each.allowed.read(written) == each.default


def test_good_values_are_taken(subtests: pytest.Subtests) -> None:
    for key, value in GOOD:
        with subtests.test(f"{key}: {value!r}"[:100]):
            configuration, faults = validate_configuration(
                drop_absent_values(file_with(key, value, certificates={"caValidity": "36500d"})), complete=True
            )
            assert [problem for problem in faults if problem.path == tuple(key.split("."))] == []
            assert lookup(dump(configuration), tuple(key.split("."))) is not MISSING


def test_bad_values_are_refused_with_what_is_allowed_and_what_was_seen(subtests: pytest.Subtests) -> None:
    for key, value in BAD:
        with subtests.test(f"{key}: {value!r}"[:100]):
            [problem] = [problem for problem in problems(file_with(key, value)) if problem.path == tuple(key.split("."))]
            assert problem.text.startswith(f"must be {LEAVES[key].allowed.text}")
            assert ", got " in problem.text


@pytest.mark.parametrize("value", ["http://h:99999", "http://a b", "http://h/%zz", "http://["])
def test_an_address_must_be_a_url(value: str) -> None:
    assert [text.partition(" a URL")[0] for text in told(file_with("infrastructure.modelExpressURL", value))] == [
        "infrastructure.modelExpressURL: must be"
    ]
    for good in ("http://model-express:8001", "model-express", "a:b"):
        assert told(file_with("infrastructure.modelExpressURL", good)) == []


def test_null_means_absent() -> None:
    required = {"apiVersion", "kind", *(f"{block}.{name}" for block in ("mpi", "rbac") for name in SMALLEST[block])}
    assert [(key, messages) for key in LEAVES.keys() - required if (messages := told(file_with(key, None))) != []] == []


def test_zero_means_the_default_where_the_go_operator_takes_it_so(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, Any, Any]] = [
        ("server.metrics.port", 0, 8080),
        ("server.healthProbe.port", 0, 8081),
        ("server.webhook.port", 0, 9443),
        ("orchestrators.grove.terminationDelay", "0s", "15m"),
        ("orchestrators.grove.terminationDelay", "0", "15m"),
    ]
    for key, zero, default in rows:
        with subtests.test(key=key):
            configuration, faults = validate_configuration(drop_absent_values(file_with(key, zero)), complete=True)
            assert faults == []
            assert lookup(dump(configuration), tuple(key.split("."))) == default


def test_an_empty_text_means_the_default_where_there_is_one(subtests: pytest.Subtests) -> None:
    """As in the Go operator, whose files are accepted; but an empty address means all of them."""
    rows: list[tuple[str, str]] = [
        ("server.webhook.certProvisionMode", "managed"),
        ("server.webhook.secretName", "webhook-server-cert"),
        ("server.webhook.certDir", "/tmp/k8s-webhook-server/serving-certs"),  # noqa: S108 - the reference's default
        ("checkpoint.seccomp.profile", "profiles/block-iouring.json"),
        ("discovery.backend", "kubernetes"),
        ("logging.format", "json"),
        ("certificates.mutatingConfiguration", "dynamo-webhooks-mutating"),
        ("server.metrics.bindAddress", ""),
        ("ingress.hostSuffix", ""),
    ]
    for key, default in rows:
        with subtests.test(key=key, default=default):
            configuration, faults = validate_configuration(drop_absent_values(file_with(key, "")), complete=True)
            assert faults == []
            assert lookup(dump(configuration), tuple(key.split("."))) == default


def test_rules_across_keys() -> None:
    rows: list[tuple[dict[str, Any], list[str]]] = [
        ({"leaderElection": {"enabled": True}}, ["leaderElection.id: must be set when leaderElection.enabled is true"]),
        ({"leaderElection": {"enabled": True, "id": "x"}}, []),
        ({"secrets": {"pull": "all"}}, ["secrets.namespaces: must name the namespaces whose Secrets may be read when secrets.pull is all"]),
        ({"secrets": {"pull": "labelled", "namespaces": ["a"]}}, []),
        ({"secrets": {"pull": "labelled"}, "namespace": {"restricted": "a"}}, []),
        (
            {"orchestrators": {"volcanoScheduler": {"enabled": True}, "kaiScheduler": {"enabled": True}}},
            ["orchestrators.volcanoScheduler.enabled: must be false when kaiScheduler.enabled is true; choose one of both"],
        ),
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
        (
            {"certificates": {"leafValidity": "31d", "caValidity": "30d"}},
            ["certificates.leafValidity: must be at most certificates.caValidity 720h, got 744h"],
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
    ]
    assert [(block, messages) for block, wanted in rows if (messages := told({**SMALLEST, **block})) != wanted] == []


def test_an_unknown_key_is_named_with_its_neighbours_and_its_right_place() -> None:
    data = {**SMALLEST, "server": {"webhook": {"prot": 1}, "certDir": "/x"}, "nonsense": {"a": {}}}
    by_path = {format_path(problem.path): problem for problem in problems(data)}
    assert set(by_path) == {"server.webhook.prot", "server.certDir", "nonsense"}
    assert "port" in by_path["server.webhook.prot"].known
    assert by_path["server.certDir"].elsewhere == ("server.webhook.certDir",)
    assert "serving" in by_path["nonsense"].known


def test_a_key_that_is_gone_is_refused_with_what_to_do_instead() -> None:
    [problem] = problems({**SMALLEST, "serving": {"workers": 2}})
    assert problem == (
        ("serving", "workers"),
        "must be removed: a pod serves with one process; raise the replicas of the server's Deployment instead",
        (),
        (),
    )


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


def configured(**blocks: Any) -> OperatorConfiguration:
    configuration, faults = validate_configuration({**SMALLEST, **blocks}, complete=True)
    assert faults == []
    return configuration


def test_a_lease_is_renewed_three_times_within_its_duration() -> None:
    scope = {"leaseDuration": "30s", "leaseRenewInterval": "25s"}
    assert configured(namespace={"restricted": "a", "scope": scope}).namespace.claims.renew == 10
    assert configured(namespace={"scope": {"leaseRenewInterval": "4s"}}).namespace.claims.renew == 4


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
    assert configured(operator=operator).operator.principal == principal


def test_values_that_follow_from_several_keys() -> None:
    config = configured(
        namespace={"allowed": ["b", "a"]},
        orchestrators={"grove": {"enabled": False}},
        checkpoint={"enabled": True, "onReady": "roll", "seccomp": {"disabled": True}},
        leaderElection={"enabled": True, "id": "lock"},
        operator={"namespace": "ns"},
        secrets={"pull": "all", "mpiKeys": "perGraph"},
    )
    assert (config.leader_election.lease, config.leader_namespace, configured().leader_election.lease) == ("lock", "ns", "")
    assert (config.namespace.watched, configured().namespace.watched, config.pull_secret_namespaces) == (("a", "b"), ("",), ("a", "b"))
    assert (config.switches, [*config.switched_off]) == ({"grove": False, "lws": None, "dra": None}, ["grove"])
    assert (config.checkpoint.roll, config.checkpoint.seccomp.injected, config.secrets.key_per_graph) == (True, "", True)
    assert [configured(operator={"version": version}).gms_snapshot for version in ("1.2.0", "1.5.0")] == [False, True]


@pytest.mark.parametrize(("enabled", "there"), [(None, True), (True, True), (False, False)])
def test_a_mesh_is_istio_unless_disabled(enabled: bool | None, there: bool) -> None:
    switch = {} if enabled is None else {"enabled": enabled}
    assert configured(serviceMesh={"provider": "linkerd", **switch}).service_mesh.active is None
    assert (configured(serviceMesh={"provider": "istio", **switch}).service_mesh.active is not None) == there


def test_spans_are_read() -> None:
    rows: list[tuple[str, float]] = [
        ("30s", 30),
        ("1h30m", 5400),
        ("250ms", 0.25),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("0", 0),
        ("+1m", 60),
        ("-1m", -60),
        ("2d", 172800),
        ("1us", 1e-6),
    ]
    assert [(text, length, parsed) for text, length in rows if (parsed := seconds(text)) != pytest.approx(length)] == []


def test_other_texts_are_no_spans() -> None:
    assert [
        (text, parsed)
        for text in ("", "s", "30", "1 s", "1s ", "s1", "1y", "1h-30m", ".s", "9999999999h", "1e3s", "１s")
        if (parsed := seconds(text)) is not None
    ] == []


@given(st.integers(min_value=-(10**12), max_value=10**12))
def test_a_written_span_is_read_as_the_same(milliseconds: int) -> None:
    assert seconds(span(milliseconds / 1000)) == pytest.approx(milliseconds / 1000, abs=1e-4)


@given(st.integers(min_value=1, max_value=2**50))
def test_a_written_size_is_read_as_the_same(count: int) -> None:
    assert size(amount(count)) == count


def test_other_texts_are_no_sizes() -> None:
    assert [(text, parsed) for text in ("", "0", "-1", "1.5Mi", "7MB", "7 Mi", "07") if (parsed := size(text)) is not None] == []


ANY: Final = "0.0.0.0"  # noqa: S104 - the reference's default, listened on by nobody here
# "" where the reference's default is empty
REFERENCE: Final[dict[str, Any]] = {
    "apiVersion": "operator.config.dynamo.nvidia.com/v1alpha1",
    "kind": "OperatorConfiguration",
    "server.metrics.bindAddress": ANY,
    "server.metrics.port": 8080,
    "server.metrics.secure": True,
    "server.healthProbe.bindAddress": ANY,
    "server.healthProbe.port": 8081,
    "server.webhook.host": ANY,
    "server.webhook.bindAddress": "",
    "server.webhook.port": 9443,
    "server.webhook.certDir": "/tmp/k8s-webhook-server/serving-certs",  # noqa: S108 - read by nobody here
    "server.webhook.certProvisionMode": "auto",
    "server.webhook.secretName": "webhook-server-cert",
    "server.webhook.serviceName": "",
    "leaderElection.enabled": False,
    "leaderElection.id": "",
    "leaderElection.namespace": "",
    "namespace.restricted": "",
    "namespace.scope.leaseDuration": "30s",
    "namespace.scope.leaseRenewInterval": "10s",
    "orchestrators.grove.enabled": None,
    "orchestrators.grove.terminationDelay": "15m",
    "orchestrators.lws.enabled": None,
    "orchestrators.kaiScheduler.enabled": None,
    "dra.enabled": None,
    "infrastructure.natsAddress": "",
    "infrastructure.etcdAddress": "",
    "infrastructure.modelExpressURL": "",
    "infrastructure.prometheusEndpoint": "",
    "ingress.virtualServiceGateway": "",
    "ingress.controllerClassName": "",
    "ingress.controllerTLSSecretName": "",
    "ingress.hostSuffix": "",
    "serviceMesh.provider": "",
    "serviceMesh.istio.tlsMode": "SIMPLE",
    "serviceMesh.istio.insecureSkipVerify": True,
    "serviceMesh.istio.clientCertificate": "",
    "serviceMesh.istio.privateKey": "",
    "serviceMesh.istio.caCertificates": "",
    "rbac.plannerClusterRoleName": "",
    "rbac.dgdrProfilingClusterRoleName": "",
    "rbac.eppClusterRoleName": "",
    "mpi.sshSecretName": "",
    "mpi.sshSecretNamespace": "",
    "checkpoint.enabled": False,
    "checkpoint.seccomp.disabled": False,
    "checkpoint.seccomp.profile": "profiles/block-iouring.json",
    "checkpoint.storage.type": "",
    "checkpoint.storage.pvc.pvcName": "",
    "checkpoint.storage.pvc.basePath": "",
    "checkpoint.storage.pvc.create": False,
    "checkpoint.storage.pvc.size": "",
    "checkpoint.storage.pvc.storageClassName": "",
    "checkpoint.storage.pvc.accessMode": "",
    "checkpoint.storage.s3.uri": "",
    "checkpoint.storage.s3.credentialsSecretRef": "",
    "checkpoint.storage.oci.uri": "",
    "checkpoint.storage.oci.credentialsSecretRef": "",
    "discovery.backend": "kubernetes",
    "gpu.discoveryEnabled": True,
    "logging.level": "info",
    "logging.format": "json",
    "security.enableHTTP2": False,
}
# ours is another one, and why
OTHERWISE: Final = {
    "server.webhook.host": ("", "all addresses, IPv6 too"),
    "server.webhook.certProvisionMode": ("managed", "the honest name of `auto`, which is taken as well"),
    "server.webhook.serviceName": ("dynamo-webhooks", "an empty name makes certificates for nobody"),
}
# keys of the later line 1.5, absent in 1.2
LATER: Final = {
    "orchestrators.volcanoScheduler.enabled",
    "serviceMesh.enabled",
    "checkpoint.cleanupImage",
    "lpx.enabled",
    "lpx.modelRegistryURL",
}
# keys of ours within sections of the reference
ADDED: Final = {
    "checkpoint.onReady",
    "checkpoint.fallback",
    "server.metrics.namespaceLabel",
    "namespace.scope.grace",
    "namespace.scope.maxSkew",
    "namespace.scope.claimable",
    "gpu.metricsEndpointTemplate",
    "namespace.allowed",
    "server.webhook.clientCA",
    "server.webhook.clientNames",
}


def test_its_default_is_that_of_the_reference_or_another_for_a_reason(subtests: pytest.Subtests) -> None:
    for key in REFERENCE:
        with subtests.test(key=key):
            default = lookup(dump(OperatorConfiguration()), tuple(key.split(".")))
            assert default is not MISSING
            assert default == (OTHERWISE[key][0] if key in OTHERWISE else REFERENCE[key])


def test_no_key_of_the_reference_is_missing_and_ours_stand_apart() -> None:
    known = {".".join(key) for key, _ in leaves()}
    assert known >= REFERENCE.keys()
    assert {key for key in known - REFERENCE.keys() if key.split(".")[0] not in OWN} == ADDED | LATER


def test_keys_are_those_of_the_operator_s_release() -> None:
    """E63, E64 and NO2 of the worked examples."""
    rows: list[tuple[str, dict[str, Any], list[str]]] = [
        ("1.2.0", {"lpx": {"enabled": False}}, ["lpx"]),
        ("1.5.0", {"lpx": {"enabled": False}}, ["lpx"]),
        ("1.6.0", {"lpx": {"enabled": False, "modelRegistryURL": "gs://models"}}, []),
        ("1.6.0", {"lpx": {"modelRegistryURL": "http://x"}}, ["lpx.modelRegistryURL"]),
        ("1.4.0", {"checkpoint": {"storage": {"type": "pvc"}}}, []),
        ("1.5.0", {"checkpoint": {"storage": {"type": "pvc"}, "cleanupImage": "i"}}, ["checkpoint.storage", "checkpoint.cleanupImage"]),
    ]
    for version, more, wanted in rows:
        faults = problems({**SMALLEST, "operator": {"version": version}, **more}, complete=False)
        assert [format_path(problem.path) for problem in faults] == wanted, version
