"""Everything of an installation that checks look at, read once, from the API server and from the servers themselves; nothing is judged."""

import asyncio
from collections.abc import Awaitable
from datetime import datetime
from typing import Final, NamedTuple, TypeVar

from ....api.kinds import BY_ALIAS, KINDS
from ....api.line import Line, of_definitions
from ....certs.inject import RESOURCES
from ....certs.installation import Installation
from ....certs.report import read_conditions
from ....certs.state import CertificateState, TargetKind
from ....kube.errors import ForbiddenError
from ....kube.protocol import Cluster, Node
from ....kube.resources import CRDS, LEASES, POLICIES, POLICY_BINDINGS, SERVICES, Resource
from ....kube.scope import LEASE_NAME
from ...installation.parts import InstalledObjects, read_parts
from ..certs.work import CertificateActions
from .finding import DoctorFinding, warning

Found = TypeVar("Found")
GUARD: Final = (POLICIES.kind, POLICY_BINDINGS.kind)


def name_policy(about: Installation) -> str:
    """The name of the policy on definitions, and of its binding."""
    return f"{about.profile.service}-definitions"


class ClusterView(NamedTuple):
    """The state of an installation, read once. What isn't there is None, and so is what may not be read, which `forbidden` holds."""

    about: Installation
    now: datetime  # by the API server's clock
    state: CertificateState | None
    conditions: tuple[dict[str, str], ...]  # what the provisioner wrote of itself
    crds: dict[str, Node | None]  # by plural
    configurations: dict[TargetKind, Node | None]
    service: Node | None
    lease: Node | None  # the provisioner's
    claims: tuple[str, ...]  # namespaces of other operators
    forbidden: dict[str, str]  # what may not be read -> the API server's sentence
    policy: Node | None = None  # which guards the definitions
    binding: Node | None = None
    election: Node | None = None  # the reconciler's Lease
    parts: InstalledObjects = InstalledObjects()

    @property
    def namespace(self) -> str:
        """Namespace of the installation."""
        return self.about.profile.namespace

    @property
    def line(self) -> Line | None:
        """The line of the definitions; None where it isn't known."""
        return of_definitions(*(self.crds.get(BY_ALIAS[alias].plural) for alias in ("DGD", "DGDR")))


async def list_all(cluster: Cluster, resource: Resource, findings: list[DoctorFinding], why: str, fields: str = "") -> list[Node]:
    """The objects of every namespace; none where they may not be listed, which is then found, for `why` it matters."""
    try:
        return (await cluster.list(resource, fields=fields)).items
    except ForbiddenError as failed:
        findings.append(warning("permission", resource.plural, f"{why}: {failed.message}"))
        return []


async def observe_installation(cluster: Cluster, about: Installation) -> ClusterView:
    """Reads everything of an installation. Raises: ApiError when the API server can't be asked."""
    forbidden: dict[str, str] = {}

    async def see(what: str, reading: Awaitable[Found]) -> Found | None:
        """Reads, and records a refusal."""
        try:
            return await reading
        except ForbiddenError as error:
            forbidden[what] = error.message
            return None

    profile = about.profile
    now = await cluster.server_time()
    gathered = await see("certificates", CertificateActions(cluster, about).gatherer.gather())
    names = {kind: name for kind, name in about.targets if kind is not TargetKind.CRD}
    guard = name_policy(about)
    election = about.election
    claims = await see("claims", cluster.list(LEASES, fields=f"metadata.name={LEASE_NAME}"))
    crds = await asyncio.gather(*(see(kind.crd_name, cluster.get(CRDS, kind.crd_name)) for kind in KINDS))
    return ClusterView(
        about=about,
        now=now,
        state=gathered.state if gathered else None,
        conditions=tuple(read_conditions({"metadata": {"annotations": gathered.notes}})) if gathered else (),
        crds={kind.plural: crd for kind, crd in zip(KINDS, crds, strict=True)},
        configurations={kind: await see(name, cluster.get(RESOURCES[kind], name)) for kind, name in names.items()},
        service=await see("service", cluster.get(SERVICES, profile.service, profile.namespace)),
        lease=await see("lease", cluster.get(LEASES, about.names.lease, profile.namespace)),
        claims=tuple(sorted(each["metadata"]["namespace"] for each in claims.items)) if claims else (),
        forbidden=forbidden,
        policy=await see(POLICIES.kind, cluster.get(POLICIES, guard)),
        binding=await see(POLICY_BINDINGS.kind, cluster.get(POLICY_BINDINGS, guard)),
        election=await see("election", cluster.get(LEASES, election[1], election[0])) if election else None,
        parts=await read_parts(cluster, about),
    )
