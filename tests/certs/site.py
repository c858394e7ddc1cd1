"""An installation in memory: an API server, endpoints that present what the serving Secret says, and provisioners on a fake clock."""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.certificate import Certificate, read_certificate
from dynamo_webhooks.certs.installation import Installation
from dynamo_webhooks.certs.names import Names
from dynamo_webhooks.certs.provision import Provisioner
from dynamo_webhooks.certs.reading import read_authority, read_serving
from dynamo_webhooks.certs.state import Mode, Phase, Profile, TargetKind, Timings
from dynamo_webhooks.kube.clocks import Clocks
from dynamo_webhooks.kube.lease import Timings as LeaseTimings
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CONFIG_MAPS, CRDS, ENDPOINT_SLICES, MUTATING, SECRETS, VALIDATING, Resource
from tests.kube.memory import MemoryCluster
from tests.kube.storage import Storage
from tests.kube.timing import Timing, settle

NAMESPACE = "dynamo-system"
SERVICE = "dynamo-webhooks"
CONVERTED = tuple(kind for kind in KINDS if len(kind.versions) > 1)
TARGETS = (
    *((TargetKind.CRD, kind.crd_name) for kind in CONVERTED),
    (TargetKind.MUTATING, "dynamo-webhooks-mutating"),
    (TargetKind.VALIDATING, "dynamo-webhooks-validating"),
)
ABOUT = Installation(
    mode=Mode.MANAGED,
    profile=Profile(SERVICE, NAMESPACE),
    timings=Timings(drain=timedelta(minutes=10)),
    names=Names(NAMESPACE),
    targets=TARGETS,
)
CALLED = ABOUT.names
SLOW = LeaseTimings(duration=60, deadline=50, retry=20)  # fewer renewals, quicker tests
OTHERS = {"url": "https://elsewhere.example/validate", "caBundle": "b3RoZXJz"}


def entry(name: str, config: Node | None = None) -> Node:
    """One entry of a webhook configuration, ours unless its way is given."""
    service = {"service": {"name": SERVICE, "namespace": NAMESPACE, "path": f"/{name}", "port": 443}}
    return {"name": f"{name}.kb.io", "clientConfig": config or service, "sideEffects": "None", "admissionReviewVersions": ["v1"]}


def definition(kind: str) -> Node:
    """A CRD without its schemas."""
    obj = crd(kind, line=Line.V1_2)
    versions = [{key: value for key, value in each.items() if key != "schema"} for each in obj["spec"]["versions"]]
    return {**obj, "spec": {**obj["spec"], "versions": versions}}


def configuration(resource: Resource, name: str, *entries: Node) -> Node:
    """A webhook configuration."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "webhooks": list(entries)}


def piece(*hosts: str, service: str = SERVICE, port: int = 9443, ready: bool = True) -> Node:
    """An EndpointSlice of a service."""
    return {
        "apiVersion": ENDPOINT_SLICES.api_version,
        "kind": "EndpointSlice",
        "metadata": {"name": f"{service}-{port}", "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4",
        "ports": [{"name": "webhook", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": [host], "conditions": {"ready": ready}} for host in hosts],
    }


@dataclass
class Site:
    """Everything of one test; `frozen` are hosts that keep presenting what they presented when they were frozen."""

    about: Installation = ABOUT
    storage: Storage = field(default_factory=Storage)
    timing: Timing = field(default_factory=Timing)
    skew: timedelta = timedelta(0)
    frozen: dict[str, Certificate | None] = field(default_factory=dict)
    asked: int = 0
    last: Certificate | None = None  # presented
    silence: asyncio.Event | None = None  # until it is set, no endpoint answers

    def __post_init__(self) -> None:
        self.admin = MemoryCluster("admin", storage=self.storage)
        self.cluster = MemoryCluster("dynamo-webhooks-provisioner", storage=self.storage)
        self._tasks: list[asyncio.Task[None]] = []
        self._began = self.storage.now

    def now(self) -> datetime:
        """The provisioner's own wall clock."""
        return self._began + timedelta(seconds=self.timing.seconds) + self.skew

    async def install(self, *hosts: str) -> None:
        """Applies what the manifests hold."""
        for kind in CONVERTED:
            await self.admin.create(CRDS, definition(kind.name))
        await self.admin.create(MUTATING, configuration(MUTATING, "dynamo-webhooks-mutating", entry("mutate-a"), entry("mutate-b")))
        mine = configuration(VALIDATING, "dynamo-webhooks-validating", entry("a"), entry("others", dict(OTHERS)), entry("b"))
        await self.admin.create(VALIDATING, mine)
        if hosts:
            await self.admin.create(ENDPOINT_SLICES, piece(*hosts))

    def provisioner(self, name: str = "one", cluster: MemoryCluster | None = None, lease: LeaseTimings | None = SLOW) -> Provisioner:
        """One replica."""
        clocks = Clocks(self.timing.clock, self.now, self.timing.sleep)
        return Provisioner(cluster or self.cluster, self.about, name, ask=self.ask, lease=lease, clocks=clocks)

    def start(self, provisioner: Provisioner | None = None) -> asyncio.Task[None]:
        """Runs a replica until `stop`, or until the task is cancelled."""
        task = asyncio.ensure_future((provisioner or self.provisioner()).run())
        self._tasks.append(task)
        return task

    async def stop(self) -> None:
        """Ends all replicas."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def advance(self, seconds: float, step: float = 10.0) -> None:
        """Lets time pass on all clocks."""
        while seconds > 0:
            part = min(step, seconds)
            self.storage.now += timedelta(seconds=part)
            await self.timing.advance(part)
            seconds -= part
        for _ in range(4):
            await settle()

    async def until(self, phase: Phase, longest: float = 3600.0) -> None:
        """Lets time pass until that phase is written down."""
        passed = 0.0
        while await self.phase() is not phase:
            assert passed < longest, f"still in {await self.phase()} after {passed:.0f} s"
            await self.advance(10)
            passed += 10

    async def ask(self, address: tuple[str, int], _name: str) -> Certificate | None:
        """What a host presents: the leaf of the Secret, unless it is frozen."""
        self.asked += 1
        if self.silence is not None:
            await self.silence.wait()
        if address[0] in self.frozen:
            return self.frozen[address[0]]
        return self.served()

    def served(self) -> Certificate | None:
        """What servers present: the leaf of the Secret, and the last one while there is none."""
        secret = self.stored(SECRETS, CALLED.serving)
        self.last = read_serving(secret).leaf if secret else self.last
        return self.last

    def stored(self, resource: Resource, name: str, namespace: str = NAMESPACE) -> Node | None:
        """An object as it is, without asking."""
        record = self.storage.records.get((resource.group, resource.plural, namespace if resource.namespaced else "", name))
        return record.obj if record else None

    async def phase(self) -> Phase | None:
        """The phase as written down."""
        secret = self.stored(SECRETS, CALLED.authority)
        return read_authority(secret).hint.phase if secret else None

    def phases(self) -> list[str]:
        """All phases that were ever written down, in their order."""
        secrets = [each.obj for each in self.storage.history if each.key[1] == "secrets" and each.key[3] == CALLED.authority]
        marked = [obj["metadata"]["annotations"][names.PHASE] for obj in secrets]
        return [phase for index, phase in enumerate(marked) if not index or marked[index - 1] != phase]

    def bundles(self) -> dict[str, list[bytes]]:
        """Object -> the bundles of the entries that are ours."""
        bundles: dict[str, list[bytes]] = {}
        for kind in CONVERTED:
            obj = self.stored(CRDS, kind.crd_name)
            webhook = (obj or {})["spec"].get("conversion", {}).get("webhook", {}) if obj else {}
            bundles[kind.crd_name] = [_decoded(webhook["clientConfig"])] if webhook else []
        for resource, name in ((MUTATING, "dynamo-webhooks-mutating"), (VALIDATING, "dynamo-webhooks-validating")):
            obj = self.stored(resource, name)
            configs = [each["clientConfig"] for each in (obj or {}).get("webhooks", [])]
            bundles[name] = [_decoded(config) for config in configs if "service" in config]
        return bundles

    def leaf(self) -> Certificate:
        """The leaf of the serving Secret."""
        secret = self.stored(SECRETS, CALLED.serving)
        assert secret is not None
        leaf = read_serving(secret).leaf
        assert leaf is not None
        return leaf

    def secret(self, name: str) -> Node:
        """A Secret that must be there."""
        secret = self.stored(SECRETS, name)
        assert secret is not None
        return secret

    def usable(self) -> set[str]:
        """Fingerprints in the trust ConfigMap."""
        trust = self.stored(CONFIG_MAPS, CALLED.trust)
        return set(trust["data"]["usable"].split()) if trust else set()

    def events(self, kind: str = "Secret") -> list[str]:
        """Reasons of all Events on the serving Secret, or on the servers' Deployment, in the order of their creation."""
        events = [record.obj for key, record in self.storage.records.items() if key[1] == "events"]
        about = [obj for obj in events if obj["involvedObject"]["kind"] == kind]
        return [obj["reason"] for obj in sorted(about, key=lambda obj: int(obj["metadata"]["resourceVersion"]))]

    def with_(self, **changes: Any) -> Site:
        """Another installation than the usual; before anything is started."""
        self.about = replace(self.about, **changes)
        return self


def _decoded(config: Node) -> bytes:
    return base64.b64decode(config.get("caBundle", ""))


def encoded(pem: bytes) -> str:
    """As JSON holds bytes."""
    return base64.b64encode(pem).decode()


def current(site: Site) -> Certificate:
    """The authority that signs."""
    certificate = read_certificate(base64.b64decode(site.secret(CALLED.authority)["data"]["current.crt"]))
    assert certificate is not None
    return certificate
