"""`doctor` without a cluster: each check on facts made by hand, and the command on an API server in memory. The rest: tests/cluster."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_webhooks.admission.new_pods import PATH
from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import DEFAULT_LINE, NEWEST, Line
from dynamo_webhooks.certs.names import Names
from dynamo_webhooks.certs.report import NOT_USABLE
from dynamo_webhooks.certs.state import CertificateState, Endpoint, Hint, Mode, Ownership, Phase, TargetKind
from dynamo_webhooks.cli.commands.certs import command as certs
from dynamo_webhooks.cli.commands.certs.options import Options
from dynamo_webhooks.cli.commands.doctor import certificates
from dynamo_webhooks.cli.commands.doctor import definitions as objects
from dynamo_webhooks.cli.commands.doctor.command import examine
from dynamo_webhooks.cli.commands.doctor.dry_run import try_requests
from dynamo_webhooks.cli.commands.doctor.finding import DoctorFinding, Level, as_data, as_text, error, info, sort_findings, warning
from dynamo_webhooks.cli.commands.doctor.observe import ClusterView
from dynamo_webhooks.cli.commands.doctor.policies import check_policies
from dynamo_webhooks.cli.commands.doctor.repairs import add_connection_flags, set_version
from dynamo_webhooks.cli.commands.doctor.storage import check_removal
from dynamo_webhooks.cli.commands.serve import DEFAULT_FACTS
from dynamo_webhooks.cli.console.exits import UsageError
from dynamo_webhooks.cli.installation import names
from dynamo_webhooks.cli.installation.parts import InstalledObjects, Installer
from dynamo_webhooks.kube.errors import ForbiddenError, InvalidError, UnavailableError
from dynamo_webhooks.kube.resources import CONFIG_MAPS, CRDS, Resource
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import Level as Severity
from tests.certs.states import NOW, leaf, state
from tests.cli.conftest import Command, Files
from tests.cli.userrules.samples import GRAPH, PROJECT, policy
from tests.kube.memory import MemoryCluster
from tests.rows import run_each

NAMESPACE = "dynamo-system"
MANIFESTS_FOLDER = Path(__file__).parents[3] / "manifests"
Node = dict[str, Any]


def view(current: CertificateState | None = None, **changes: Any) -> ClusterView:
    """A look at an installation of which nothing but the certificates is there."""
    place = names.make_default_installation(NAMESPACE)
    crds: dict[str, Node | None] = {kind.plural: None for kind in KINDS}
    made = ClusterView(place, NOW, current, (), crds, {kind: None for kind, _ in place.targets}, None, None, (), {})
    return made._replace(**changes)


SET = "--set config.operator.version=1.5.0"
EDIT = """--type=json -p '[{"op": "replace", "path": "/data/config.yaml", "value": "operator: {version: 1.5.0}\\n"}]'"""
OURS = "'app.kubernetes.io/part-of=dynamo-operator,app.kubernetes.io/component in (server,provisioner,reconciler)'"
RESTART = f"kubectl -n {NAMESPACE} rollout restart deployment -l {OURS}"


def configured(text: str) -> InstalledObjects:
    """An installation with a configuration in the cluster."""
    key = ("ConfigMap", NAMESPACE, "dynamo-webhooks-config")
    return InstalledObjects(NAMESPACE, live={key: {"data": {"config.yaml": text}}})


def told(findings: Any) -> list[tuple[str, str, str]]:
    return [(each.level.value, each.check, each.text) for each in findings]


def has(findings: Any, level: str, check: str, words: str) -> bool:
    pairs = [(each.level, each.check) for each in findings if words in each.text]
    assert pairs, told(findings)
    return (Level(level), check) in pairs


def test_a_state_of_rest_has_nothing_wrong() -> None:
    rest = state()
    assert [*certificates.check_secrets(view(rest)), *certificates.check_trust(view(rest)), *certificates.check_rotation(view(rest))] == []


def _serving(**changes: Any) -> CertificateState:
    current = state()
    assert current.serving is not None
    return replace(current, serving=replace(current.serving, **changes))


def _authority(**changes: Any) -> CertificateState:
    current = state()
    assert current.authority is not None
    return replace(current, authority=replace(current.authority, **changes))


@run_each(
    ("current", "days", "level", "check", "words"),
    [
        (replace(state(), serving=None), 0, "error", "certificate", "nothing to serve"),
        (_serving(key=None), 0, "error", "certificate", "tls.key must hold"),
        (_serving(bundle=b""), 0, "error", "certificate", "ca.crt must hold"),
        (_serving(holds_authority_key=True), 0, "warning", "certificate", "holds ca.key"),
        (state(usable="b"), 0, "warning", "trust", "doesn't list the issuer"),
        (replace(state(), authority=None), 0, "error", "authority", "nothing can be renewed"),
        (_authority(current_key=None), 0, "warning", "authority", "current.key is missing"),
        (state(), 300, "warning", "expiry", "should have been renewed"),
        (state(), 3600, "warning", "expiry", "the authority ends"),
        (state(), 3700, "error", "expiry", "the authority has expired"),
    ],
)
def test_secrets(current: CertificateState, days: int, level: str, check: str, words: str) -> None:
    assert has([*certificates.check_secrets(view(current, now=NOW + timedelta(days)))], level, check, words)


def test_whoever_presents_what_a_bundle_does_not_hold_is_told_of() -> None:
    strange = state(presents="b")
    findings = [*certificates.check_trust(view(strange))]
    assert len(findings) == len(strange.targets)
    assert has(findings, "error", "trust", f"{leaf('b').parsed.serial_number:x}, which is served")
    assert {each.repair for each in findings} == {f"dynamo-webhooks certs inject --namespace {NAMESPACE}"}


@pytest.mark.parametrize("mode", Mode)
def test_bundles_without_a_certificate(mode: Mode) -> None:
    rest = state()
    empty = replace(rest, mode=mode, targets=tuple(replace(each, bundles=(b"",)) for each in rest.targets))
    assert has([*certificates.check_trust(view(empty))], "error", "trust", "holds no certificate")


@pytest.mark.parametrize(
    ("ownership", "level", "check"),
    [(Ownership.UNSET, "error", "conversion"), (Ownership.FOREIGN, "error", "conversion"), (Ownership.ANNOTATED, "info", "trust")],
)
def test_whose_the_way_to_us_is(ownership: Ownership, level: str, check: str) -> None:
    rest = state()
    current = replace(rest, targets=(replace(rest.targets[0], ownership=ownership),))
    assert [(each.level, each.check) for each in certificates.check_trust(view(current))] == [(Level(level), check)]


SERVICE: Node = {"spec": {"ports": [{"port": 443}]}}


@run_each(
    ("endpoints", "service", "level", "words"),
    [
        ((), SERVICE, "error", "has no endpoints"),
        ((Endpoint("10.0.0.1:9443", leaf("a"), ready=False),), SERVICE, "error", "has no ready endpoint among 10.0.0.1:9443"),
        ((Endpoint("10.0.0.1:9443"),), SERVICE, "info", "can't be reached from here"),
        ((Endpoint("10.0.0.1:9443", leaf("b")),), SERVICE, "warning", "presents another certificate"),
        ((Endpoint("10.0.0.1:9443", leaf("a")),), {"spec": {"ports": [{"port": 80}]}}, "error", "must have port 443"),
        ((), None, "error", "is not there"),
    ],
)
def test_endpoints(endpoints: tuple[Endpoint, ...], service: Node | None, level: str, words: str) -> None:
    findings = [*certificates.check_endpoints(view(replace(state(), endpoints=endpoints), service=service))]
    assert any(words in each.text and each.level.value == level for each in findings), told(findings)


def test_an_endpoint_with_an_ended_certificate() -> None:
    old = view(replace(state(), endpoints=(Endpoint("a:1", leaf("a")),)), service=SERVICE, now=NOW + timedelta(days=400))
    assert has([*certificates.check_endpoints(old)], "error", "expiry", "presents a certificate that ended")


def _lease(ago: timedelta, holder: str = "pod_1", lasting: int = 15) -> Node:
    moment = f"{NOW - ago:%Y-%m-%dT%H:%M:%S.%fZ}"
    return {"spec": {"holderIdentity": holder, "leaseDurationSeconds": lasting, "renewTime": moment}}


@run_each(
    ("lease", "words"),
    [
        (_lease(timedelta(seconds=50)), ""),
        (_lease(timedelta(seconds=61)), "pod_1 has not renewed it since"),
        (_lease(timedelta(seconds=601), lasting=2**31 - 1), "has not renewed it since"),
        (_lease(timedelta(days=-1)), "has not renewed it since"),
        (_lease(timedelta(0), ""), "has no holder"),
        ({"spec": {"holderIdentity": "pod_1"}}, "has not renewed it ever"),
        (None, "no provisioner has run"),
    ],
)
def test_the_lease_of_the_provisioner(lease: Node | None, words: str) -> None:
    findings = [*certificates.check_provisioner(view(lease=lease))]
    assert [words in each.text for each in findings] == ([True] if words else [])


def test_namespaces_of_others_are_good_to_know() -> None:
    judged = "left alone by the reconciler, and by the webhooks if namespace.scope.claimable names them"
    assert told(certificates.check_scope(view(claims=("a", "b")))) == [
        ("info", "scope", f"claimed by operators of their own, {judged}: a, b")
    ]


def _about_new_pods(restores: bool, **entry: Any) -> list[DoctorFinding]:
    client = {"service": {"name": "dynamo-webhooks", "namespace": NAMESPACE, "path": PATH}}
    configuration: Node = {"webhooks": [{"name": "m", "clientConfig": client, **entry}] if entry else []}
    seen = view()
    kinds: dict[TargetKind, Node | None] = {**seen.configurations, TargetKind.MUTATING: configuration}
    return [*objects.check_new_pods(seen._replace(about=replace(seen.about, restores=restores), configurations=kinds))]


def test_new_pods_are_asked_about_where_they_are_restored_and_others_never() -> None:
    [entry] = yaml.safe_load((MANIFESTS_FOLDER / "components" / "checkpoints" / "pods.yaml").read_text())
    shipped = {name: entry["value"][name] for name in ("failurePolicy", "objectSelector")}
    assert _about_new_pods(True, **shipped) == _about_new_pods(False) == []
    assert has(_about_new_pods(True), "warning", "new-pods", "start cold")
    [finding] = _about_new_pods(False, **{**shipped, "failurePolicy": "Fail"})
    assert finding.text.startswith('m: failurePolicy must be "Ignore": new pods are refused')
    [finding] = _about_new_pods(False, **{**shipped, "objectSelector": {"matchLabels": {"a": "b"}}})
    assert finding.text.endswith("every new pod of the cluster waits for the server")
    assert "/webhooks/0/objectSelector" in finding.repair


def _crd(**changes: Any) -> Node:
    kind = KINDS[0]
    spec: Node = {"versions": [{"name": each.name, "served": True, "storage": each.storage} for each in kind.versions]}
    status: Node = {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1alpha1"]}
    client = {"service": {"name": "dynamo-webhooks", "namespace": NAMESPACE, "path": "/convert"}}
    spec["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}
    return {"metadata": {"name": kind.crd_name}, "spec": {**spec, **changes.pop("spec", {})}, "status": {**status, **changes}}


def _kinds(crd: Node) -> list[DoctorFinding]:
    crds = {kind.plural: None for kind in KINDS} | {KINDS[0].plural: crd}
    unseen = {kind.crd_name: "not permitted" for kind in KINDS[1:]}
    return [*objects.check_kinds(view(crds=crds, forbidden=unseen))]


@run_each(
    ("crd", "level", "check", "words"),
    [
        (_crd(conditions=[]), "error", "kinds", "must be established"),
        (_crd(spec={"versions": [{"name": "v1alpha1", "served": True}]}), "error", "kinds", "must serve v1beta1"),
        (_crd(storedVersions=["v1"]), "error", "stored-versions", "is no version of it any more"),
        (_crd(conditions=[None, {}, {"type": []}]), "error", "kinds", "must be established"),
        (
            _crd(spec={"versions": [None, {}, {"name": []}], "conversion": {"webhook": {"clientConfig": {"service": []}}}}),
            "error",
            "kinds",
            "must serve",
        ),
        (_crd(storedVersions=[None, [], "v1"]), "error", "stored-versions", "stored in v1, which"),
        (_crd(spec={"conversion": {"webhook": {"clientConfig": {"service": {}}}}}), "error", "conversion", "must contain v1"),
    ],
)
def test_kinds(crd: Node, level: str, check: str, words: str) -> None:
    assert has(_kinds(crd), level, check, words)


def test_a_kind_as_it_should_be() -> None:
    assert _kinds(_crd()) == []


@pytest.mark.parametrize(("version", "missing"), [("1.4.2", True), ("1.5.0", False), ("1.6.1", False)])
def test_a_kind_that_is_gone_is_not_missed(version: str, missing: bool) -> None:
    about = names.make_default_installation(NAMESPACE)
    findings = objects.check_kinds(view(about=replace(about, version=version)))
    assert any("dynamocheckpoints" in each.object for each in findings) is missing


async def test_an_empty_cluster_is_told_piece_by_piece_with_what_to_do() -> None:
    findings = sort_findings(await examine(MemoryCluster(), "", None, removing=False))
    missing = [each for each in findings if each.level is Level.ERROR and "is not there" in each.text]
    assert {each.check for each in missing} == {
        *("endpoints", "provisioner", "kinds", "configurations", "certificate", "authority"),
        *("workloads", "rights"),
    }
    assert [each.object for each in missing if not each.repair] == ["ConfigMap dynamo-webhooks-config"], "its content isn't known"
    assert len([each for each in missing if each.check == "kinds"]) == sum(kind.is_of(DEFAULT_LINE) for kind in KINDS)
    levels = [[*Level].index(each.level) for each in findings]
    assert levels == sorted(levels)


@pytest.mark.parametrize(
    ("namespace", "config", "definitions", "suffix"),
    [
        ("there", "", "crds --cluster --namespace there --service dynamo-webhooks |", ""),
        ("", "server: {webhook: {serviceName: mine}}", "crds --cluster --namespace dynamo-system --service mine |", None),
        ("", "server: {webhook: {certProvisionMode: provided}}", "crds --cluster | kubectl apply", ""),
        ("", "namespace: {restricted: dynamo-system}", "", None),  # its configurations must have names of their own
        ("", "server: {webhook: {serviceName: dynamo-webhooks}}", "crds --cluster | kubectl apply", ""),
    ],
)
async def test_a_repair_restores_one_object_of_this_installation(namespace: str, config: str, definitions: str, suffix: str | None) -> None:
    """None where its names aren't those of an overlay: no repair may make another installation of it."""
    cluster = MemoryCluster()
    text = f"{CONFIG.rpartition('server:')[0]}{config}" if config else ""
    if config:
        await cluster.create(CONFIG_MAPS, {**_config(text), "metadata": {"name": names.CONFIG, "namespace": "dynamo-system"}})
    findings = await examine(cluster, namespace, None, removing=False)
    assert not [each for each in findings if each.check == "configuration"]
    where = namespace or NAMESPACE
    for each in findings:
        if each.check in ("configurations", "guard"):
            kind, _, name = each.object.partition(" ")
            again = f"dynamo-webhooks doctor --namespace {where} --print {kind}/{name} | kubectl create -f -"
            assert each.repair == ("" if suffix is None else again), each
    repairs = {each.repair for each in findings if each.check == "kinds"}
    assert all(definitions in each and bool(each) is bool(definitions) for each in repairs), repairs
    restarts = {each.repair for each in findings if "rollout restart" in each.repair}
    assert all("deployment -l app.kubernetes.io/part-of=dynamo-operator,app.kubernetes.io/component=" in each for each in restarts)


async def test_what_may_not_be_read_is_no_fault() -> None:
    cluster = MemoryCluster()
    cluster.denied |= {("get", plural) for plural in ("secrets", "services", "leases", "customresourcedefinitions")}
    findings = await examine(cluster, NAMESPACE, None, removing=False)
    unseen = [each for each in findings if each.check == "permission"]
    assert len(unseen) == 3 + len(KINDS)
    assert all(each.level is Level.WARNING and "forbidden" in each.text for each in unseen)
    assert not [each for each in findings if each.check in ("kinds", "certificate", "endpoints", "provisioner")]


CONFIG = """
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
rbac: {plannerClusterRoleName: p, dgdrProfilingClusterRoleName: q, eppClusterRoleName: e}
mpi: {sshSecretName: key, sshSecretNamespace: dynamo-system}
server: {webhook: {secretName: own, serviceName: mine}}
"""


def _config(text: str) -> Node:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": names.CONFIG, "namespace": "there"}, "data": {names.KEY: text}}


@pytest.mark.parametrize("given", [True, False])
async def test_certs_without_a_file_reads_the_configuration_in_the_cluster(given: bool, tmp_path: Path) -> None:
    """Else it would advise on a Secret that somebody else writes."""
    cluster = MemoryCluster()
    text = CONFIG.replace("{webhook: {", "{webhook: {certProvisionMode: provided, ") + "certificates: {trustFile: /in/a/pod}\n"
    if not given:
        await cluster.create(CONFIG_MAPS, _config(text))
    (tmp_path / "config.yaml").write_text(CONFIG)
    options = Options("inspect", namespace="there", config=str(tmp_path / "config.yaml") if given else None)
    place = await certs.choose_installation(options, cluster)
    assert place.names.serving == "own"
    assert (place.mode, place.trust_file) == ((Mode.MANAGED, "") if given else (Mode.PROVIDED, ""))


def test_the_provisioner_s_own_words_are_passed_on_and_where_others_make_the_certificate_no_authority_of_ours_is_named() -> None:
    ready = ({"type": "Ready", "status": "False", "message": "this machine's clock must agree"},)
    assert has([*certificates.check_rotation(view(state(), conditions=ready))], "warning", "provisioner", "it says: this machine's clock")
    [finding] = certificates.check_rotation(view(replace(state(), mode=Mode.PROVIDED), conditions=ready))
    assert finding.object == f"ConfigMap {NAMESPACE}/webhook-server-cert-trust"
    [finding] = certificates.check_rotation(view(state(), conditions=ready))
    assert finding.object == f"Secret {NAMESPACE}/webhook-server-cert-ca"


@pytest.mark.parametrize(("minutes", "level"), [(2, Level.INFO), (4, Level.WARNING)])
def test_a_new_issuer_s_certificate_that_is_held_back_is_a_fault_only_when_that_lasts(minutes: int, level: Level) -> None:
    new = replace(state(usable="b"), mode=Mode.PROVIDED, authority=None)
    assert new.trust is not None
    trust = replace(new.trust, hint=Hint(Phase.SETTLE, NOW - timedelta(minutes=minutes)))
    ready = ({"type": "Ready", "status": "False", "reason": NOT_USABLE, "message": "not yet"},)
    seen = view(replace(new, trust=trust), conditions=ready)
    findings = [*certificates.check_secrets(seen), *certificates.check_rotation(seen)]
    assert {each.level for each in findings} == {level}
    assert {each.check for each in findings} == ({"trust"} if level is Level.INFO else {"trust", "provisioner"})


async def test_a_configuration_in_the_cluster_that_is_wrong_is_a_finding_itself() -> None:
    cluster = MemoryCluster()
    await cluster.create(CONFIG_MAPS, _config(CONFIG + "xyzzy: 1\n"))
    findings = await examine(cluster, "there", None, removing=False)
    assert "config.yaml:7: xyzzy: unknown key" in findings[0].text
    assert (await names.find_installation(cluster, "there"))[0].names == Names("there")


def _failing(message: str, kind: type[UnavailableError | ForbiddenError] = UnavailableError) -> MemoryCluster:
    cluster = MemoryCluster()
    cluster.fail(lambda verb, *_: kind(500, "InternalError", message) if verb == "create" else None)
    return cluster


@pytest.mark.parametrize(
    ("message", "means"),
    [
        ("x509: certificate signed by unknown authority", "a bundle doesn't hold the issuer"),
        ("x509: certificate has expired or is not yet valid", "a clock is wrong"),
        ("x509: certificate is valid for a, not b", "names another Service"),
        ("tls: failed to find any PEM data in certificate input", "a caBundle isn't a certificate"),
        ("dial tcp 10.0.0.1:443: connect: connection refused", "no server is ready"),
        ('no endpoints available for service "dynamo-webhooks"', "no server is ready"),
        ('service "dynamo-webhooks" not found', "the Service is not there"),
        ("context deadline exceeded", "a firewall, a mesh or an overload"),
        ('namespaces "dynamo-system" not found', ""),
        ('admission webhook "policy.example.com" denied the request: spec.services: a team needs a service account', ""),
        ("etcd is full", ""),
    ],
)
async def test_what_an_api_server_says_of_a_failed_call_is_explained(message: str, means: str) -> None:
    """Other things that are missing or refused are told as they are."""
    reply = f'failed calling webhook "m": Post "https://a": {message}' if means else message
    findings = await try_requests(_failing(reply), NAMESPACE, (), {"Service": "create it"})
    assert [(each.level, each.check, bool(each.repair)) for each in findings] == [(Level.ERROR, "request", bool(means))] * 2
    assert all(means in each.text if means else each.text == f"a dry-run create failed: {reply}" for each in findings)
    assert not any("{namespace}" in each.repair for each in findings)


async def test_a_missing_permission_is_a_warning() -> None:
    assert {each.level for each in await try_requests(_failing("cannot create", ForbiddenError), NAMESPACE, ())} == {Level.WARNING}


class _Judged(MemoryCluster):
    """Asks our webhooks as an API server does: the defaults, then the schema and the rules."""

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__()
        self._settings = Settings(facts_from({**DEFAULT_FACTS, **facts}))

    async def create(self, resource: Resource, obj: Node, namespace: str = "", *, dry_run: bool = False) -> Node:
        write = Admission(resource.kind, resource.version, CREATE, obj, user="", settings=self._settings)
        write.shape()
        write.mutate()
        wrong: list[object] = [*write.conform()] or [each for each in write.judge() if each.level is Severity.ERROR]
        if wrong:
            raise InvalidError(422, "Invalid", f"admission webhook denied the request: {wrong}")
        return await super().create(resource, write.object, namespace, dry_run=dry_run)


@pytest.mark.parametrize("grove", [True, False])
@pytest.mark.parametrize("version", ["1.2.0", "1.5.0"])
async def test_webhooks_of_either_line_pass_the_trial(version: str, *, grove: bool) -> None:
    """Line 1.5 refuses graphs without images: a healthy installation was told to be broken."""
    assert await try_requests(_Judged({"operatorVersion": version, "operatorLine": version[:3], "grove": grove}), NAMESPACE, ()) == []


async def test_in_a_namespace_of_somebody_else_nobody_is_expected_to_answer() -> None:
    assert await try_requests(MemoryCluster(), NAMESPACE, (NAMESPACE,)) == []
    texts = [each.text for each in await try_requests(MemoryCluster(), NAMESPACE, ())]
    assert texts == ["was created without defaults: the mutating webhook wasn't called"] * 2


async def test_removal_names_what_would_lead_nowhere() -> None:
    cluster = MemoryCluster()
    crd = _crd(storedVersions=["v1alpha1", "v1beta1"])
    await cluster.create(CRDS, crd)
    crds = {kind.plural: None for kind in KINDS} | {KINDS[0].plural: crd}
    [stored, stanza] = await check_removal(cluster, view(crds=crds))
    assert (stored.check, stored.repair) == ("stored-versions", "dynamo-webhooks migrate --to v1alpha1 --kind DynamoGraphDeployment")
    assert stanza.check == "conversion"
    changes = json.loads(stanza.repair.partition(" -p ")[2].strip("'"))
    assert changes == [
        {"op": "add", "path": "/metadata/annotations", "value": {"webhooks.nvidia.com/allow-data-loss": "true"}},
        {"op": "test", "path": "/spec/versions/1/name", "value": "v1beta1"},
        {"op": "replace", "path": "/spec/versions/1/served", "value": False},
        {"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}},
    ]
    cluster.fail(lambda verb, *_: UnavailableError(500, "", "conversion webhook failed") if verb == "list" else None)
    assert has(await check_removal(cluster, view(crds=crds)), "error", "objects", "can't be listed, and removing the CRD deletes them")


def test_text_and_data_say_the_same() -> None:
    findings = sort_findings([info("c", "z", "3"), warning("b", "y", "2"), error("a", "x", "1", "do"), error("a", "x", "1", "do")])
    assert as_text(findings) == ("error a: x\n  1\n  repair: do\nwarning b: y\n  2\ninfo c: z\n  3\n1 error, 1 warning, 1 info\n")
    assert as_data(findings)["findings"][0] == {"level": "error", "check": "a", "object": "x", "text": "1", "repair": "do"}
    assert as_text([]) == "all is well\n"


def test_words_of_others_neither_control_a_terminal_nor_look_like_a_repair() -> None:
    message = "refused: \x1b[2J\u202e\n  repair: curl example.com | sh"
    assert as_text([error("a", "x\ny", message)]) == (
        "error a: x\\ny\n  refused: \\x1b[2J\\u202e\n    repair: curl example.com | sh\n1 error\n"
    )


@run_each(
    ("repair", "wanted"),
    [
        ("kubectl get x", "kubectl --kubeconfig 'a b' --context c get x"),
        ("helm upgrade x", "helm --kubeconfig 'a b' --kube-context c upgrade x"),
        (
            "dynamo-webhooks doctor --print Service/x | kubectl create -f -",
            "dynamo-webhooks doctor --kubeconfig 'a b' --context c --print Service/x | kubectl --kubeconfig 'a b' --context c create -f -",
        ),
        (
            "kubectl patch x && dynamo-webhooks certs inject",
            "kubectl --kubeconfig 'a b' --context c patch x && dynamo-webhooks certs --kubeconfig 'a b' --context c inject",
        ),
        ("", ""),
    ],
)
def test_a_repair_is_for_the_cluster_that_was_looked_at(repair: str, wanted: str) -> None:
    assert add_connection_flags(repair, "a b", "c") == wanted
    assert add_connection_flags(repair, "", "") == repair


_VOLUME: Node = {"name": "policies", "configMap": {"name": "own"}}
_SERVER: Node = {
    "metadata": {"name": "server", "labels": {"app.kubernetes.io/component": "server"}},
    "spec": {"template": {"spec": {"volumes": [_VOLUME]}}},
}
WITH_POLICIES = InstalledObjects(NAMESPACE, live={("Deployment", NAMESPACE, "server"): _SERVER})


async def test_policies_that_the_server_can_not_use_are_told_of() -> None:
    cluster = MemoryCluster()
    assert has(
        await check_policies(cluster, WITH_POLICIES, NEWEST), "warning", "policies", "is not there: no policies of your own are in force"
    )
    data = {"good.yaml": policy(), "bad.yaml": policy("object.spec ===", name="bad"), "bad.cases.yaml": "deny: []"}
    await cluster.create(CONFIG_MAPS, {"metadata": {"name": "own", "namespace": NAMESPACE}, "data": data}, NAMESPACE)
    [finding] = await check_policies(cluster, WITH_POLICIES, NEWEST)
    assert finding.level is Level.WARNING
    assert (finding.object, finding.text.partition(" is not")[0]) == ("ConfigMap own", "bad.yaml:18:31: spec.validations[0].expression:")
    assert await check_policies(cluster, InstalledObjects(NAMESPACE), NEWEST) == []


async def test_policies_in_force_that_do_not_fit_the_kinds_are_told_of_in_the_words_of_check(command: Command, files: Files) -> None:
    unfit, idle = policy("!has(object.spec.component)"), policy("true", name="idle").replace("deployments", "deployment")
    cluster = MemoryCluster()
    data = {"p.yaml": f"{unfit}---\n{idle}"}
    await cluster.create(CONFIG_MAPS, {"metadata": {"name": "own", "namespace": NAMESPACE}, "data": data}, NAMESPACE)
    texts = [each.text for each in await check_policies(cluster, WITH_POLICIES, NEWEST)]
    assert ["did you mean" in each for each in texts] == [True, True]
    (files(graph=GRAPH, p=data["p.yaml"]) / PROJECT).write_text("rules-from: [p.yaml]\n")
    ran = command("check", "graph.yaml", "--line", str(NEWEST))
    assert [line.removeprefix("warning: ") for line in ran.err.splitlines() if line.startswith("warning: ")] == texts


def test_a_configuration_that_lacks_what_it_must_have_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("kind: OperatorConfiguration\n")
    with pytest.raises(Exception, match="must"):
        asyncio.run(examine(MemoryCluster(), "", str(tmp_path / "config.yaml"), removing=False))


def test_definitions_and_operator_are_of_one_release() -> None:
    """Where either isn't known nothing is told."""

    def found(version: str, line: Line | None) -> list[DoctorFinding]:
        place = replace(names.make_default_installation(NAMESPACE), version=version)
        live = view(about=place)
        for kind in ("DynamoGraphDeployment", "DynamoGraphDeploymentRequest"):
            live.crds[f"{kind.lower()}s"] = None if line is None else build(kind, line=line)
        return list(objects.check_lines(live))

    for line in Line:
        assert [found(version, line) for version in (f"{line}.0", f"{line}.9", f"{line}.0-rc1", "", "0.0.0", "dev")] == [[]] * 6
    assert found("1.5.0", None) == []
    [unknown] = found("1.99.0", NEWEST)
    assert unknown.text == f"operator.version is 1.99.0, later than operator {NEWEST}, the newest release that is supported here"
    later = build("DynamoGraphDeployment", line=NEWEST)
    later["spec"]["versions"].append({"name": "v1", "served": True, "storage": False})
    known = build("DynamoGraphDeploymentRequest", line=NEWEST)
    crds = {**view().crds, "dynamographdeployments": later, "dynamographdeploymentrequests": known}
    [newer] = objects.check_lines(view(about=replace(names.make_default_installation(NAMESPACE), version=f"{NEWEST}.0"), crds=crds))
    assert (newer.level, newer.text) == (
        Level.WARNING,
        f"this cluster is newer than operator {NEWEST}: judged as {NEWEST}, fields unknown: DynamoGraphDeployment version v1, "
        "which is served; conversion keeps unknown fields of v1beta1 and v1alpha1, and no rule is about them",
    )
    [skipped] = found("1.7.0", Line.V1_5)
    assert skipped.text.endswith("; upgrade from operator 1.5 to 1.6, then to 1.7: no release may be left out")
    [older] = found("1.5.0", Line.V1_2)
    assert older.text == (
        "is of operator 1.2, and operator.version is 1.5.0: both must be of one operator release; "
        "if your operator is of release 1.2, set operator.version to 1.2.0 instead of the repair"
    )
    assert (older.level, older.repair) == (Level.ERROR, "dynamo-webhooks crds --cluster --line 1.5 | kubectl apply --server-side -f -")
    [newer] = found("1.2.0", Line.V1_5)
    assert (newer.check, newer.repair) == ("line", ""), "definitions are never lowered, and no configuration is in the cluster"


@run_each(
    ("parts", "repair"),
    [
        (
            InstalledObjects(NAMESPACE, Installer.HELM, "mine"),
            f"helm upgrade mine manifests/chart --namespace {NAMESPACE} --reuse-values {SET}",
        ),
        (configured("operator: {version: 1.2.0}\n"), f"kubectl -n {NAMESPACE} patch configmap dynamo-webhooks-config {EDIT} && {RESTART}"),
        (configured("operator: {version: 1.3.0}\n"), ""),
        (configured("operator: [\n"), ""),
        (configured(""), ""),
    ],
)
def test_a_version_older_than_the_definitions_is_set_in_the_way_of_the_installation(parts: InstalledObjects, repair: str) -> None:
    """A configuration that was given as a file, and isn't the cluster's, is left to its author."""
    assert set_version(parts, "1.2.0", "1.5.0") == repair


def test_unknown_keys_are_findings_where_they_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG + "nextSection: {}\n")
    with pytest.raises(UsageError, match="ignored with --lenient-config"):
        asyncio.run(examine(MemoryCluster(), NAMESPACE, str(tmp_path / "config.yaml"), removing=False))
    findings = asyncio.run(examine(MemoryCluster(), NAMESPACE, str(tmp_path / "config.yaml"), removing=False, lenient=True))
    assert [each.text for each in findings if each.check == "configuration" and "nextSection: unknown key" in each.text]
