"""Neighbours of the operator that an upgrade meets: versions of other controllers, and pods that wait at scheduling gates."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ....api.line import Line, explain_upgrades
from ....api.wording import count_of
from ....kube.protocol import Cluster, Node
from ....kube.resources import DEPLOYMENTS, PODS
from .finding import DoctorFinding, format_name, info, warning
from .observe import ClusterView, list_all

_MAX_NAMED_PODS: Final = 20
# a step of an image's path -> whose image it is
_IMAGES: Final = {
    "grove-operator": "Grove",
    "kai-scheduler": "KAI",
    "lws": "LeaderWorkerSet",
    "gateway-api-inference-extension": "inference extension",
    "snapshot-operator": "Snapshot",
}
# the versions that a line was released with, as far as its notes say; those of older lines are not known
_RELEASED: Final[Mapping[Line, Mapping[str, str]]] = {
    Line.V1_5: {"Grove": "0.1.0-alpha.13", "KAI": "0.17.0", "Snapshot": "0.1.0"},
    Line.V1_6: {"Grove": "0.1.0-alpha.14"},
}
_STUCK: Final = ("Grove", "0.1.0-alpha.12")  # with the operator 1.4.2 it never lifts the gates of components on several nodes


async def check_neighbours(cluster: Cluster, view: ClusterView, to: Line) -> list[DoctorFinding]:
    """Versions of other controllers beside those that each line up to one was released with, and pods at gates. Raises: ApiError."""
    now = view.line
    findings: list[DoctorFinding] = []
    if now is not None and (steps := explain_upgrades(now, to)):
        findings.append(warning("upgrade", "operator", steps))
    deployments = await list_all(cluster, DEPLOYMENTS, findings, "can't be read, so versions of other controllers are unknown")
    findings += compare_versions(deployments, [line for line in Line if (now is None or line > now) and line <= to])
    pods = await list_all(cluster, PODS, findings, "can't be read, so pods at scheduling gates are unknown", "status.phase=Pending")
    findings += list_gated(pods)
    return findings


def compare_versions(deployments: Iterable[Node], lines: list[Line]) -> Iterator[DoctorFinding]:
    """A finding for each controller and version that Deployments run."""
    reported = set()
    for deployment in deployments:
        pod = ((deployment.get("spec") or {}).get("template") or {}).get("spec") or {}
        for container in pod.get("containers") or ():
            seen = _recognise(str(container.get("image") or ""))
            if seen is not None and seen not in reported:
                reported.add(seen)
                yield _compare(f"Deployment {format_name(deployment)}", *seen, lines)


def _recognise(image: str) -> tuple[str, str] | None:
    """Recognises the controller that an image is of, and its version; None for another's."""
    path, _, tag = image.partition("@")[0].rpartition(":")
    name = next((_IMAGES[step] for step in path.split("/") if step in _IMAGES), None)
    return (name, tag.removeprefix("v")) if name is not None and tag else None


def _compare(what: str, name: str, version: str, lines: list[Line]) -> DoctorFinding:
    released = {line: _RELEASED.get(line, {}).get(name) for line in lines}
    text = "; ".join(
        f"operator {line} was released with {wanted or 'a version that its notes do not name'}" for line, wanted in released.items()
    )
    message = f"runs {name} {version}; {text}" if text else f"runs {name} {version}"
    if (name, version) == _STUCK:
        return warning(
            "neighbours", what, f"{message}. With the operator 1.4.2 pods of components on several nodes wait at their gates for ever"
        )
    known = [wanted for wanted in released.values() if wanted]
    return warning("neighbours", what, message) if known and version != known[-1] else info("neighbours", what, message)


def list_gated(pods: Iterable[Node]) -> Iterator[DoctorFinding]:
    """Pods that wait at scheduling gates, by their names."""
    waiting = ((format_name(pod), (pod.get("spec") or {}).get("schedulingGates") or ()) for pod in pods)
    gated = [(name, [str(gate["name"]) for gate in gates]) for name, gates in waiting if gates]
    for name, names in sorted(gated)[:_MAX_NAMED_PODS]:
        yield warning(
            "gated-pods", f"Pod {name}", f"waits at the scheduling gates {', '.join(names)}, which their controller must lift first"
        )
    if len(gated) > _MAX_NAMED_PODS:
        yield warning("gated-pods", "pods", f"{count_of(len(gated) - _MAX_NAMED_PODS, 'more pod')} wait at scheduling gates")
