"""`doctor --upgrade-to`: versions of other controllers beside those of the lines, and pods at scheduling gates."""

import asyncio
from typing import Any

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.doctor.finding import Level
from dynamo_webhooks.cli.commands.doctor.neighbours import check_neighbours, compare_versions, list_gated
from tests.cli.doctor.test_doctor import view
from tests.kube.memory import MemoryCluster

Node = dict[str, Any]
LINES = [Line.V1_5, Line.V1_6]


def _deployment(name: str, image: str) -> Node:
    pod = {"containers": [{"name": "c", "image": image}]}
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"template": {"spec": pod}}}


def _pod(name: str, *gates: str) -> Node:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"schedulingGates": [{"name": gate} for gate in gates]}}


def test_a_version_stands_beside_those_of_each_line() -> None:
    images = (
        "ghcr.io/ai-dynamo/grove/grove-operator:v0.1.0-alpha.14",
        "ghcr.io/x/kai-scheduler/binder:v0.16.0",
        "r.io/lws/lws:v0.7.0",
        "a/b:1",
    )
    grove, kai, lws = compare_versions([_deployment(f"d{index}", image) for index, image in enumerate(images)], LINES)
    assert (grove.level, grove.object) == (Level.INFO, "Deployment ns/d0")
    assert (
        grove.text
        == "runs Grove 0.1.0-alpha.14; operator 1.5 was released with 0.1.0-alpha.13; operator 1.6 was released with 0.1.0-alpha.14"
    )
    assert (kai.level, kai.text.partition(";")[0]) == (Level.WARNING, "runs KAI 0.16.0")
    assert "operator 1.6 was released with a version that its notes do not name" in lws.text


def test_the_version_of_grove_that_holds_pods_for_ever_is_warned_of() -> None:
    [finding] = compare_versions([_deployment("g", "x/grove-operator:v0.1.0-alpha.12@sha256:0")] * 2, [Line.V1_5])
    assert finding.level is Level.WARNING
    assert finding.text.endswith("With the operator 1.4.2 pods of components on several nodes wait at their gates for ever")


def test_pods_at_gates_are_named_with_their_gates() -> None:
    [finding] = list_gated([_pod("b"), _pod("a", "grove.io/podgang-pending-creation", "x/y")])
    assert finding.object == "Pod ns/a"
    assert "grove.io/podgang-pending-creation, x/y" in finding.text
    assert [gated.object for gated in list_gated(_pod(f"p{index:02}", "g") for index in range(22))][-2:] == ["Pod ns/p19", "pods"]


def test_what_may_not_be_read_is_said() -> None:
    closed = MemoryCluster()
    closed.denied |= {("list", "deployments"), ("list", "pods")}
    findings = asyncio.run(check_neighbours(closed, view(), Line.V1_6))
    assert [(finding.check, finding.object) for finding in findings] == [("permission", "deployments"), ("permission", "pods")]
    assert asyncio.run(check_neighbours(MemoryCluster(), view(), Line.V1_6)) == []


def test_releases_that_an_upgrade_must_not_leave_out_are_named() -> None:
    def found(now: Line, to: Line) -> list[str]:
        live = view()
        live.crds.update({f"{kind.lower()}s": build(kind, line=now) for kind in ("DynamoGraphDeployment", "DynamoGraphDeploymentRequest")})
        return [finding.text for finding in asyncio.run(check_neighbours(MemoryCluster(), live, to)) if finding.check == "upgrade"]

    assert found(Line.V1_2, Line.V1_7) == ["upgrade from operator 1.2 to 1.5, then to 1.6, then to 1.7: no release may be left out"]
    assert found(Line.V1_5, Line.V1_7) == ["upgrade from operator 1.5 to 1.6, then to 1.7: no release may be left out"]
    assert found(Line.V1_2, Line.V1_5) == found(Line.V1_6, Line.V1_7) == found(Line.V1_7, Line.V1_7) == []
