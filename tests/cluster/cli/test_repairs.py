"""`doctor` on an installation that is broken in one way after the other: it names the cause, and its repair, run as printed, is enough."""

import base64
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
import yaml

from dynamo_webhooks.api.crd import by_service
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.certs.authority import KeyPair, issue_leaf, make_authority
from dynamo_webhooks.cli.commands.crds import make_definitions
from dynamo_webhooks.cli.main import main
from tests.cluster.cli.breakages import BREAKAGES, PAUSED, RESTORED, Breakage
from tests.cluster.cli.doctoring import Doctor, Finding, patch
from tests.cluster.harness import ADMIN, TOKENS
from tests.cluster.kubelet import LEASES, Site, installation
from tests.cluster.planes import Planes
from tests.cluster.provisioning import AUTHORITY, CRDS, JSON_PATCH, NAMESPACE, SECRETS, SERVICE, SERVING


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = make_definitions([kind.name for kind in KINDS], by_service(), Line.V1_2)
    with installation(planes, tmp_path_factory.mktemp("repairs"), *made) as installed:
        yield installed


@pytest.fixture(scope="module")
def doctor(site: Site) -> Doctor:
    """Each test begins with a healthy installation, as the one before has left it."""
    healthy = Doctor(site)
    healthy.until(lambda wrong: not wrong, "a healthy installation")
    return healthy


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def expire(site: Site) -> None:
    """Puts a certificate of last year into the serving Secret."""
    secret = site.plane.request("GET", f"{SECRETS}/{AUTHORITY}").body["data"]
    pair = KeyPair(*(base64.b64decode(secret[f"current.{part}"]) for part in ("crt", "key")))
    then = datetime.now(UTC) - timedelta(days=2)
    leaf = issue_leaf(pair, [f"{SERVICE}.{NAMESPACE}.svc"], then, life=timedelta(days=1))
    patch(site, f"{SECRETS}/{SERVING}", {"data": {"tls.crt": _encoded(leaf.certificate), "tls.key": _encoded(leaf.key)}})


def distrust(site: Site) -> None:
    """Has a definition trust a stranger."""
    bundle = _encoded(make_authority(datetime.now(UTC)).certificate)
    path = "/spec/conversion/webhook/clientConfig/caBundle"
    patch(site, CRDS["dynamographdeploymentscalingadapter"], [{"op": "replace", "path": path, "value": bundle}], JSON_PATCH)


def hang(site: Site) -> None:
    """Stops the provisioner, and lets its Lease be old."""
    os.kill(site.process("provisioner").pid, signal.SIGSTOP)
    patch(site, f"{LEASES.format(NAMESPACE)}/{SERVING}-provisioner", {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}})


def upgrade(site: Site) -> None:
    """Sets a later version in the configuration."""
    _set_version(site, "1.5.0")


def downgrade(site: Site) -> None:
    """Sets an earlier version than that of the definitions, which are of operator 1.5 by now."""
    _set_version(site, "1.2.0")


def _set_version(site: Site, version: str) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/dynamo-webhooks-config"
    config = yaml.safe_load(site.plane.request("GET", path).body["data"]["config.yaml"])
    config["operator"]["version"] = version
    patch(site, path, {"data": {"config.yaml": yaml.safe_dump(config)}})


WAYS: Final[dict[str, Callable[[Site], None]]] = {each.__name__: each for each in (expire, distrust, hang, upgrade, downgrade)}


@pytest.mark.parametrize("broken", BREAKAGES, ids=lambda each: each.cause)
def test_the_repair_is_enough(doctor: Doctor, broken: Breakage) -> None:
    site = doctor.site
    paused = site.process("provisioner").pid if broken.cause in PAUSED else 0
    if paused:
        os.kill(paused, signal.SIGSTOP)
    try:
        if broken.breaking in WAYS:
            WAYS[broken.breaking](site)
        else:
            doctor.shell(broken.breaking)
        wrong = doctor.until(lambda findings: any(_is(broken, each) for each in findings), "the cause being found")
        cause = next(each for each in wrong if _is(broken, each))
        pattern = ".*".join(map(re.escape, broken.repair.split("...")))
        assert re.fullmatch(pattern, cause["repair"], re.DOTALL), cause
        doctor.shell(cause["repair"])
    finally:
        if paused:
            os.kill(paused, signal.SIGCONT)
    doctor.until(lambda findings: not findings, f"nothing being wrong after {cause['repair']}")


def _is(broken: Breakage, finding: Finding) -> bool:
    return finding["check"] == broken.check and broken.words in finding["text"]


def test_dry_run_requests_show_which_webhook_was_not_asked(doctor: Doctor) -> None:
    """Each with the repair that creates its configuration again."""
    for kind, words in (("Mutating", "created without defaults"), ("Validating", "a wrong one was accepted")):
        name = f"dynamo-webhooks-{kind.lower()}"
        doctor.shell(f"kubectl delete {kind}WebhookConfiguration {name}")
        findings = doctor.until(lambda wrong, words=words: [each for each in wrong if words in each["text"]], "no webhook being asked")  # type: ignore[misc]
        [repair] = {each["repair"] for each in findings if words in each["text"]}
        assert repair == RESTORED.format(f"{kind}WebhookConfiguration/{name}")
        doctor.shell(repair)
        doctor.until(lambda wrong: not wrong, "webhooks being asked again")


def test_a_cluster_that_is_not_there_is_exit_code_6(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = json.loads(site.plane.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    assert main(["doctor", "--kubeconfig", str(tmp_path / "kubeconfig")]) == 6
    assert "can't be read" in capsys.readouterr().err
    assert main(["doctor", "--kubeconfig", str(tmp_path / "nowhere")]) == 2
    assert TOKENS[ADMIN][0] not in capsys.readouterr().err
