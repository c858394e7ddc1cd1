"""Pods of graphs, checkpoints and requests with mistakes by dice: what a real API server refuses of them, `check` has reported.

POD_GRAPHS is their number (200, always the same; `make nightly` tries 2,000), LAWS_SEED their seed.
"""

import json
import os
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import pytest

from dynamo_webhooks.cli.commands.render.kinds import render_children
from dynamo_webhooks.cli.commands.render.pods import list_pods
from dynamo_webhooks.cli.commands.render.run import choose_operator
from dynamo_webhooks.cli.objects.forms import create
from dynamo_webhooks.cli.objects.manifest import find_manifests
from dynamo_webhooks.cli.validation.levels import WARNING
from dynamo_webhooks.cli.validation.pipeline import ValidationSettings, check_object
from dynamo_webhooks.cli.yaml.load import Document, Source, read_text
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.reconciler.render.object_index import ObjectIndex
from tests.cluster.harness import ControlPlane, Reply
from tests.cluster.mistaken import LINES, Mistakes

Node: TypeAlias = dict[str, Any]
GRAPHS: Final = int(os.environ.get("POD_GRAPHS") or 200)
SEED: Final = int(os.environ["LAWS_SEED"]) if "POD_GRAPHS" in os.environ else 20261130
_ROOTS: Final = {"v1": "/api/v1", "apps/v1": "/apis/apps/v1", "batch/v1": "/apis/batch/v1"}
# rules about what an API server says of pods: where they alone find something, it must refuse
OF_PODS: Final = {"pod-refused", "pod-ends-off-grove", "ckpt-pod-refused", "dgdr-pod-refused"}
_IMAGE_VOLUME: Final = '"image": {'  # a volume that API servers of some releases drop, with its mistakes
_REFUSED: Final = (400, 422)  # others say what a cluster lacks, such as a PriorityClass


@pytest.mark.parametrize("grove", [False, True])
@pytest.mark.parametrize("kind", ["DynamoGraphDeployment", "DynamoCheckpoint", "DynamoGraphDeploymentRequest"])
def test_no_pod_is_refused_of_which_check_reported_nothing(alpha: ControlPlane, kind: str, *, grove: bool) -> None:
    facts = Facts(operatorVersion=f"{LINES.get(kind, '1.7')}.0", grove=grove)
    operator, namespace = choose_operator(facts, None)[0], alpha.namespace()
    missed, alarms, accepted, reports = [], [], 0, 0
    for number in range(GRAPHS if kind == "DynamoGraphDeployment" else GRAPHS // 2):
        obj = Mistakes(f"{SEED} {number}").object_of(kind, number)
        reported = _reports(obj, facts)
        reports += bool(reported)
        text = json.dumps(obj["spec"])
        if not reported <= OF_PODS or _IMAGE_VOLUME in text:
            continue
        created = create(obj, facts, "")
        made, problems, _ = render_children(created, ObjectIndex([created], "demo"), operator)
        replies = [reply for child in made for reply in _replies(alpha, namespace, child)]
        if reported:
            if not problems and all(reply.status < 400 for reply in replies):
                alarms.append(f"{text}: {reported}")
            continue
        refusals = [str(reply.body["message"]) for reply in replies if reply.status in _REFUSED]
        accepted += bool(made) and not refusals
        missed += [f"{text}: {refusal}" for refusal in refusals]
    assert not missed, f"seed {SEED}:\n" + "\n".join(missed)
    assert not alarms, f"seed {SEED}:\n" + "\n".join(alarms)
    assert min(reports, accepted) > GRAPHS // 20


def _reports(obj: Node, facts: Facts) -> set[str]:
    """The rules whose errors `check` finds."""
    [document] = read_text(Source("object.json", json.dumps(obj)))
    assert isinstance(document, Document)
    [item] = find_manifests([document])
    return {finding.rule for finding in check_object(item, CREATE, None, ValidationSettings(facts)).findings if finding.level != WARNING}


def _replies(plane: ControlPlane, namespace: str, child: Node) -> Iterator[Reply]:
    """What the API server answers to a child and its pods."""
    tried = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **_marks(pod)}, "spec": pod["spec"]} for pod in list_pods(child)]
    if child["apiVersion"] in _ROOTS:
        tried.append({**child, "metadata": {"name": child["metadata"]["name"], **_marks(child)}})
    for obj in tried:
        path = f"{_ROOTS[obj['apiVersion']]}/namespaces/{namespace}/{obj['kind'].lower()}s?dryRun=All&fieldValidation=Ignore"
        yield plane.request("POST", path, obj)


def _marks(obj: Node) -> Node:
    metadata = obj.get("metadata") or {}
    return {name: metadata.get(name) or {} for name in ("labels", "annotations")}
