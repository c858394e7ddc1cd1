"""What a real kubectl prints when nothing of ours refused an object: `explain` knows each text and its own cause."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_webhooks.cli.commands.explain.message import find
from tests.cluster.admission import Admission
from tests.cluster.harness import USER, ControlPlane
from tests.cluster.processes import wait_until

MODEL: dict[str, Any] = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": {"name": "m"}}
SPEC: dict[str, Any] = {"modelName": "m", "baseModelName": "b"}
ASKED = "asked-webhook"  # a label: its value chooses the webhook


def model(name: str = "m", **more: Any) -> dict[str, Any]:
    """A model that a schema accepts; `more` are fields beside its own."""
    return {**MODEL, "metadata": {"name": name}, "spec": {**SPEC, **more}}


def webhook(name: str, client: dict[str, Any]) -> dict[str, Any]:
    """A webhook of models with a label of its name, that waits for a second."""
    rule = {"apiGroups": ["nvidia.com"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["dynamomodels"]}
    return {
        "name": f"{name}.example.com",
        "rules": [rule],
        "clientConfig": client,
        "objectSelector": {"matchLabels": {ASKED: name}},
        "timeoutSeconds": 1,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }


@pytest.fixture(scope="module")
def refusing(beta: ControlPlane, admission: Admission) -> Iterator[ControlPlane]:
    """A control plane whose webhooks can't be asked, each for another reason."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        clients: dict[str, dict[str, Any]] = {
            "refused": {"url": "https://127.0.0.1:1/"},
            "silent": {"url": f"https://127.0.0.1:{silent.getsockname()[1]}/"},
            "untrusted": {"url": f"{admission.url}/"},
            "missing": {"service": {"name": "nothing", "namespace": "default"}},
        }
        beta.apply(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "unreachable"},
                "webhooks": [webhook(*item) for item in clients.items()],
            }
        )
        wait_until(lambda: _asking(beta, "refused").startswith("Error"), "webhooks being asked")
        yield beta


def _asking(plane: ControlPlane, name: str) -> str:
    labelled = {**model(), "metadata": {"name": "m", "labels": {ASKED: name}}}
    return plane.kubectl("create", "--dry-run=server", "-f", "-", input=labelled).stderr


def _names(text: str) -> list[str]:
    return [str(page.get("rule") or page.get("message")) for page in find(text)]


def test_a_webhook_that_cannot_be_asked(refusing: ControlPlane, subtests: pytest.Subtests) -> None:
    wanted = {"refused": "no-server", "silent": "deadline", "untrusted": "unknown-authority", "missing": "no-service"}
    for name, message in wanted.items():
        with subtests.test(name):
            assert _names(_asking(refusing, name)) == [message]


def test_a_file_that_no_webhook_sees(beta: ControlPlane, subtests: pytest.Subtests) -> None:
    def create(text: Any, *flags: str, user: str = "admin") -> list[str]:
        done = beta.kubectl("create", "--dry-run=server", *flags, "-f", "-", input=text, user=user)
        assert done.code != 0
        return _names(done.stderr)

    rows: dict[str, tuple[list[str], list[str]]] = {
        "unknown field": (create(model(modelNam="m")), ["unknown-field"]),
        "type": (create(model(modelName=8)), ["wrong-type"]),
        "value": (create(model(modelType="x")), ["schema-mismatch"]),
        "kind": (create({**model(), "apiVersion": "nvidia.com/v9"}), ["unknown-kind"]),
        "namespace": (create(model(), "-n", "nowhere"), ["no-namespace"]),
        "rights": (create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, user=USER), ["no-permission"]),
        "server": (create(model(), "--server=https://127.0.0.1:1"), ["no-api-server"]),
    }
    for name, (names, wanted) in rows.items():
        with subtests.test(name):
            assert names == wanted


def test_a_key_twice(beta: ControlPlane) -> None:
    text = json.dumps(model()).replace('{"modelName": "m"', '{"modelName": "m", "modelName": "x"')
    path = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamomodels?fieldValidation=Strict&dryRun=All"
    assert _names(beta.request("POST", path, text).body["message"]) == ["duplicate-key"]


def test_a_field_of_another_manager(beta: ControlPlane) -> None:
    for manager, value in (("first", "m"), ("second", "x")):
        done = beta.kubectl("apply", "--server-side", f"--field-manager={manager}", "-f", "-", input=model("owned", modelName=value))
    assert done.code != 0
    assert _names(done.stderr) == ["apply-conflict"]


def test_an_object_that_was_changed_meanwhile(beta: ControlPlane) -> None:
    beta.kubectl("create", "-f", "-", input=model("old"))
    stale = beta.kubectl("get", "dynamomodel", "old", "-o", "json").json()
    beta.kubectl("label", "dynamomodel", "old", "new=1")
    assert _names(beta.kubectl("replace", "-f", "-", input=stale).stderr) == ["conflict"]
