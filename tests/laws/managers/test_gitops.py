"""What docs/gitops.md says of field managers, tried on the model; each test is a sentence of the page."""

from typing import Any, Final

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, GROUP
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.convert.served import convert_as_served
from dynamo_webhooks.conversion.objects import target
from tests.laws.managers.apply import ConflictError, Object
from tests.laws.managers.server import Server
from tests.laws.managers.subjects import GRAPH, REQUEST, Subject
from tests.laws.managers.test_managers import modelled
from tests.laws.managers.twins import Part
from tests.laws.managers.types import type_of

FLUX: Final = "kustomize-controller"
OTHER: Final = "other"
PART: Final = Part("worker", "worker", ("image", "env", "secret", "mount", "gms"))
ADDED: Final = {"name": "worker", "podTemplate": {"spec": {"containers": [{"name": "main", "env": [{"name": "D", "value": "4"}]}]}}}


def _applied(version: str, part: Part = PART, **more: Any) -> tuple[Server, Object]:
    server, manifest = modelled(GRAPH), Subject(GRAPH, (part,)).manifest(version)
    manifest["spec"] |= more
    server.apply(manifest, FLUX)
    return server, manifest


def _env(server: Server, version: str) -> list[str]:
    spec = server.read(version)["spec"]
    if version == ALPHA:
        return [item["name"] for item in spec["services"]["worker"].get("envs", ())]
    [container] = spec["components"][0]["podTemplate"]["spec"]["containers"]
    return [item["name"] for item in container.get("env", ())]


def _beside() -> Object:
    manifest = Subject(GRAPH).manifest(BETA)
    manifest["spec"]["components"] = [ADDED]
    return manifest


def test_an_entry_in_an_atomic_list_is_a_conflict() -> None:
    """A v1beta1 manager that adds an environment variable changes the list that a v1alpha1 manager owns as a whole."""
    server, _ = _applied(ALPHA)
    with pytest.raises(ConflictError):
        server.apply(_beside(), OTHER)
    server.apply(_beside(), OTHER, force=True)
    assert _env(server, BETA) == ["A", "B", "D"]


def test_a_forced_entry_in_an_atomic_list_goes_with_the_next_sync() -> None:
    """The v1alpha1 manager writes its whole list again."""
    server, manifest = _applied(ALPHA)
    server.apply(_beside(), OTHER, force=True)
    server.apply(manifest, FLUX, force=True)
    assert _env(server, BETA) == ["A", "B"]


def test_an_entry_beside_a_v1beta1_manager_stays() -> None:
    """In v1beta1 the list is merged by name: both managers keep theirs, and nobody needs force."""
    server, manifest = _applied(BETA)
    server.apply(_beside(), OTHER)
    server.apply(manifest, FLUX)
    assert sorted(_env(server, BETA)) == ["A", "B", "D"]


def test_a_dropped_entry_stays_beside_a_v1alpha1_manager() -> None:
    """The API server keeps the v1alpha1 list as a whole; not where nobody wrote in v1alpha1, and not when the whole list goes."""
    smaller = Part("worker", "worker", tuple(name for name in PART.traits if name != "env"))
    for beside in (False, True):
        server, _ = _applied(BETA, Part("worker", "worker", (*PART.traits, "main env")))
        if beside:
            server.patch(ALPHA, {"status": {"state": "pending"}}, "controller", status=True)
        server.apply(Subject(GRAPH, (PART,)).manifest(BETA), FLUX)
        assert ("C" in _env(server, BETA)) is beside
        server.apply(Subject(GRAPH, (smaller,)).manifest(BETA), FLUX)
        assert _env(server, BETA) == []


def test_the_annotation_deleted_in_v1beta1_takes_along_what_it_says() -> None:
    """What v1alpha1 alone can say is in the annotation; without it, it is gone in v1alpha1, too."""
    claims = [{"name": "cache", "create": False}]
    server, manifest = _applied(ALPHA, pvcs=claims)
    assert "nvidia.com/dgd-spec" in server.read(BETA)["metadata"]["annotations"]
    server.patch(BETA, {"metadata": {"annotations": {"nvidia.com/dgd-spec": None}}}, "kubectl-annotate")
    assert "pvcs" not in server.read(ALPHA)["spec"]
    server.apply(manifest, FLUX)
    assert server.read(ALPHA)["spec"]["pvcs"] == claims


def test_an_apply_without_the_annotation_keeps_it() -> None:
    """No manifest says it, so no manager owns it."""
    server, _ = _applied(ALPHA, pvcs=[{"name": "cache", "create": False}])
    server.apply(_beside(), OTHER, force=True)
    assert server.read(ALPHA)["spec"]["pvcs"]


def test_what_v1alpha1_alone_says_stays_after_the_move_until_the_annotation_is_deleted() -> None:
    """Whoever moves the manifest; in v1beta1 the object is what the manifest says all the same, before and after."""
    for mover in (FLUX, OTHER):
        server, _ = _applied(ALPHA, pvcs=[{"name": "cache", "create": False}])
        server.apply(Subject(GRAPH, (PART,)).manifest(BETA), mover, force=True)
        moved = server.read(BETA)["spec"]
        assert "pvcs" in server.read(ALPHA)["spec"]
        server.patch(BETA, {"metadata": {"annotations": {"nvidia.com/dgd-spec": None}}}, "kubectl-annotate")
        assert "pvcs" not in server.read(ALPHA)["spec"]
        assert server.read(BETA)["spec"] == moved


def test_one_of_several_fields_of_v1alpha1_alone_stays_beside_a_v1beta1_manager() -> None:
    """They are one annotation in v1beta1, which the API server keeps or removes as a whole; without such a manager it goes."""
    for beside in (False, True):
        server, manifest = _applied(ALPHA, Part("worker", "worker", ("image",), ("labels",)), pvcs=[{"name": "cache", "create": False}])
        if beside:
            server.patch(BETA, {"spec": {"labels": {"a": "b"}}}, "kubectl-edit")
        del manifest["spec"]["pvcs"]
        server.apply(manifest, FLUX)
        assert ("pvcs" in server.read(ALPHA)["spec"]) is beside
        server.patch(ALPHA, {"spec": {"pvcs": None}}, "kubectl-edit")
        assert "pvcs" not in server.read(ALPHA)["spec"]
        assert server.read(ALPHA)["spec"]["services"]["worker"]["labels"]


def test_entries_that_go_with_the_version_stay_and_go_in_a_later_commit() -> None:
    """v1alpha1 has the list as a whole, so one entry of it can't go while the owner's last apply was in v1alpha1."""
    server, _ = _applied(ALPHA)
    smaller = Subject(GRAPH, (PART,)).manifest(BETA)
    container = smaller["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]
    container["env"] = container["env"][:1]
    server.apply(smaller, FLUX, force=True)
    assert _env(server, BETA) == ["A", "B"]
    for version in (ALPHA, BETA):
        server.apply(Subject(GRAPH, (PART,)).manifest(version), FLUX, force=True)
    server.apply(smaller, FLUX)
    assert _env(server, BETA) == ["A"]


def test_going_back_keeps_a_role_that_v1alpha1_does_not_say() -> None:
    """`type` of v1beta1 is two fields of v1alpha1, and nobody owns the second one then."""
    for written in ("prefill", "worker"):
        server = modelled(GRAPH)
        server.apply(Subject(GRAPH, (Part("worker", written, ("image",)),)).manifest(BETA), FLUX)
        server.apply(Subject(GRAPH, (Part("worker", "worker", ("image",)),)).manifest(ALPHA), FLUX, force=True)
        assert server.read(BETA)["spec"]["components"][0]["type"] == written


@pytest.mark.parametrize("more", [{"pvcs": [{"name": "cache", "create": False}]}, {}], ids=["annotated", "bare"])
def test_converted_output_changes_the_owner_and_no_field(more: dict[str, Any]) -> None:
    """The first apply of what `convert` writes is a new resourceVersion, not a new generation; the next one is nothing.

    Also where it writes no annotation, since that would hold no value: the object keeps its own, which no manager owns.
    """
    server, manifest = _applied(ALPHA, *(() if more else (Part("worker", "worker", ("image",)),)), **more)
    before = {version: server.read(version) for version in (ALPHA, BETA)}
    output = convert_as_served(manifest, target(f"{GROUP}/{BETA}", line=Line.V1_2)).object
    assert ("annotations" in output["metadata"]) is bool(more)
    written = server.apply(output, FLUX, force=True)
    assert (written.changed, written.generation) == (True, False)
    assert not server.apply(output, FLUX).changed
    assert {version: server.read(version) for version in (ALPHA, BETA)} == before


@pytest.mark.parametrize("version", [ALPHA, BETA])
def test_an_edited_request_that_was_converted_is_written_once(version: str) -> None:
    """Its file says nothing that an edit of the file makes wrong, which each sync would write again."""
    server, manifest = modelled(REQUEST), Subject(REQUEST, (), ("goals", "lengths")).manifest(version)
    server.apply(manifest, FLUX)
    other = BETA if version == ALPHA else ALPHA
    output = convert_as_served(manifest, target(f"{GROUP}/{other}", line=Line.V1_2)).object
    assert not server.apply(output, FLUX, force=True).generation
    targets = output["spec"]["sla"] if other == BETA else output["spec"]["profilingConfig"]["config"]["sla"]
    targets["ttft"] = 321
    assert server.apply(output, FLUX).generation
    assert not server.apply(output, FLUX).changed


def test_a_free_part_of_a_configuration_goes_with_the_manifest() -> None:
    """Beside a manager who writes in v1beta1, too, where the annotation of older operators holds the whole configuration."""
    server = modelled(REQUEST)
    server.apply(Subject(REQUEST, (), ("one length",)).manifest(BETA), FLUX)
    server.patch(BETA, {"metadata": {"labels": {"a": "b"}}}, "kubectl")
    for facets, found in ((("one length", "free"), True), (("one length",), False)):
        server.apply(Subject(REQUEST, (), facets).manifest(ALPHA), FLUX, force=True)
        assert ("engine" in server.read(ALPHA)["spec"]["profilingConfig"]["config"]) is found


def test_going_back_leaves_a_flat_copy_of_what_the_main_container_says() -> None:
    """It stays when the manifest drops the value, until somebody removes it."""
    server, _ = _applied(BETA, Part("worker", "worker", ("image", "main env")))
    server.apply(Subject(GRAPH, (Part("worker", "worker", ("image", "main env")),)).manifest(ALPHA), FLUX, force=True)
    assert _env(server, ALPHA) == _env(server, BETA) == ["C"]
    server.apply(Subject(GRAPH, (Part("worker", "worker", ("image",)),)).manifest(ALPHA), FLUX)
    assert _env(server, BETA) == ["C"]
    server.patch(ALPHA, {"spec": {"services": {"worker": {"envs": None}}}}, "kubectl-edit")
    assert _env(server, BETA) == []


@pytest.mark.parametrize(
    ("version", "path", "merged"),
    [
        (ALPHA, ("envs",), "as a whole"),
        (ALPHA, ("pvcs",), "as a whole"),
        (ALPHA, ("services", "*", "envs"), "as a whole"),
        (ALPHA, ("services", "*", "volumeMounts"), "as a whole"),
        (ALPHA, ("services", "*", "extraPodSpec", "containers"), "name"),
        (BETA, ("env",), "as a whole"),
        (BETA, ("components",), "name"),
        (BETA, ("components", "*", "podTemplate", "spec", "containers"), "name"),
        (BETA, ("components", "*", "podTemplate", "spec", "containers", "*", "env"), "name"),
        (BETA, ("components", "*", "podTemplate", "spec", "containers", "*", "volumeMounts"), "mountPath"),
    ],
)
def test_how_lists_are_merged(version: str, path: tuple[str, ...], merged: str) -> None:
    """The table of the page."""
    kind = type_of(GRAPH, version)
    for name in ("spec", *path):
        inner = kind.map.fields.get(name, kind.map.extra) if kind.map else kind.list.items if kind.list else None
        assert inner
        kind = inner
    assert kind.list
    assert (", ".join(kind.list.keys) or "as a whole") == merged
    assert kind.list.atomic is (merged == "as a whole")
