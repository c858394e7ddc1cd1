"""The role of one pod in a multinode replica, for each orchestrator; and its GPUs, also those by claims of devices (DRA)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ....api.paths import Path
from ....api.quantity import is_quantity, whole
from ....conversion.lens.protocol import Fields
from ....policies.components import read_pod
from ....policies.engines import list_templates
from ....policies.gpu import is_gpu
from ..errors import RenderError
from ..framework import main_of
from ..merge import object_items
from ..names import lower_name
from ..settings import Claims

USUAL: Final = "nvidia.com/gpu"


def count_gpus_per_node(container: Fields) -> int:
    """The GPUs of a container: requests before limits, the usual name before others; 0 if there are none or the amount is invalid."""
    resources = container.get("resources") or {}
    for part in ("requests", "limits"):
        amounts = {name: amount for name, amount in (resources.get(part) or {}).items() if _counts(name) and amount is not None}
        if amounts:
            amount = amounts.get(USUAL, amounts[min(amounts)])
            return (whole(amount) if is_quantity(amount) else None) or 0
    return 0


def _counts(name: str) -> bool:
    return name in (USUAL, "gpu", "nvidia/gpu") or name.endswith("/gpu") or ".com/gpu" in name or name.startswith("mig-") or "/mig-" in name


LEADER_ADDRESS: Final = "DYNAMO_LEADER_ADDRESS"
RANK: Final = "DYNAMO_RANK"
MAX_NODES: Final = 1024  # a LeaderWorkerSet or PodCliqueSet could hold no more names
_LWS_LEADER = "$(LWS_LEADER_ADDRESS)"
_LWS_RANK = "$(LWS_WORKER_INDEX)"
_GROVE_INDEX = "$(GROVE_PCSG_POD_INDEX)"  # of a pod in its scaling group, the leader's first
_GROVE_RANK = "$((GROVE_PCLQ_POD_INDEX + 1))"  # the workers of a clique count from 0, without the leader
_GROVE_POD = "$(GROVE_PCLQ_POD_INDEX)"
_GROVE_REPLICA = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)"
_GROVE_DOMAIN = "$(GROVE_HEADLESS_SERVICE)"


class Role(NamedTuple):
    """A leader or a worker. Addresses contain the orchestrator's variables."""

    leader: bool
    nodes: int
    host: str  # the leader's address; Kubernetes replaces `$(VAR)`
    others: tuple[str, ...]  # addresses of the other nodes, for a shell
    rank: str  # of this node
    needs_shell: bool  # whether the rank has to be computed
    waits_for_names: bool  # whether a leader must wait until other nodes' names resolve
    told_rank: str  # of this node, from the orchestrator's variables

    @property
    def env(self) -> list[Fields]:
        """The facts that launch arguments may name, on every orchestrator alike."""
        return [{"name": LEADER_ADDRESS, "value": self.host}, {"name": RANK, "value": self.told_rank}]

    def by_names(self) -> Role:
        """The role for arguments of a container that has these variables."""
        return self._replace(host=f"$({LEADER_ADDRESS})", rank=f"$({RANK})", needs_shell=False)

    @property
    def reckoned(self) -> str:
        """The rank for a shell's arithmetic. Kubernetes doesn't replace a variable inside `$((`."""
        return _LWS_RANK[2:-1] if self.rank == _LWS_RANK else self.rank


def check_nodes(nodes: int, path: Path) -> None:
    """Refuse replicas with more nodes than any cluster: the object lists each node. Raises: RenderError with the path of the component."""
    if nodes > MAX_NODES:
        raise RenderError((*path, "multinode", "nodeCount"), f"must be at most {MAX_NODES} for children to be made, got {nodes}")


def lws_roles(nodes: int) -> tuple[Role, Role]:
    """Leader and worker in a LeaderWorkerSet, whose workers have the leader's name with a number before the first dot."""
    others = tuple(f"""$(echo "$LWS_LEADER_ADDRESS" | sed 's/\\./-{number}\\./')""" for number in range(1, nodes))
    leader = Role(True, nodes, _LWS_LEADER, others, "0", False, True, _LWS_RANK)
    return leader, leader._replace(leader=False, rank=_LWS_RANK)


def grove_roles(component: str, nodes: int) -> tuple[Role, Role]:
    """Leader and worker in a scaling group of Grove with one clique for the leader and one for all workers."""
    others = tuple(_grove_host(component, f"wkr-{number}") for number in range(nodes - 1))
    leader = Role(True, nodes, _grove_host(component, "ldr-0"), others, "0", False, False, _GROVE_INDEX)
    return leader, leader._replace(leader=False, rank=_GROVE_RANK, needs_shell=True)


def grove_rank(component: str, nodes: int, rank: int) -> Role:
    """The role of a rank whose engines have their own clique; each engine joins those of the same number in other cliques."""
    others = tuple(_grove_host(component, f"wkr-{number}-{_GROVE_POD}") for number in range(1, nodes))
    return Role(rank == 0, nodes, _grove_host(component, f"ldr-{_GROVE_POD}"), others, str(rank), False, False, str(rank))


def _grove_host(component: str, pod: str) -> str:
    return f"{_GROVE_REPLICA}-{lower_name(component)}-{pod}.{_GROVE_DOMAIN}"


_GPUS: Final = ("gpu.", "mig.")  # how names of drivers and classes of GPUs begin, as gpu.nvidia.com does
_OTHERS: Final = ("compute-domain",)  # channels between nodes
_DRIVER: Final = re.compile(r"device\.driver\s*==\s*[\"']([^\"']+)[\"']")


class _UncountableError(Exception):
    """Nobody can say how many GPUs a claim gives; the message says why."""


def count_gpus(component: Fields, path: Path, known: Claims) -> int:
    """The GPUs of a component's main container: of its resources, else of its claims. Raises: RenderError if a claim can't be counted."""
    return count_gpus_per_node(main_of(component)) or count_claimed(component, path, known)


def count_claimed(component: Fields, path: Path, known: Claims) -> int:
    """The GPUs that its claims alone give. Raises: RenderError if a claim can't be counted."""
    entries = {one.get("name"): one for one in _pod_claims(component)}
    named = object_items((main_of(component).get("resources") or {}).get("claims"))
    return sum(_count(one, entries.get(one.get("name")) or {}, path, known) for one in named)


def count_pod_claims(component: Fields, path: Path, known: Claims) -> int:
    """The GPUs that all claims of a pod give, whichever container uses them. Raises: RenderError if a claim can't be counted."""
    return sum(_count({"name": one.get("name")}, one, path, known) for one in _pod_claims(component))


def _count(claim: Fields, entry: Fields, path: Path, known: Claims) -> int:
    try:
        return _of_claim(entry, str(claim.get("request") or ""), known)
    except _UncountableError as error:
        text = f"must give GPUs that can be counted, since launch arguments depend on them; claim {_short(claim.get('name'))}: {error}"
        raise RenderError((*path, "podTemplate", "spec", "resourceClaims"), text) from None


def find_needed_templates(component: Fields) -> set[str]:
    """The claim templates by which the GPUs of a component's pods are counted."""
    pods = [component, *({"podTemplate": template} for _, template in list_templates(component))]
    return {name for pod in pods for one in _pod_claims(pod) if (name := str(one.get("resourceClaimTemplateName") or ""))}


def find_needed_classes(template: Fields) -> set[str]:
    """The device classes of a claim template whose names don't say what they are."""
    every = {str(one.get("deviceClassName") or "") for request in _requests(template) for one in _alternatives(request)}
    return {name for name in every if name and not name.startswith((*_GPUS, *_OTHERS))}


def _pod_claims(component: Fields) -> list[Fields]:
    return object_items(read_pod(component).get("resourceClaims"))


def _of_claim(entry: Fields, request: str, known: Claims) -> int:
    name = str(entry.get("resourceClaimTemplateName") or "")
    if not name:
        raise _UncountableError("must name a template by resourceClaimTemplateName, since each node needs its own devices")
    template = known.templates.get(name, known.absent)
    if isinstance(template, str):
        raise _UncountableError(f"ResourceClaimTemplate {_short(name)} {template}")
    return sum(_of_request(one, known) for one in _requests(template) if request in ("", one.get("name")))


def _of_request(request: Fields, known: Claims) -> int:
    counts = {_of_devices(one, str(request.get("name")), known) for one in _alternatives(request)}
    if len(counts) > 1:
        raise _UncountableError(f"request {_short(request.get('name'))} must give as many GPUs by each of its alternatives")
    return counts.pop() if counts else 0


def _of_devices(asked: Fields, request: str, known: Claims) -> int:
    if asked.get("adminAccess") is True or not _gives_gpus(str(asked.get("deviceClassName") or ""), known):
        return 0
    if asked.get("allocationMode") == "All":
        raise _UncountableError(f"request {_short(request)} asks for all devices; it must ask for a count")
    count = asked.get("count")
    return count if type(count) is int else 1


def _gives_gpus(name: str, known: Claims) -> bool:
    """Whether the devices of a class are GPUs: by its name, else by the driver that its selectors ask for."""
    if name.startswith(_GPUS):
        return True
    if not name or name.startswith(_OTHERS):
        return False
    found = known.classes.get(name, known.absent)
    if isinstance(found, str):
        raise _UncountableError(f"DeviceClass {_short(name)} {found}")
    spec = found.get("spec") or {}
    if is_gpu(str(spec.get("extendedResourceName") or "")):
        return True
    texts = [str((one.get("cel") or {}).get("expression")) for one in object_items(spec.get("selectors"))]
    drivers: set[str] = {driver for text in texts for driver in _DRIVER.findall(text)}
    if len(drivers) != 1:
        raise _UncountableError(f"DeviceClass {_short(name)} must name one driver by device.driver, for GPUs to be told from others")
    return drivers.pop().startswith(_GPUS)


def _requests(template: Fields) -> list[Fields]:
    spec = (template.get("spec") or {}).get("spec") or {}
    return object_items((spec.get("devices") or {}).get("requests"))


def _alternatives(request: Fields) -> list[Fields]:
    """What a request asks for: one of several, or exactly one, which older versions write into the request itself."""
    return object_items(request.get("firstAvailable")) or [request.get("exactly") or request]


def _short(name: object) -> str:
    return str(name)[:80]
