"""A small world in memory: stored objects, servers that read them late, API servers that see bundles late, and one provisioner."""

import base64
import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.authority import KeyPair, issue_leaf, make_authority
from dynamo_webhooks.certs.certificate import Certificate, read_certificates
from dynamo_webhooks.certs.contents import make_content
from dynamo_webhooks.certs.delivery import Delivery, Gate, PairContent, Source
from dynamo_webhooks.certs.plan import next_step
from dynamo_webhooks.certs.policy import derive, is_outage
from dynamo_webhooks.certs.reading import read_authority, read_serving, read_target, read_trust
from dynamo_webhooks.certs.state import ROUND_APART, CertificateState, Endpoint, Mode, Phase, Profile, TargetKind, Timings
from dynamo_webhooks.certs.step import CreateAuthority, NoStep, Step, Wait, WriteBundle, WriteServing
from dynamo_webhooks.certs.store import as_object
from dynamo_webhooks.certs.trust import issuers, list_authorities

START = datetime(2026, 5, 17, 12, tzinfo=UTC)
PROFILE = Profile("dynamo-webhooks", "dynamo-system")
CALLED = names.Names("dynamo-system")
TIMINGS = Timings(drain=timedelta(minutes=10))
LAG = 10.0  # seconds an API server may be late; any settle time is longer
FILES_LATE = 90.0  # seconds a pod's mounted files may be late
TARGETS = (
    (TargetKind.VALIDATING, "validating"),
    (TargetKind.MUTATING, "mutating"),
    (TargetKind.CRD, "graphs"),
    (TargetKind.CRD, "requests"),
)
STRANGER = make_authority(START, generation=99)
Node = dict[str, Any]
STRANGER_CERTIFICATE = next(iter(read_certificates(STRANGER.certificate)))


@dataclass
class Server:
    """A pod with its served pair, and what chooses that."""

    leaf: Certificate | None = None
    silent: bool = False  # answers no probe, serves all the same
    mounted: bool = False  # whether it has read files, too
    delivery: Delivery = field(default_factory=lambda: Delivery(PROFILE.server_name))


@dataclass
class World:
    """Everything; `wall` is the API server's clock, `mono` is time that really passed."""

    mode: Mode = Mode.MANAGED
    wall: datetime = START
    mono: float = 0.0
    skew: timedelta = timedelta(0)
    timings: Timings = TIMINGS
    objects: dict[str, Node] = field(default_factory=dict)  # Secrets and the ConfigMap by name
    targets: dict[str, Node] = field(default_factory=dict)
    servers: list[Server] = field(default_factory=lambda: [Server(), Server(), Server()])
    views: list[dict[str, Node]] = field(default_factory=lambda: [{}, {}])  # per API server, each target as it sees it
    changed: dict[str, float] = field(default_factory=dict)  # when a target last changed
    foreign: set[str] = field(default_factory=set)  # versions that another client wrote
    excused: set[str] = field(default_factory=set)  # leaves whose issuer is unknown to all
    rescues: set[str] = field(default_factory=set)  # offered while nothing was served: there the outage ends with the last reader
    history: list[tuple[float, Node | None]] = field(default_factory=list)  # the serving Secret
    rounds: dict[int, tuple[str, int, float]] = field(default_factory=dict)  # the provisioner's memory of probes
    steps: list[Step] = field(default_factory=list)
    versions: int = 0

    def __post_init__(self) -> None:
        for _, name in TARGETS:
            self.apply(name)
        self.advance(LAG)

    # what others do

    def apply(self, name: str) -> None:
        """Applies the manifest, which never has a bundle."""
        kind = next(kind for kind, known in TARGETS if known == name)
        config = {"service": {"name": PROFILE.service, "namespace": PROFILE.namespace, "path": "/convert"}}
        if kind is TargetKind.CRD:
            node: Node = {
                "spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]}}}
            }
        else:
            node = {"webhooks": [{"name": "a", "clientConfig": config}, {"name": "b", "clientConfig": copy.deepcopy(config)}]}
        self._store_target(name, node, foreign=True)

    def reset_stanza(self, name: str) -> None:
        if name in self.targets:
            self._store_target(name, {"spec": {"conversion": {"strategy": "None"}}}, foreign=True)

    def set_bundle(self, name: str, bundle: bytes) -> None:
        if name in self.targets:
            node = copy.deepcopy(self.targets[name])
            for config in _configs(node):
                config["caBundle"] = base64.b64encode(bundle).decode()
            self._store_target(name, node, foreign=True)

    def remove_target(self, name: str) -> None:
        self.targets.pop(name, None)
        self.changed[name] = self.mono

    def remove(self, name: str) -> None:
        self.objects.pop(name, None)
        self._remember()

    def annotate(self, **notes: str) -> None:
        """An administrator writes annotations on the CA Secret."""
        if CALLED.authority in self.objects:
            meta = self.objects[CALLED.authority]["metadata"]
            meta["annotations"] = {**meta.get("annotations", {}), **notes}
            self._bump(self.objects[CALLED.authority])

    def spoil(self, key: str, value: str | None) -> None:
        """Replaces or removes one key of the CA Secret."""
        secret = self.objects.get(CALLED.authority)
        if secret and key in secret["data"]:
            if value is None:
                del secret["data"][key]
            else:
                secret["data"][key] = value
            self._bump(secret)

    def put_serving(self, node: Node) -> None:
        node = copy.deepcopy(node)
        self._bump(node)
        self.foreign.add(node["metadata"]["resourceVersion"])
        self.objects[CALLED.serving] = node
        self._remember()

    # time and readers

    def advance(self, seconds: float) -> None:
        self.mono += seconds
        self.wall += timedelta(seconds=seconds)
        for name, when in self.changed.items():
            if when + LAG <= self.mono:
                for api in range(len(self.views)):
                    self.look(api, name)

    def look(self, api: int, name: str) -> None:
        """An API server sees the newest of an object."""
        if name in self.targets:
            self.views[api][name] = self.targets[name]
        else:
            self.views[api].pop(name, None)

    def refresh(self, index: int, *, late: bool = False) -> None:
        """A server reads the Secret (or, at first, only files that are up to 90 s old) and decides."""
        server = self.servers[index]
        server.mounted |= late
        held = {Source.FILE: self._serving_at(self.mono - FILES_LATE)} if server.mounted else {}
        held |= {} if late else {Source.API: self.objects.get(CALLED.serving)}
        for source, node in held.items():
            parts = [base64.b64decode((node or {"data": {}})["data"].get(name, "")) for name in ("tls.crt", "tls.key", "ca.crt")]
            server.delivery.store(source, PairContent(*parts) if node else "there is none")
        gate = self.objects.get(CALLED.trust)
        server.delivery.restrict(Gate(listed=True, usable=read_trust(gate).usable if gate else None))
        pair, _, resort = server.delivery.choose(self.wall, self.mono)
        before, server.leaf = server.leaf, pair.leaf if pair else None
        node = held.get(pair.source) if pair and server.leaf != before and (gate is None or resort) else None
        if node and pair and (node["metadata"]["resourceVersion"] in self.foreign or STRANGER_CERTIFICATE.issued(pair.leaf)):
            self.excused.add(pair.leaf.fingerprint)  # no gate, or the last resort, and a foreign pair: its issuer can't be known

    def restart(self, index: int, *, late: bool) -> None:
        self.servers[index] = Server(silent=self.servers[index].silent)  # another process knows nothing of the wait
        self.refresh(index, late=late)

    def _serving_at(self, moment: float) -> Node | None:
        return next((node for when, node in reversed(self.history) if when <= moment), None)

    # the provisioner

    def gather(self) -> CertificateState:
        stored = self.objects
        nodes = {name: stored.get(name) for name in (CALLED.authority, CALLED.serving, CALLED.trust)}
        authority, serving, trust = nodes[CALLED.authority], nodes[CALLED.serving], nodes[CALLED.trust]
        return CertificateState(
            mode=self.mode,
            profile=PROFILE,
            timings=self.timings,
            authority=read_authority(authority) if authority else None,
            serving=read_serving(serving) if serving else None,
            trust=read_trust(trust) if trust else None,
            targets=tuple(read_target(kind, name, self.targets.get(name), PROFILE.service, PROFILE.namespace) for kind, name in TARGETS),
            endpoints=tuple(self._probe(index) for index in range(len(self.servers))),
            skew=self.skew,
        )

    def crash(self) -> None:
        """The provisioner forgets all that isn't stored."""
        self.rounds.clear()

    def step(self) -> Step:
        """One pass: gather, decide (twice: the same facts give the same step), write."""
        state = self.gather()
        step = next_step(state, self.wall)
        assert next_step(state, self.wall) == step
        self.perform(state, step)
        return step

    def perform(self, state: CertificateState, step: Step) -> None:
        self.steps.append(step)
        if isinstance(step, (Wait, NoStep)):
            return
        if isinstance(step, WriteBundle):
            self._inject(state, step)
            return
        if isinstance(step, CreateAuthority):
            known = list_authorities(state)
            self.excused |= {pod.leaf.fingerprint for pod in self.servers if pod.leaf and not issuers(known, (pod.leaf,))}
        if isinstance(step, WriteServing):
            self.check_signing(state)
        write = make_content(step, state, self.wall, CALLED)
        assert write is not None, step
        old = self.objects.get(write.name)
        assert write.version == (old["metadata"]["resourceVersion"] if old else ""), "the write must have the version that was read"
        node = as_object(write, old, CALLED.namespace)
        self._bump(node)
        self.objects[write.name] = node
        if write.name == CALLED.serving:
            self.check_serving(node)
            self._remember()
        rescued = read_serving(self.objects.get(CALLED.serving, {})).leaf
        # a rescued leaf that isn't trusted yet serves no client
        poor = self.excused | self.rescues
        good = [pod for pod in self.servers if pod.leaf and pod.leaf.valid_at(self.wall) and pod.leaf.fingerprint not in poor]
        if rescued and not good:
            self.rescues.add(rescued.fingerprint)
        for key in write.data:
            assert not (key.endswith(".key") and write.name != CALLED.authority and key != names.TLS_KEY), "I5"
            assert key != "previous.key", "I5"

    def _inject(self, state: CertificateState, step: WriteBundle) -> None:
        self.check_bundle(state, step.bundle)
        name = step.target.name
        node = copy.deepcopy(self.targets[name])
        assert node["metadata"]["resourceVersion"] == step.target.version
        if step.target.kind is TargetKind.CRD:
            config: Node = {"service": {"name": PROFILE.service, "namespace": PROFILE.namespace, "path": "/convert"}}
            node["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]}}
        for config in _configs(node):
            config["caBundle"] = base64.b64encode(step.bundle).decode()
        self._store_target(name, node, foreign=False)

    def _probe(self, index: int) -> Endpoint:
        server = self.servers[index]
        if server.leaf is None or server.silent:
            self.rounds.pop(index, None)
            return Endpoint(str(index), ready=server.leaf is not None)
        shown, count, when = self.rounds.get(index, ("", 0, 0.0))
        if shown != server.leaf.fingerprint:
            shown, count, when = server.leaf.fingerprint, 1, self.mono
        elif self.mono - when >= ROUND_APART.total_seconds():
            count, when = count + 1, self.mono
        self.rounds[index] = (shown, count, when)
        return Endpoint(str(index), server.leaf, count)

    # invariants

    def check_trust(self) -> None:
        """I1: whatever a server presents, every API server trusts, by the judgement of another implementation."""
        for server in self.servers:
            leaf = server.leaf
            if leaf is None or not leaf.valid_at(self.wall) or leaf.fingerprint in self.excused:
                continue
            wrong = self._distrusting(leaf)
            if leaf.fingerprint in self.rescues:
                self.rescues -= set() if wrong else {leaf.fingerprint}
            else:
                assert not wrong, f"I1: {', '.join(wrong)} don't trust a leaf of {leaf.parsed.issuer.rfc4514_string()}"

    def _distrusting(self, leaf: Certificate) -> list[str]:
        return [
            name
            for view in self.views
            for name, node in view.items()
            if node["metadata"]["resourceVersion"] not in self.foreign  # another client broke it
            if not all(verifies(leaf.der, base64.b64decode(config.get("caBundle", ""))) for config in _configs(node))
        ]

    def check_signing(self, state: CertificateState) -> None:
        """A new issuer is used only when each API server has seen it, unless no client is served anyway; never by a wrong clock."""
        assert abs(state.skew) <= timedelta(hours=1)
        if derive(state, self.wall) is not Phase.ISSUE or is_outage(state, self.wall) or state.authority is None:
            return
        issuer = state.authority.next or state.authority.current
        assert issuer is not None
        for view in self.views:
            for name, node in view.items():
                if node["metadata"]["resourceVersion"] not in self.foreign:
                    shown = [read_certificates(base64.b64decode(config.get("caBundle", ""))) for config in _configs(node)]
                    assert all(issuer in trusted for trusted in shown), f"an API server hasn't seen the new authority in {name}"

    def check_bundle(self, state: CertificateState, bundle: bytes) -> None:
        """I6: never empty, never unparsable, never without the issuer of a leaf that is known to be served."""
        inside = read_certificates(bundle)
        assert inside, "I6: empty"
        assert b"".join(cert.pem for cert in inside) == bundle
        assert len(inside) <= 4
        for endpoint in state.endpoints or ():
            if endpoint.leaf and issuers(list_authorities(state), (endpoint.leaf,)):
                assert issuers(inside, (endpoint.leaf,)), "I6: the issuer of a served leaf is missing"

    def check_serving(self, node: Node) -> None:
        """I2 and I7: whole, matching, issued by an authority of its own bundle, and not outliving it."""
        serving = read_serving(node)
        assert set(node["data"]) == {"tls.crt", "tls.key", "ca.crt"}, "I7"
        assert serving.leaf is not None
        assert serving.key is not None
        assert serving.key.belongs_to(serving.leaf), "I7"
        behind = issuers(serving.authorities, (serving.leaf,))
        assert behind, "I7"
        assert all(serving.leaf.not_after <= issuer.not_after for issuer in behind), "I2"

    # bookkeeping

    def phase(self) -> Phase | None:
        secret = self.objects.get(CALLED.authority)
        return read_authority(secret).hint.phase if secret else None

    def _store_target(self, name: str, node: Node, *, foreign: bool) -> None:
        self._bump(node)
        if foreign:
            self.foreign.add(node["metadata"]["resourceVersion"])
        self.targets[name] = node
        self.changed[name] = self.mono

    def _bump(self, node: Node) -> None:
        self.versions += 1
        node["metadata"] = {**node.get("metadata", {}), "resourceVersion": str(self.versions)}

    def _remember(self) -> None:
        self.history.append((self.mono, copy.deepcopy(self.objects.get(CALLED.serving))))

    def settle_down(self, passes: int = 400) -> None:
        """Ends all foreign writes and late reads, and runs the provisioner until nothing is left to do."""
        self.skew = timedelta(0)
        for _, name in TARGETS:
            if name not in self.targets:
                self.apply(name)
        for server in self.servers:
            server.silent = False
        content_since = 0
        for _ in range(passes):
            step = self.step()
            self.check_trust()
            for index in range(len(self.servers)):
                self.refresh(index)
            self.check_trust()
            if isinstance(step, (Wait, NoStep)):
                content_since = content_since + 1 if self.phase() is Phase.STABLE else 0
                if content_since == 2:
                    return
                self.advance(90)
        raise AssertionError(f"still in {self.phase()} after {passes} passes: {self.steps[-4:]}")


def _configs(node: Node) -> list[Node]:
    if "webhooks" in node:
        return [entry["clientConfig"] for entry in node["webhooks"]]
    webhook = node["spec"]["conversion"].get("webhook")
    return [webhook["clientConfig"]] if webhook else []


@lru_cache(maxsize=4096)
def verifies(leaf: bytes, bundle: bytes, name: str = PROFILE.server_name) -> bool:
    """Whether cryptography's own verifier accepts the leaf for a name, soon after it was made."""
    if not (authorities := read_certificates(bundle)):
        return False
    parsed = x509.load_der_x509_certificate(leaf)
    moment = parsed.not_valid_before_utc + timedelta(hours=1, seconds=1)
    store = Store([authority.parsed for authority in authorities])
    try:
        PolicyBuilder().store(store).time(moment).build_server_verifier(x509.DNSName(name)).verify(parsed, [])
    except VerificationError:
        return False
    return True


def secret_of(authority: KeyPair, leaf: KeyPair) -> Node:
    """A serving Secret as an external issuer writes it."""
    data = {"tls.crt": leaf.certificate, "tls.key": leaf.key, "ca.crt": authority.certificate}
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": CALLED.serving}, "type": "kubernetes.io/tls", "data": encoded}


def left_by_another_operator(*, with_key: bool) -> Node:
    """A serving Secret for another Service, which the Go operator keeps under the same name, with or without its authority's key."""
    authority = make_authority(START)
    node = secret_of(authority, issue_leaf(authority, ["operator-webhook.dynamo-system.svc"], START))
    if with_key:
        node["data"]["ca.key"] = base64.b64encode(authority.key).decode()
    return node


def leaf_of(authority: KeyPair, now: datetime = START) -> KeyPair:
    return issue_leaf(authority, PROFILE.names, now)
