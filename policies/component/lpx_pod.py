"""Pods of components of type lpx."""

from collections.abc import Iterator

from ..at import At
from ..engines import list_templates
from ..review import Fields
from ..rule import GRAPH_COMPONENT, Hits, Stage, rule
from .role_template import place_of

AGENT = "agent"
_USUAL = (None, "", "default-scheduler")
# fields of pods that the scheduler of LPX decides: those of all, and those of agents
_OF_ALL = ("hostname", "subdomain", "nodeName", "topologySpreadConstraints")
_OF_AGENTS = ("nodeSelector", "affinity", "schedulingGates", "resourceClaims")


def list_pods(component: Fields) -> Iterator[tuple[int, object, Fields]]:
    """The pod of each role with a template: the role's place and name, and the pod's spec."""
    for index, template in list_templates(component):
        yield index, component["roles"][index].get("name"), template.get("spec") or {}


@rule("DYN257", where=GRAPH_COMPONENT, when="type=lpx", stage=Stage.COMPONENT, since="1.6")
def lpx_pod_fixed(at: At) -> Hits:
    """A role of a component of type lpx says where its pods go, or how they are called.

    Why
        The LPX scheduler places and names these pods. Agents have no other say than required node affinity.

    Fix
        Remove the field.

    Example
        spec:
          components:
            - name: worker
              type: lpx
              lpx: {buildId: b}
              roles:
    bad         - name: agent
    bad           podTemplate:
    bad             spec:
    bad               containers: [{name: main, image: "example/lpx:1.6.0"}]
    bad               nodeSelector: {zone: a}  # expect
    ok          - {name: agent, podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}]}}}
                - name: conductor
    bad           podTemplate:
    bad             spec:
    bad               containers: [{name: main, image: "example/lpx:1.6.0"}]
    bad               hostname: here  # expect
    ok            podTemplate: {spec: {containers: [{name: main, image: "example/lpx:1.6.0"}], nodeSelector: {zone: a}}}
    """
    for index, name, pod in list_pods(at.value):
        fields = ["schedulerName"] if pod.get("schedulerName") not in _USUAL else []
        fields += [
            field for field in (*_OF_ALL, *(_OF_AGENTS if name == AGENT else ())) if pod.get(field) and not _is_node_affinity(field, pod)
        ]
        for field in fields:
            yield at.forbidden(place_of(index, "spec", field), "must be unset: the LPX scheduler decides it")


def _is_node_affinity(field: str, pod: Fields) -> bool:
    """Whether a field is an affinity that only requires nodes."""
    wanted = pod[field]
    if field != "affinity" or not isinstance(wanted, dict) or any(value for name, value in wanted.items() if name != "nodeAffinity"):
        return False
    nodes = wanted.get("nodeAffinity") or {}
    return not any(value for name, value in nodes.items() if name != "requiredDuringSchedulingIgnoredDuringExecution")
