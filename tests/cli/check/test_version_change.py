"""`check --against` names what stays when a manifest's version changes: just what server-side apply leaves there, on the model."""

from typing import Any, Final

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, api_version
from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.cli.commands.check.version_change import list_retained
from tests.laws.managers.apply import Object
from tests.laws.managers.law import sorted_lists
from tests.laws.managers.subjects import COMPONENT, GRAPH, NAME, Subject
from tests.laws.managers.test_managers import modelled
from tests.laws.managers.twins import ALPHA_ONLY, TRAITS, Part
from tests.laws.managers.types import type_of
from tests.rows import run_each


def _graph(version: str, spec: dict[str, Any]) -> Object:
    return {"apiVersion": api_version(version), "kind": GRAPH, "metadata": {"name": "t", "namespace": "default"}, "spec": spec}


def _alpha(**members: Any) -> Object:
    return _graph(ALPHA, {"services": {"d": members}})


def _beta(main: dict[str, Any], **members: Any) -> Object:
    template = {"podTemplate": {"spec": {"containers": [{"name": "main", **main}]}}}
    return _graph(BETA, {"components": [{"name": "d", **template, **members}]})


def _env(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "value": "1"} for name in names]


def _mounts(field: str, *names: str) -> list[dict[str, str]]:
    return [{"name": "c", field: f"/{name}"} for name in names]


IMAGE: Final = {"image": "i"}
POD: Final = {"mainContainer": IMAGE}
MAIN: Final = "spec.components[0].podTemplate.spec.containers[0]"
CACHE: Final = {"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}
CLAIMS: Final = {"pvcs": [{"name": "c", "create": False}]}
SIDECAR: Final = {"containers": [{"name": "main", "image": "i"}, {"name": "sidecar-frontend", "image": "i", "env": _env("A")}]}
# What was there, the moved manifest, and the fields that are named.
CASES: Final[dict[str, tuple[Object, Object, list[str]]]] = {
    "claims": (_graph(ALPHA, {**CLAIMS, "services": {"d": {}}}), _beta({}), ["spec.pvcs"]),
    "ingress": (_alpha(ingress={"enabled": True}, labels={"a": "b"}), _beta({}), ["spec.services[d].ingress", "spec.services[d].labels"]),
    "one variable": (_alpha(envs=_env("A", "B")), _beta({"env": _env("A")}), [f"{MAIN}.env"]),
    "other variables": (_alpha(envs=_env("A")), _beta({"env": _env("C")}), [f"{MAIN}.env"]),
    "all variables": (_alpha(envs=_env("A", "B")), _beta(IMAGE), []),
    "variables of the main container": (_alpha(extraPodSpec={"mainContainer": {"env": _env("A", "B")}}), _beta({"env": _env("A")}), []),
    "a cache": (
        _alpha(volumeMounts=[CACHE, *_mounts("mountPoint", "a")]),
        _beta({"volumeMounts": _mounts("mountPath", "a")}),
        [f"{MAIN}.volumeMounts"],
    ),
    "a variable of the sidecar": (
        _alpha(extraPodSpec=POD, frontendSidecar={"image": "i", "envs": _env("A", "B")}),
        _beta({}, frontendSidecar="sidecar-frontend", podTemplate={"spec": SIDECAR}),
        ["spec.components[0].podTemplate.spec.containers[1].env"],
    ),
    "a component": (_graph(ALPHA, {"services": {"d": {}, "e": {"envs": _env("A"), "labels": {"a": "b"}}}}), _beta({}), []),
    "a role": (_beta(IMAGE, type="decode"), _alpha(componentType="worker", extraPodSpec=POD), ["spec.services[d].componentType"]),
    "another type": (_beta(IMAGE, type="decode"), _alpha(componentType="planner", extraPodSpec=POD), []),
    "the same role": (_beta(IMAGE, type="decode"), _alpha(componentType="worker", subComponentType="decode", extraPodSpec=POD), []),
    "variables to v1alpha1": (_beta({"env": _env("A", "B")}), _alpha(envs=_env("A")), []),
}


def _left(old: Object, new: Object) -> bool:
    """Whether the object differs from the new manifest alone: in v1beta1, or in what v1alpha1 alone says."""
    moved, alone = modelled(new["kind"]), modelled(new["kind"])
    moved.apply(old, "owner")
    for server in (moved, alone):
        server.apply(new, "owner", force=True)
    return _spec(moved.read(BETA)) != _spec(alone.read(BETA)) or _only(moved.read(ALPHA)) != _only(alone.read(ALPHA))


def _spec(obj: Object) -> Any:
    return sorted_lists(type_of(obj["kind"], BETA), {**obj, "metadata": {}})["spec"]


def _only(obj: Object) -> list[Any]:
    services = obj["spec"]["services"]
    fields = {name: {field: service[field] for field in ALPHA_ONLY if field in service} for name, service in services.items()}
    return [fields, obj["spec"].get("pvcs")]


@run_each("case", CASES)
def test_what_stays_is_named(case: str) -> None:
    """And the model of server-side apply leaves something behind in these cases alone."""
    old, new, fields = CASES[case]
    assert sorted(format_path(stay.path) for stay in list_retained(old, new)) == fields
    assert _left(old, new) is bool(fields)


@pytest.mark.parametrize("kind", [GRAPH, COMPONENT])
@pytest.mark.parametrize(("first", "second"), [(ALPHA, BETA), (BETA, ALPHA)])
def test_a_twin_leaves_nothing_but_what_one_version_alone_can_say(kind: str, first: str, second: str) -> None:
    """Whatever it says."""
    for trait in TRAITS:
        part = Part(NAME, "worker", tuple(dict.fromkeys(("image", trait))))
        assert not [*list_retained(Subject(kind, (part,)).manifest(first), Subject(kind, (part,)).manifest(second))]
    whole = Subject(kind, (Part(NAME, "worker", ("image",), tuple(ALPHA_ONLY)),))
    assert len([*list_retained(whole.manifest(first), whole.manifest(second))]) == (len(ALPHA_ONLY) if first == ALPHA else 0)
