"""The pod templates of a component that may be changed, and the containers in them."""

from ...api.line import Line
from ...conversion.lens.protocol import Fields
from ...policies.engines import find_sidecar, list_templates
from .names import LEADER, MAIN


def read_pod_templates(controller: Fields) -> Fields:
    """The pod templates of a controller, by what they are called in it; none of what controls no pods."""
    spec = controller.get("spec") or {}
    if controller["kind"] == "Deployment":
        return {"template": spec["template"]}
    if controller["kind"] == "LeaderWorkerSet":
        inner = spec["leaderWorkerTemplate"]
        return {name: inner[name] for name in ("leaderTemplate", "workerTemplate") if inner.get(name)}
    if controller["kind"] == "DisaggregatedSet":
        inner = {role["name"]: role["spec"]["leaderWorkerTemplate"] for role in spec["roles"]}
        both = ("leaderTemplate", "workerTemplate")
        return {f"{role}.{name}": of[name] for role, of in inner.items() for name in both if of.get(name)}
    if controller["kind"] == "PodCliqueSet":
        cliques = spec["template"]["cliques"]
        keys = ("labels", "annotations")
        return {
            f"cliques[{clique['name']}]": {**{key: clique.get(key) for key in keys}, "spec": clique["spec"].get("podSpec")}
            for clique in cliques
        }
    return {}


def main_in(template: Fields) -> Fields:
    """The main container of a template, created if missing."""
    spec = template.get("spec") or {}
    template["spec"] = spec
    containers = [container for container in spec.get("containers") or () if container]
    spec["containers"] = containers
    main: Fields | None = next((container for container in containers if container.get("name") == MAIN), None)
    if main is None:
        main = {"name": MAIN}
        containers.insert(0, main)
    return main


def find_engine(template: Fields, kind: str, line: Line) -> Fields:
    """The container of a template that runs the runtime of a component of a type: the sidecar `runtime`, else the main one."""
    return find_sidecar(line, {"type": kind, "podTemplate": template}) or main_in(template)


def select_role(component: Fields, name: str) -> Fields:
    """A component as the pods of a role are made: with the role's own pod template, where it has one."""
    templates = {component["roles"][index].get("name"): template for index, template in list_templates(component)}
    return {**component, "podTemplate": templates[name]} if name in templates else component


def find_shared_template(component: Fields) -> Fields:
    """The template that says what holds for all pods of a component: its own, or the leader's."""
    return component.get("podTemplate") or select_role(component, LEADER).get("podTemplate") or {}


def list_own_templates(component: Fields) -> list[Fields]:
    """The templates that a component's pods are made of: those of its roles, else its own, made if missing."""
    if templates := [template for _, template in list_templates(component)]:
        return templates
    component["podTemplate"] = component.get("podTemplate") or {}
    return [component["podTemplate"]]
