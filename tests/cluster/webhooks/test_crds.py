"""The files of manifests/crds on a real API server: applied by any client, applied again, and over older definitions."""

import base64
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import ALPHA, KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.certs.authority import make_authority
from dynamo_webhooks.cli.yaml.load import load_documents
from tests.cluster.admission import COMMAND
from tests.cluster.harness import ADMIN, ControlPlane, Outcome
from tests.cluster.objects import make, path_of
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tools.crd_files import FOLDERS

Node: TypeAlias = dict[str, Any]
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ALL: Final = {kind.crd_name for kind in KINDS if kind.is_of(Line.V1_2)}
CONVERTED: Final = [kind for kind in KINDS if len(kind.versions) > 1]


class Story(NamedTuple):
    """What happened to one control plane: our files three times, then definitions without conversion in their place, and ours again."""

    plane: ControlPlane
    created: Outcome
    again: Outcome
    by_server: Outcome
    older: Node  # an object from the time without conversion
    upgraded: Outcome


@pytest.fixture(scope="module")
def story(planes: Planes) -> Iterator[Story]:
    with planes.lend() as plane:
        created, again, by_server = (plane.kubectl("apply", *flags, "-f", str(FOLDERS[Line.V1_2])) for flags in ([], [], ["--server-side"]))
        without = {
            "apiVersion": "v1",
            "kind": "List",
            "items": [build(kind.name, line=Line.V1_2) for kind in KINDS if kind.crd_name in ALL],
        }
        assert plane.kubectl("replace", "-f", "-", input=without).code == 0
        older = make("DGD", ALPHA, "default", {"services": {"w": {"replicas": 2}}})
        wait_until(lambda: plane.request("POST", path_of(older), older).status == 201, "an object being created", plane.server)
        yield Story(plane, created, again, by_server, older, plane.kubectl("apply", "-f", str(FOLDERS[Line.V1_2])))


def _said(outcome: Outcome) -> dict[str, str]:
    """What kubectl says of each definition."""
    assert outcome.code == 0, outcome.stderr
    lines = [line.removeprefix("customresourcedefinition.apiextensions.k8s.io/").split() for line in outcome.stdout.splitlines()]
    return {name: " ".join(words) for name, *words in lines}


def test_they_are_created_without_a_warning_left_as_they_are_and_taken_over_by_the_server(story: Story) -> None:
    assert _said(story.created) == dict.fromkeys(ALL, "created")
    assert _said(story.again) == dict.fromkeys(ALL, "unchanged")
    assert story.created.stderr == story.again.stderr == ""
    assert _said(story.by_server) == dict.fromkeys(ALL, "serverside-applied")


def test_what_is_stored_is_what_lies_in_the_files(story: Story) -> None:
    """Nothing is dropped on the way but what says the same left out, and every annotation together fits."""
    for kind in (kind for kind in KINDS if kind.crd_name in ALL):
        [wanted] = [document.data for document in load_documents((FOLDERS[Line.V1_2] / f"{kind.plural}.yaml").read_text())]
        stored = story.plane.request("GET", f"{CRDS}/{kind.crd_name}").body
        assert stored["spec"]["versions"] == wanted["spec"]["versions"]
        webhook = {key: value for key, value in stored["spec"]["conversion"].items() if key != "strategy"}
        assert webhook == {key: value for key, value in wanted["spec"].get("conversion", {}).items() if key != "strategy"}
        assert stored["spec"]["conversion"]["strategy"] == ("Webhook" if kind in CONVERTED else "None")
        annotations = stored["metadata"]["annotations"]
        assert wanted["metadata"]["annotations"].items() <= annotations.items()
        assert sum(len(part.encode()) for pair in annotations.items() for part in pair) < 262_144


def test_definitions_without_conversion_are_upgraded_in_place(story: Story) -> None:
    """As after the Go operator's manifests, which have none; without a bundle the other version fails loudly, and nothing is lost."""
    assert _said(story.upgraded) == dict.fromkeys(ALL, "configured")
    refused = story.plane.request("GET", path_of({**story.older, "apiVersion": "nvidia.com/v1beta1"}, named=True))
    assert refused.status == 500
    assert "conversion webhook for nvidia.com/v1alpha1, Kind=DynamoGraphDeployment failed" in refused.body["message"]
    assert story.plane.request("GET", path_of(story.older, named=True)).body["spec"] == story.older["spec"]


def test_a_bundle_that_was_filled_in_survives_another_apply(story: Story) -> None:
    """Client-side and server-side; an apply that took it away would end every conversion until somebody noticed."""
    bundle = base64.b64encode(make_authority(datetime(2026, 1, 1, tzinfo=UTC)).certificate).decode()
    _fill_in(story.plane, bundle)
    try:
        for flags in ([], ["--server-side"]):
            assert story.plane.kubectl("apply", *flags, "-f", str(FOLDERS[Line.V1_2])).code == 0
            for kind in CONVERTED:
                client = story.plane.request("GET", f"{CRDS}/{kind.crd_name}").body["spec"]["conversion"]["webhook"]["clientConfig"]
                assert client["caBundle"] == bundle
                assert client["service"]["name"] == "dynamo-webhooks"
    finally:
        _fill_in(story.plane, None)


def _fill_in(plane: ControlPlane, bundle: str | None) -> None:
    """Writes the bundle as the provisioner does, or takes it out."""
    patch = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}}
    for kind in CONVERTED:
        path = f"{CRDS}/{kind.crd_name}?fieldManager=dynamo-webhooks-provisioner"
        assert plane.request("PATCH", path, patch, kind="application/merge-patch+json").status == 200


URL: Final = "https://127.0.0.1:9443/convert"
ADAPTERS: Final = "dynamographdeploymentscalingadapters.nvidia.com"


def _printed(plane: ControlPlane | None, *words: str) -> str:
    cluster = ["--cluster", "--kubeconfig", str(plane.kubeconfig), "--context", ADMIN] if plane else ["--line", Line.V1_2]
    return subprocess.run([str(COMMAND), "crds", "--kind", "dgdsa", *cluster, *words], capture_output=True, text=True, check=True).stdout


KEPT: Final = ((), URL, None)
MOVED: Final = (("--service", "hooks"), None, "hooks")
AGAIN: Final = (("--url", URL), URL, None)


@pytest.mark.parametrize(
    ("flags", "steps"),
    [
        ([], [KEPT, MOVED, AGAIN, KEPT]),
        (["--server-side"], [KEPT, KEPT]),  # another server is a conflict, as it should be
        (["--server-side", "--force-conflicts"], [KEPT, MOVED, AGAIN, KEPT]),
    ],
    ids=["plain", "server-side", "forced"],
)
def test_definitions_are_applied_over_those_with_a_url(
    story: Story, flags: list[str], steps: list[tuple[tuple[str, ...], str | None, str | None]]
) -> None:
    """Definitions that name a server by url, whoever wrote them. Of all, the shortest costs an API server least."""
    plane = story.plane
    plane.kubectl("delete", "crd", ADAPTERS, "--ignore-not-found", "--wait")
    plane.kubectl("create", "-f", "-", input=_printed(None, "--url", URL)).done()
    for words, url, service in steps:
        done = plane.kubectl("apply", *flags, "-f", "-", input=_printed(plane, *words))
        assert done.code == 0, (words, done.stderr)
        client = plane.request("GET", f"{CRDS}/{ADAPTERS}").body["spec"]["conversion"]["webhook"]["clientConfig"]
        assert (client.get("url"), (client.get("service") or {}).get("name")) == (url, service)
    plane.kubectl("delete", "crd", ADAPTERS, "--wait")
    assert plane.kubectl("apply", "-f", str(FOLDERS[Line.V1_2] / "dynamographdeploymentscalingadapters.yaml")).code == 0
