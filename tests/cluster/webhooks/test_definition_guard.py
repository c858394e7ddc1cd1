"""The policy on our definitions, on a real API server: every update after which objects would lose fields is refused, to admins too.

The administrator of these tests is in `system:masters`, whom no permission stops. No provisioner runs while definitions are spoiled: what
is measured is what the policy refuses, not what somebody repairs.
"""

import copy
import json
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.api.crd import ALLOW_DATA_LOSS, build
from dynamo_webhooks.api.definition_guard import NAME
from dynamo_webhooks.api.kinds import ALPHA, BY_NAME, GROUP, KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.main import main
from tests.cluster.harness import ADMIN
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tests.cluster.provisioning import JSON_PATCH, MERGE_PATCH, Installed, installed
from tests.cluster.rendering import GUARD, of_kind
from tools.crd_files import FOLDERS

Node: TypeAlias = dict[str, Any]
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GRAPHS: Final = f"{DEFINITIONS}/dynamographdeployments.{GROUP}"
CONVERTED: Final = [kind for kind in KINDS if len(kind.versions) > 1]
DENIED: Final = f"ValidatingAdmissionPolicy '{NAME}'"
Edit: TypeAlias = "Callable[[Node], None]"


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """An installation with the policy in force."""
    with installed(planes, tmp_path_factory.mktemp("guard")) as installation:
        installation.serve("server")
        provisioner = installation.provision()
        installation.wait_until_stable()
        os.kill(provisioner.pid, signal.SIGSTOP)
        try:
            installation.plane.apply(*of_kind(installation.objects, *GUARD))
            off = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
            path = f"{GRAPHS}?dryRun=All"
            wait_until(lambda: installation.plane.request("PATCH", path, off, kind=MERGE_PATCH).status == 422, "the policy being in force")
            yield installation
        finally:
            os.kill(provisioner.pid, signal.SIGCONT)


def _edited(site: Installed, name: str, edit: Edit) -> Node:
    """The definition as it stands, edited, for a client that replaces it."""
    crd = site.get(f"{DEFINITIONS}/{name}")
    assert crd is not None
    edited = copy.deepcopy(crd)
    edit(edited)
    return edited


def _unserved(version: str) -> Edit:
    def edit(crd: Node) -> None:
        next(each for each in crd["spec"]["versions"] if each["name"] == version)["served"] = False

    return edit


def _removed(version: str) -> Edit:
    def edit(crd: Node) -> None:
        crd["spec"]["versions"] = [each for each in crd["spec"]["versions"] if each["name"] != version]

    return edit


def _schema(crd: Node, version: str) -> Node:
    schema: Node = next(each for each in crd["spec"]["versions"] if each["name"] == version)["schema"]["openAPIV3Schema"]
    return schema


def _paths(schema: Node, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where the properties of a schema are, each as the keys that lead to it."""
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _paths(schema[key], (*at, key))
    for name, below in (schema.get("properties") or {}).items():
        yield (*at, "properties", name)
        yield from _paths(below, (*at, "properties", name))


def _without(version: str, path: tuple[str, ...]) -> Edit:
    def edit(crd: Node) -> None:
        place = _schema(crd, version)
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]

    return edit


WAYS: Final[dict[str, tuple[str, ...]]] = {
    "merge patch": ("patch", "--type=merge", "-p", '{"spec": {"conversion": {"strategy": "None", "webhook": null}}}'),
    "JSON patch": ("patch", "--type=json", "-p", '[{"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}]'),
    "JSON patch that removes it": ("patch", "--type=json", "-p", '[{"op": "remove", "path": "/spec/conversion"}]'),
}


@pytest.mark.parametrize("kind", CONVERTED, ids=lambda kind: kind.alias)
@pytest.mark.parametrize("way", WAYS)
def test_no_patch_switches_conversion_off(site: Installed, kind: Any, way: str) -> None:
    verb, *flags = WAYS[way]
    done = site.plane.kubectl(verb, "crd", kind.crd_name, *flags)
    assert done.code != 0
    assert DENIED in done.stderr
    assert f"{kind.name}: spec.conversion.strategy must stay Webhook" in done.stderr


def test_no_file_without_conversion_switches_it_off(site: Installed) -> None:
    """As another release or a generator writes definitions: replaced, applied by the client, applied by the server."""
    for kind in CONVERTED:
        bare = build(kind.name, line=Line.V1_2)
        assert "conversion" not in bare["spec"]
        for verb, *flags in (["replace"], ["apply"], ["apply", "--server-side", "--force-conflicts"]):
            before = (site.get(f"{DEFINITIONS}/{kind.crd_name}") or {})["spec"]["conversion"]["strategy"]
            done = site.plane.kubectl(verb, *flags, "-f", "-", input=bare)
            after = (site.get(f"{DEFINITIONS}/{kind.crd_name}") or {})["spec"]["conversion"]["strategy"]
            assert (before, after) == ("Webhook", "Webhook"), (verb, flags)
            # a client that owns no stanza takes none away, or sends half of one, which the API server refuses itself
            assert done.code == 0 or DENIED in done.stderr or "spec.conversion.strategy: Required value" in done.stderr, done.stderr
            assert verb != "replace" or done.code != 0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.is_of(Line.V1_2)], ids=lambda kind: kind.alias)
def test_no_served_version_and_no_field_at_any_depth_is_taken_away(site: Installed, kind: Any) -> None:
    whole = site.get(f"{DEFINITIONS}/{kind.crd_name}")
    assert whole is not None
    for version in kind.versions:
        reply = site.plane.request("PUT", f"{DEFINITIONS}/{kind.crd_name}", _edited(site, kind.crd_name, _unserved(version.name)))
        assert reply.status == 422
        assert f"{kind.name}: spec.versions must still serve {version.name}" in reply.body["message"]
        if not version.storage:
            reply = site.plane.request("PUT", f"{DEFINITIONS}/{kind.crd_name}", _edited(site, kind.crd_name, _removed(version.name)))
            assert reply.status == 422
            assert f"must still serve {version.name}" in reply.body["message"]
        deepest = sorted(_paths(_schema(whole, version.name)), key=lambda path: path.count("properties"), reverse=True)
        _one_refused(site, kind, version.name, deepest)
        _one_refused(site, kind, version.name, deepest[len(deepest) // 2 :])


def _one_refused(site: Installed, kind: Any, version: str, paths: list[tuple[str, ...]]) -> None:
    """Takes fields away, one at a time: none may go, and the API server refuses only those itself that other parts of the schema name."""
    for path in paths[:12]:
        reply = site.plane.request("PUT", f"{DEFINITIONS}/{kind.crd_name}", _edited(site, kind.crd_name, _without(version, path)))
        assert reply.status == 422, path
        if f"{kind.name}: the schema of {version} must keep all its fields" in reply.body["message"]:
            return
    raise AssertionError(f"the policy refused none of {paths[:12]}")


def test_a_free_form_part_or_a_map_is_not_closed(site: Installed) -> None:
    whole = site.get(GRAPHS)
    assert whole is not None
    for mark in ("x-kubernetes-preserve-unknown-fields", "additionalProperties"):
        below = [*_paths(_schema(whole, ALPHA))]
        path = next(path for path in below if mark in _at(_schema(whole, ALPHA), path))
        reply = site.plane.request("PUT", GRAPHS, _edited(site, f"dynamographdeployments.{GROUP}", _without(ALPHA, (*path, mark))))
        assert reply.status == 422, path
        assert "the schema of v1alpha1 must keep all its fields" in reply.body["message"]


def _at(schema: Node, path: tuple[str, ...]) -> Node:
    for key in path:
        schema = schema[key]
    return schema


def test_what_loses_nothing_is_let_through(site: Installed) -> None:
    """Labels, a field more, an emptied bundle (which the provisioner fills again), the shipped files by every client."""
    bundle = (site.get(GRAPHS) or {})["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"]

    def more(crd: Node) -> None:
        _schema(crd, ALPHA)["properties"]["spec"]["properties"]["another"] = {"type": "string"}

    assert site.plane.request("PUT", f"{GRAPHS}?dryRun=All", _edited(site, f"dynamographdeployments.{GROUP}", more)).status == 200
    site.patch(GRAPHS, {"metadata": {"labels": {"some": "label"}}})
    for verb, *flags in (["apply"], ["apply", "--server-side", "--force-conflicts"], ["replace"], ["apply"]):
        done = site.plane.kubectl(verb, *flags, "-f", str(FOLDERS[Line.V1_2]))
        assert done.code == 0, (verb, done.stderr)
        assert {(site.get(f"{DEFINITIONS}/{kind.crd_name}") or {})["spec"]["conversion"]["strategy"] for kind in CONVERTED} == {"Webhook"}
    # the replacement emptied the bundle, which breaks requests loudly; the provisioner, who sleeps here, would write it again
    site.patch(GRAPHS, {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}})
    # nor is another's definition our business
    other = build("DynamoModel", line=Line.V1_2)
    other["metadata"]["name"], other["spec"]["group"] = "dynamomodels.example.com", "example.com"
    site.plane.apply(other)
    patch = [{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status"}]
    assert site.plane.request("PATCH", f"{DEFINITIONS}/dynamomodels.example.com", patch, kind=JSON_PATCH).status == 200


def test_whoever_says_so_may(site: Installed, capsys: pytest.CaptureFixture[str]) -> None:
    """With the annotation it is done, doctor tells of an annotation that was left, and the shipped files take both back."""
    name = BY_NAME["DynamoModel"].crd_name
    patch = [
        {"op": "add", "path": f"/metadata/annotations/{ALLOW_DATA_LOSS.replace('/', '~1')}", "value": "true"},
        {"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status"},
    ]
    assert site.plane.request("PATCH", f"{DEFINITIONS}/{name}", patch[1:], kind=JSON_PATCH).status == 422
    assert site.plane.request("PATCH", f"{DEFINITIONS}/{name}", patch, kind=JSON_PATCH).status == 200
    capsys.readouterr()
    main(["doctor", "--kubeconfig", str(site.plane.kubeconfig), "--context", ADMIN, "-o", "json"])
    [left] = [each for each in json.loads(capsys.readouterr().out)["findings"] if each["check"] == "guard"]
    assert f"{name}" in left["object"]
    flags = f"--kubeconfig {site.plane.kubeconfig} --context {ADMIN}"
    assert left["repair"] == f"kubectl {flags} annotate crd {name} --overwrite {ALLOW_DATA_LOSS}=false"
    assert site.plane.kubectl("apply", "-f", str(FOLDERS[Line.V1_2] / "dynamomodels.yaml")).code == 0
    assert (site.get(f"{DEFINITIONS}/{name}") or {})["metadata"]["annotations"][ALLOW_DATA_LOSS] == "false"
    assert site.plane.request("PATCH", f"{DEFINITIONS}/{name}", patch[1:], kind=JSON_PATCH).status == 422
