"""`doctor` on a real installation: healthy, then damaged in many ways, each of which it must name together with what repairs it.

While something is damaged the provisioner is stopped by a signal, or it would repair faster than anybody can look.
"""

import base64
import contextlib
import copy
import json
import os
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from dynamo_webhooks.certs.authority import make_authority
from dynamo_webhooks.cli.main import main
from tests.cluster.harness import ADMIN, TOKENS
from tests.cluster.objects import graph, path_of
from tests.cluster.processes import wait_until
from tests.cluster.provisioning import (
    CONFIGURATIONS,
    CRDS,
    MERGE_PATCH,
    NAMESPACE,
    Installed,
    installed,
)
from tests.cluster.rendering import GUARD, of_kind

Node = dict[str, Any]
GRAPHS: Final = CRDS["dynamographdeployment"]
MUTATING, VALIDATING = CONFIGURATIONS["mutating"], CONFIGURATIONS["validating"]
SETTLE: Final = 90.0  # seconds for the API server to see what was written


class Answer(NamedTuple):
    """What the command said."""

    code: int
    findings: list[dict[str, str]]

    def of(self, check: str, level: str = "error") -> list[dict[str, str]]:
        """The findings of one check."""
        return [each for each in self.findings if (each["check"], each["level"]) == (check, level)]


class Doctor:
    """The command, at one installation."""

    def __init__(self, site: Installed, capsys: pytest.CaptureFixture[str]) -> None:
        self.site, self._capsys = site, capsys

    def __call__(self, *flags: str) -> Answer:
        self._capsys.readouterr()
        code = main(["doctor", "--kubeconfig", str(self.site.plane.kubeconfig), "--context", ADMIN, "-o", "json", *flags])
        ran = self._capsys.readouterr()
        assert "Traceback" not in ran.err
        assert "PRIVATE" not in ran.out + ran.err
        return Answer(code, json.loads(ran.out)["findings"] if ran.out else [])

    def until(self, condition: Callable[[Answer], bool]) -> Answer:
        """Asks until the API server has noticed what was changed."""
        last: list[Answer] = []

        def found() -> bool:
            last[:] = [self()]
            return condition(last[0])

        try:
            wait_until(found, "the doctor noticing it", patience=SETTLE)
        except Exception as error:
            raise AssertionError(f"not found in {last}") from error
        return last[0]


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    with installed(assets, tmp_path_factory.mktemp("doctor")) as found:
        found.serve("server-1")
        found.provision()
        found.wait_until_stable()
        yield found


@pytest.fixture
def doctor(site: Installed, capsys: pytest.CaptureFixture[str]) -> Doctor:
    site.wait_until_stable()
    return Doctor(site, capsys)


def test_a_healthy_installation_has_nothing_wrong(doctor: Doctor, capsys: pytest.CaptureFixture[str]) -> None:
    """With the policy on the definitions, which the other tests do without: they damage definitions."""
    [missing, _] = doctor().of("guard", "warning")
    assert missing["text"].startswith("is not there")
    policy = of_kind(doctor.site.objects, *GUARD)
    doctor.site.plane.apply(*policy)
    try:
        doctor.until(lambda answer: (answer.code, answer.findings) == (0, []))  # the API server may still see an earlier test's damage
        assert main(["doctor", "--kubeconfig", str(doctor.site.plane.kubeconfig), "--namespace", NAMESPACE]) == 0
        assert capsys.readouterr().out == "all is well\n"
    finally:
        for each in policy:
            assert doctor.site.plane.kubectl("delete", each["kind"], each["metadata"]["name"]).code == 0
        off = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        path = f"{GRAPHS}?dryRun=All"
        wait_until(lambda: doctor.site.plane.request("PATCH", path, off, kind=MERGE_PATCH).status == 200, "the policy being forgotten")


def _without_server_fields(obj: Node) -> Node:
    kept = {key: obj["metadata"][key] for key in ("name", "namespace", "labels", "annotations") if key in obj["metadata"]}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": kept}


@contextlib.contextmanager
def damaged(site: Installed, path: str, change: Callable[[Node], Node | None]) -> Iterator[None]:
    """Replaces an object by a damaged one (or deletes it) while the provisioner sleeps, and puts it back afterwards."""
    [provisioner] = site.provisioners.values()
    os.kill(provisioner.pid, signal.SIGSTOP)
    try:
        whole = site.get(path)
        assert whole is not None
        _put(site, path, change(copy.deepcopy(whole)))
        try:
            yield
        finally:
            _put(site, path, _without_server_fields(whole))
    finally:
        os.kill(provisioner.pid, signal.SIGCONT)


def _put(site: Installed, path: str, wanted: Node | None) -> None:
    there = site.get(path)
    if wanted is None:
        site.delete(path)
        wait_until(lambda: site.get(path) is None, f"{path} being gone")
        return
    if there is None:
        reply = site.plane.request("POST", path.rpartition("/")[0], _without_server_fields(wanted))
    else:
        wanted = {**wanted, "metadata": {**wanted["metadata"], "resourceVersion": there["metadata"]["resourceVersion"]}}
        reply = site.plane.request("PUT", path, wanted)
    assert reply.status in (200, 201), reply.body


def _gone(_: Node) -> None:
    return None


def _with(*keys: str | int, value: Any) -> Callable[[Node], Node]:
    """Sets one member; None removes it."""

    def change(obj: Node) -> Node:
        place: Any = obj
        for key in keys[:-1]:
            place = place[key]
        if value is None:
            del place[keys[-1]]
        else:
            place[keys[-1]] = value
        return obj

    return change


def _foreign() -> str:
    return base64.b64encode(make_authority(datetime.now(UTC)).certificate).decode()


STANZA: Final = ("spec", "conversion", "webhook", "clientConfig")
FIRST: Final = ("webhooks", 0)
# path, damage, check, level, words of the finding, words of the repair; what is told of absent objects: tests/cli/doctor
DAMAGES: Final[tuple[tuple[str, Callable[[Node], Node | None], str, str, str, str], ...]] = (
    (GRAPHS, _with("spec", "conversion", value={"strategy": "None"}), "conversion", "error", "must call the Service", "certs inject"),
    (GRAPHS, _with(*STANZA, "service", "name", value="somebody"), "conversion", "error", "calls another one", ""),
    (GRAPHS, _with(*STANZA, "service", "path", value="/other"), "conversion", "error", "leads to /other", "kubectl patch"),
    (GRAPHS, _with(*STANZA, "caBundle", value=_foreign()), "trust", "error", "holds others", "certs inject"),
    (MUTATING, _with(*FIRST, "clientConfig", "caBundle", value=None), "trust", "error", "no certificate", "certs inject"),
    (VALIDATING, _with(*FIRST, value=None), "configurations", "error", "no entry leads to /validate", "kubectl apply"),
    (VALIDATING, _with(*FIRST, "failurePolicy", value="Ignore"), "configurations", "warning", "failurePolicy", "kubectl patch"),
    (VALIDATING, _with(*FIRST, "rules", 0, "operations", value=["CREATE"]), "configurations", "error", "UPDATE", "kubectl apply"),
    # what real requests say
    (MUTATING, _gone, "request", "error", "created without defaults", "kubectl apply"),
    (VALIDATING, _gone, "request", "error", "a wrong one was accepted", "kubectl apply"),
    (GRAPHS, _with(*STANZA, "caBundle", value=_foreign()), "request", "error", "a bundle doesn't hold the issuer", "certs inject"),
)


@pytest.mark.parametrize(("path", "change", "check", "level", "words", "repair"), DAMAGES, ids=[row[4] for row in DAMAGES])
def test_a_damage_is_found_and_its_repair_named(
    doctor: Doctor, path: str, change: Callable[[Node], Node | None], check: str, level: str, words: str, repair: str
) -> None:
    with damaged(doctor.site, path, change):
        code = 1 if level == "error" else 0
        answer = doctor.until(lambda answer: answer.code == code and any(words in each["text"] for each in answer.of(check, level)))
        [found] = [each for each in answer.of(check, level) if words in each["text"]][:1]
        assert repair in found["repair"]


def test_before_removal_everything_that_would_lead_nowhere_is_named(doctor: Doctor) -> None:
    site = doctor.site
    doctor.until(lambda answer: answer.code == 0)
    obj = graph("default", name="left")
    obj["spec"]["services"]["w"]["componentType"] = "worker"
    reply = site.plane.request("POST", path_of(obj), obj)
    assert reply.status == 201, reply.body
    answer = doctor("--uninstall-check")
    assert answer.code == 1
    [left] = answer.of("objects")
    assert "default/left" in left["text"]
    assert left["repair"] == "kubectl delete dynamographdeployments --all --all-namespaces"
    assert len(answer.of("configurations")) == 2
    assert len(answer.of("conversion")) == len(CRDS)
    assert all("kubectl patch crd" in each["repair"] for each in answer.of("conversion"))
    site.delete(path_of(obj, named=True))
    assert doctor("--uninstall-check").of("objects") == []


def test_a_cluster_that_is_not_there_is_exit_code_6(site: Installed, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = json.loads(site.plane.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    assert main(["doctor", "--kubeconfig", str(tmp_path / "kubeconfig")]) == 6
    assert "can't be looked at" in capsys.readouterr().err
    assert main(["doctor", "--kubeconfig", str(tmp_path / "nowhere")]) == 2
    assert TOKENS[ADMIN][0] not in capsys.readouterr().err
