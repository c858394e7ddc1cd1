"""What `crds --cluster` prints can be applied over definitions that name a server by url, whoever wrote them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.admission import COMMAND
from tests.cluster.harness import ADMIN, ControlPlane, control_plane

URL: Final = "https://127.0.0.1:9443/convert"
DEFINITION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeployments.nvidia.com"


@pytest.fixture(scope="module")
def plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with control_plane(assets, tmp_path_factory.mktemp("url")) as plane:
        yield plane


def _printed(plane: ControlPlane | None, *words: str) -> str:
    cluster = ["--cluster", "--kubeconfig", str(plane.kubeconfig), "--context", ADMIN] if plane else []
    return subprocess.run([str(COMMAND), "crds", "--kind", "dgd", *cluster, *words], capture_output=True, text=True, check=True).stdout


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
    plane: ControlPlane, flags: list[str], steps: list[tuple[tuple[str, ...], str | None, str | None]]
) -> None:
    plane.kubectl("delete", "crd", "dynamographdeployments.nvidia.com", "--ignore-not-found", "--wait")
    done = plane.kubectl("create", "-f", "-", input=_printed(None, "--url", URL))
    assert done.code == 0, done.stderr
    for words, url, service in steps:
        done = plane.kubectl("apply", *flags, "-f", "-", input=_printed(plane, *words))
        assert done.code == 0, (words, done.stderr)
        client = plane.request("GET", DEFINITION).body["spec"]["conversion"]["webhook"]["clientConfig"]
        assert (client.get("url"), (client.get("service") or {}).get("name")) == (url, service)
