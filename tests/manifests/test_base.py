"""The manifests by themselves: webhooks lead to paths that the server answers, settings are settings, numbers fit together.

And docs/install.md and docs/migration.md name only what there is, and what the file of the image says. What the image holds, and that it
runs, is tested on the layout of a release: tests/release.
"""

import json
import re
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import yaml

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.api.operator.configuration import leaves
from dynamo_webhooks.certs.installation import installation
from dynamo_webhooks.cli.installation.configuration import load_configuration
from dynamo_webhooks.webhooks.limits import Limits
from dynamo_webhooks.webhooks.routes import ROUTES, Route
from tests.manifests.environment import PACKAGE, ROOMS, ROOT

Node: TypeAlias = dict[str, Any]
BASE: Final = ROOT / "manifests" / "base"
OVERLAYS: Final = ROOT / "manifests" / "overlays"
COMPONENTS: Final = ROOT / "manifests" / "components"
CONFIGS: Final = sorted(path for path in (ROOT / "manifests").rglob("config.yaml"))
HOOKS: Final = {"validating": Purpose.VALIDATE, "mutating": Purpose.MUTATE}


def _documents(name: str) -> list[Node]:
    return [document for document in yaml.safe_load_all((BASE / f"{name}.yaml").read_text()) if document]


def _hooks(name: str) -> dict[str, Node]:
    [configuration] = _documents(name)
    return {hook["clientConfig"]["service"]["path"]: hook for hook in configuration["webhooks"]}


def _routes(name: str) -> dict[str, Route]:
    return {path: route for path, route in ROUTES.items() if route.purpose is HOOKS[name]}


@pytest.mark.parametrize("name", HOOKS)
def test_every_path_of_the_server_is_registered_for_what_it_reads_and_fails_closed(name: str) -> None:
    """Each entry says all that an API server would assume."""
    hooks, routes = _hooks(name), _routes(name)
    assert hooks.keys() == routes.keys()
    assert len({hook["name"] for hook in hooks.values()}) == len(hooks)
    for path, hook in hooks.items():
        [rule] = hook["rules"]
        route = routes[path]
        read = (["nvidia.com"], [route.version], [BY_NAME[route.kind].plural])
        assert (rule["apiGroups"], rule["apiVersions"], rule["resources"]) == read
        assert (hook["matchPolicy"], rule["scope"]) == ("Exact", "Namespaced"), "converted for us, an object would be judged twice"
        assert (hook["failurePolicy"], hook["timeoutSeconds"], hook["sideEffects"]) == ("Fail", 10, "None")
        assert hook["admissionReviewVersions"] == ["v1"]
        assert hook["clientConfig"].keys() == {"service"}, "a bundle in a manifest would be taken for ours when it is applied again"
        assert "namespaceSelector" not in hook, "no namespace is exempt"


def test_graphs_are_completed_on_updates_and_the_others_when_they_are_created() -> None:
    operations = {path: hook["rules"][0]["operations"] for path, hook in _hooks("mutating").items()}
    assert operations == {path: ["CREATE", "UPDATE"] if path.endswith("dynamographdeployment") else ["CREATE"] for path in operations}
    assert {tuple(hook["rules"][0]["operations"]) for hook in _hooks("validating").values()} == {("CREATE", "UPDATE")}


def test_the_entries_of_the_go_operator_keep_their_names() -> None:
    names = {hook["name"] for name in HOOKS for hook in _hooks(name).values()}
    assert {
        "vdynamocomponentdeployment.kb.io",
        "vdynamographdeployment.kb.io",
        "vdynamocheckpoint.kb.io",
        "vdynamomodel.kb.io",
        "vdynamographdeploymentrequest.kb.io",
        "mdynamographdeployment.kb.io",
        "mdynamocomponentdeploymentv1beta1.kb.io",
        "mdynamographdeploymentrequestv1beta1.kb.io",
    } <= names


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.parent.name)
def test_the_configuration_is_one_that_processes_start_with(path: Any) -> None:
    pod = {"POD_NAMESPACE": "dynamo-system", "POD_NAME": "p", "POD_SERVICE_ACCOUNT": "dynamo-webhooks-reconciler"}
    configuration = load_configuration(str(path), pod).configuration
    assert installation(configuration).names.namespace == "dynamo-system"


def _container(name: str) -> tuple[Node, Node]:
    [deployment] = _documents(name)
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    return pod, container


def test_places_are_the_configurations() -> None:
    settings = yaml.safe_load((BASE / "config.yaml").read_text())["server"]["webhook"]
    pod, container = _container("server")
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts["serving"] == settings["certDir"]
    assert f"--config={mounts['config']}/config.yaml" in container["args"]
    [secret] = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]
    assert secret["secretName"] == settings["secretName"]
    assert secret["optional"] is True, "serving pods see no key of the authority, and wait for their own"
    assert secret["defaultMode"] == 0o440
    assert [item["key"] for item in secret["items"]] == ["tls.crt", "tls.key", "ca.crt"]


@pytest.mark.parametrize("name", ["server", "provisioner", "reconciler"])
def test_pods_may_do_little_and_write_nowhere_but_to_memory(name: str) -> None:
    pod, container = _container(name)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 65532
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {volume["emptyDir"]["medium"] for volume in pod["volumes"] if "emptyDir" in volume} == {"Memory"}
    assert "cpu" not in container["resources"]["limits"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz", "which never asks for certificates"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["readinessProbe"]["timeoutSeconds"] == 5, "a slow answer has time"
    assert "startupProbe" not in container
    assert pod["serviceAccountName"] == f"dynamo-webhooks-{name}"


def test_the_service_selects_server_pods_alone_and_those_take_the_reconcilers_writes_for_the_operators_own() -> None:
    [service] = _documents("service")
    selector = service["spec"]["selector"].items()
    labels = {
        name: _documents(name)[0]["spec"]["template"]["metadata"]["labels"].items() for name in ("server", "provisioner", "reconciler")
    }
    assert [name for name, pairs in labels.items() if selector <= pairs] == ["server"]
    environment = {each["name"]: each.get("value") for each in _container("server")[1]["env"]}
    assert environment["POD_SERVICE_ACCOUNT"] == _container("reconciler")[0]["serviceAccountName"]


# the calls of the planners in the packages `ai-dynamo` 1.2.1 to 1.7.0.dev, of which 1.7 ends without the first of scalingadapters
PLANNERS_CALL: Final = {
    "dynamographdeployments": {"get", "list", "patch"},
    "dynamographdeploymentscalingadapters": {"get", "patch"},
    "dynamographdeploymentscalingadapters/scale": {"get", "patch"},
    "pods": {"list"},
}
DISCOVERY: Final = {"endpointslices", "dynamoworkermetadatas"}  # by the runtime in their pods


@pytest.mark.parametrize("file", ["base/planner-rbac.yaml", "chart/templates/reconciler-rbac.yaml"])
def test_planners_may_make_their_calls_and_no_others(file: str) -> None:
    text = (ROOT / "manifests" / file).read_text()
    [role] = [part for part in re.split(r"^---$", text, flags=re.MULTILINE) if re.search(r"name: \S*.*-planner$", part, re.MULTILINE)]
    rules = yaml.safe_load(role[role.index("rules:") :])["rules"]
    granted = {resource: {*rule["verbs"]} for rule in rules for resource in rule["resources"]}
    assert {resource: verbs for resource, verbs in granted.items() if resource not in DISCOVERY} == PLANNERS_CALL
    assert granted.keys() > DISCOVERY


def test_a_roll_out_takes_no_server_away_before_another_is_ready() -> None:
    [deployment] = _documents("server")
    assert deployment["spec"]["replicas"] >= 2
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    [budget] = _documents("disruption")
    assert budget["spec"]["maxUnavailable"] == 1, "a budget of a minimum can block a drain"
    serving = load_configuration(str(BASE / "config.yaml"), {}).configuration.serving
    drain = serving.drain_lag + serving.drain_timeout + Limits().goodbye_seconds
    assert drain < _container("server")[0]["terminationGracePeriodSeconds"]


def test_no_manifest_holds_a_bundle_or_a_placeholder_secret() -> None:
    for path in [*BASE.rglob("*.yaml"), *OVERLAYS.rglob("*.yaml"), *COMPONENTS.rglob("*.yaml")]:
        text = path.read_text()
        assert not re.search(r"^\s*caBundle:", text, re.MULTILINE), path
        assert not re.search(r"^kind: Secret$", text, re.MULTILINE), path


PAGE: Final = (ROOT / "docs" / "install.md").read_text()
MIGRATION: Final = (ROOT / "docs" / "migration.md").read_text()
VALUES: Final[dict[str, Any]] = yaml.safe_load((ROOT / "manifests" / "chart" / "values.yaml").read_text())


def test_the_values_that_it_names_are_values_of_the_chart() -> None:
    sections = "webhook|controllerManager|reconciler|metricsService|monitoring|namespaceRestriction|migrate"
    named = set(re.findall(rf"`((?:{sections})\.[A-Za-z.]+)(?:=[^`]*)?`", PAGE + MIGRATION))
    assert len(named) >= 11
    for name in named:
        value: Any = VALUES
        for part in name.split("."):
            assert part in value, name
            value = value[part]


def test_the_keys_of_the_configuration_that_it_names_exist() -> None:
    named = set(re.findall(r"`((?:certificates|serving)\.[A-Za-z]+)`", PAGE))
    assert len(named) >= 2
    for name in named:
        assert tuple(name.split(".")) in {path[:2] for path, _ in leaves()}, name


def test_the_overlays_that_it_names_exist_and_none_is_forgotten() -> None:
    assert set(re.findall(r"overlays/([a-z-]+)", PAGE)) == {folder.name for folder in OVERLAYS.iterdir()}
    named = re.findall(r"^\| .*`components/([a-z-]+)`", (ROOT / "docs" / "components.md").read_text(), re.MULTILINE)
    # what two overlays are made with is no choice of its own
    assert sorted((*named, "provided")) == sorted(folder.name for folder in COMPONENTS.iterdir())


USER: Final = 65532
IMAGE: Final = ROOT / "manifests" / "Containerfile"
INSTRUCTIONS: Final = [line for line in IMAGE.read_text().splitlines() if line and not line.startswith("#")]


def _last(word: str) -> str:
    return [line for line in INSTRUCTIONS if line.startswith(f"{word} ")][-1].removeprefix(f"{word} ")


def test_the_last_stage_starts_from_nothing_and_runs_no_command_and_no_shell() -> None:
    last = INSTRUCTIONS[max(i for i, line in enumerate(INSTRUCTIONS) if line.startswith("FROM ")) :]
    assert last[0] == "FROM scratch"
    assert not [line for line in last if line.startswith("RUN ")], "there is no shell to run it with"
    assert _last("USER") == f"{USER}:{USER}", "no number of root, and no name, which Kubernetes could not judge"
    for word in ("ENTRYPOINT", "CMD"):
        assert (command := json.loads(_last(word)))
        assert "sh" not in {Path(part).name for part in command}
    commands = [json.loads(line.removeprefix("RUN ")) for line in INSTRUCTIONS if line.startswith("RUN ")]
    assert len(commands) >= 3, "all in the exec form"
    assert _last("EXPOSE").split() == ["9443", "8081", "8080"], "the ports of the manifests"


def test_images_are_pinned_to_a_version_or_a_digest() -> None:
    named = [line.partition("=")[2] for line in INSTRUCTIONS if line.startswith("ARG ") and "IMAGE" in line]
    froms = [line.split()[1] for line in INSTRUCTIONS if line.startswith("FROM ")]
    assert named
    assert {name for name in froms if name != "scratch"} <= {"${PYTHON_IMAGE}"}
    for name in named:
        assert re.fullmatch(r"[a-z/]+(:(?!latest)[\w.-]+|@sha256:[0-9a-f]{64})", name), name


def test_it_installs_the_wheel_that_is_compiled_with_the_locked_compiler() -> None:
    commands = [json.loads(line.removeprefix("RUN ")) for line in INSTRUCTIONS if line.startswith("RUN ")]
    [built] = [command for command in commands if "wheel" in command]
    assert built[0] == "/opt/build/bin/python"
    assert "--no-build-isolation" in built
    assert "ENV DYNAMO_WEBHOOKS_COMPILE=1" in INSTRUCTIONS[: INSTRUCTIONS.index(f"RUN {json.dumps(built)}")]
    [installed] = [command for command in commands if "--find-links" in command]
    assert {"/wheels", "--no-index"} <= set(installed) & {*built, "--no-index"}
    assert all("--require-hashes" in command for command in commands if "--requirement" in command)


def test_only_named_sources_are_copied_and_all_rooms_are() -> None:
    copied = {part for line in INSTRUCTIONS if line.startswith("COPY ") and "--from" not in line for part in line.split()[1:-1]}
    assert "." not in copied, "the whole context may hold keys"
    locks = {"requirements.lock", "requirements-server.lock"}
    assert copied == {PACKAGE, *ROOMS, "setup.py", "pyproject.toml", "README.md", "LICENSE", *locks, "manifests/image/collect.py"}
    assert not re.findall(r"(?i)(token|password|secret|api_?key|BEGIN )", "\n".join(INSTRUCTIONS))
