"""Finds the operators that a cluster's Deployments run, and the flags, environment and configuration of each.

A Deployment is the wanted state; the doctor checks whether its pods run.
"""

from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from ...api.operator.configuration import OperatorConfiguration
from ...api.operator.scope import ScopeSettings
from ...kube.errors import ApiError, UnavailableError
from ...kube.protocol import Cluster, Node
from ...kube.resources import CONFIG_MAPS, DEPLOYMENTS
from ..console.exits import UsageError

_PART_OF: Final = ("app.kubernetes.io/part-of", "dynamo-operator")
# what the text of an environment variable decides, when a Deployment doesn't show that text
_DECIDES: Final = {
    "POD_NAMESPACE": "operatorPrincipal",
    "POD_SERVICE_ACCOUNT": "operatorPrincipal",
    "DYN_OPERATOR_ALLOW_GMS_SNAPSHOT": "allowGmsSnapshot",
}


class Operator(NamedTuple):
    """One operator: its settings by the names of facts, and the reasons for unknown ones."""

    namespace: str
    name: str
    told: dict[str, Any]
    scope: ScopeSettings | None  # None when its configuration can't be known
    reasons: dict[str, str]
    why: str = ""  # why nothing of the configuration is known

    @property
    def restricted(self) -> bool:
        """Whether it works in one namespace alone, as far as is known."""
        return self.scope is not None and bool(self.scope.restricted)


class _Container(NamedTuple):
    """The container of an operator in its Deployment."""

    deployment: Node
    pod: Node
    spec: Node

    @property
    def namespace(self) -> str:
        return str(self.deployment["metadata"].get("namespace", ""))

    @property
    def words(self) -> list[str]:
        return [str(word) for key in ("command", "args") for word in self.spec.get(key) or ()]

    def flag(self, name: str) -> str | None:
        """The value of a flag, given with or without an equals sign."""
        words = self.words
        for index, word in enumerate(words):
            if word.startswith(f"{name}="):
                return word.partition("=")[2]
            if word == name and index + 1 < len(words):
                return words[index + 1]
        return None


async def operators(cluster: Cluster, namespace: str) -> list[Operator]:
    """All operators, of one namespace if one is given, in the order of their names. Raises: ApiError when Deployments can't be listed."""
    deployments = (await cluster.list(DEPLOYMENTS, namespace)).items
    told = [operator for each in deployments if (operator := await _told(cluster, each)) is not None]
    return sorted(told, key=lambda each: (each.namespace, each.name))


async def _told(cluster: Cluster, deployment: Node) -> Operator | None:
    """The operator of a Deployment; None for another's, and for one with a member of a wrong type, as no API server stores it."""
    container = None
    try:
        container = _operator_in(deployment)
        return None if container is None else await _read(cluster, container)
    except (AttributeError, TypeError, ValueError):
        return None if container is None else _unreadable(container, {}, "its Deployment can't be read: a field has a wrong type")


def _operator_in(deployment: Node) -> _Container | None:
    """The container that judges objects: of the Go operator, which has no other flag like this one, or of our server."""
    template = (deployment.get("spec") or {}).get("template") or {}
    pod = template.get("spec") or {}
    ours = ((template.get("metadata") or {}).get("labels") or {}).get(_PART_OF[0]) == _PART_OF[1]
    for spec in pod.get("containers") or ():
        container = _Container(deployment, pod, spec)
        if "serve" in container.words if ours else container.flag("--operator-version") is not None:
            return container
    return None


async def _read(cluster: Cluster, container: _Container) -> Operator:
    from ...policies.semver import is_semver

    environment, unseen = _environment(container)
    version = container.flag("--operator-version")
    flags = {"operatorVersion": version} if version is not None else {}
    if (image := container.flag("--dgdr-default-image")) is not None:
        flags["dgdrDefaultImage"] = image
    if version is not None and not is_semver(version):
        del flags["operatorVersion"]
        unseen["operatorVersion"] = f'the flag --operator-version of its Deployment is no semantic version: "{version}"'
    try:
        text = await _configuration(cluster, container)
        configuration = _load(text, environment)
    except UnavailableError:
        raise
    except ApiError as error:
        return _unreadable(container, flags, f"its configuration can't be read: {error.message}")
    except (LookupError, UsageError) as error:
        return _unreadable(container, flags, f"its configuration can't be used: {error.args[0]}")
    from ...webhooks.cluster.observed_facts import read_configured_facts

    told = {name: value for name, value in {**read_configured_facts(configuration), **flags}.items() if name not in unseen}
    return Operator(container.namespace, container.deployment["metadata"]["name"], told, configuration.namespace.claims, unseen)


def _unreadable(container: _Container, told: dict[str, Any], why: str) -> Operator:
    return Operator(container.namespace, container.deployment["metadata"]["name"], told, None, {}, why)


def _environment(container: _Container) -> tuple[dict[str, str], dict[str, str]]:
    """The environment variables with a literal value, and why facts that others decide are unknown."""
    fields = {"metadata.namespace": container.namespace, "spec.serviceAccountName": container.pod.get("serviceAccountName") or "default"}
    known, hidden = {}, set(_DECIDES) if container.spec.get("envFrom") else set()
    for variable in container.spec.get("env") or ():
        name, source = variable.get("name", ""), variable.get("valueFrom")
        field = ((source or {}).get("fieldRef") or {}).get("fieldPath", "")
        text = str(variable.get("value") or "") if source is None else fields.get(field)
        hidden.discard(name)
        if text is not None:
            known[name] = text
        elif name in _DECIDES:
            hidden.add(name)
    reasons = {_DECIDES[name]: f"the Deployment does not contain the value of {name}" for name in sorted(hidden)}
    if not known.get("POD_NAMESPACE"):  # the Go operator knows no other namespace, and then has no principal either
        if "serve" not in container.words:
            known.pop("POD_SERVICE_ACCOUNT", None)
        known["POD_NAMESPACE"] = container.namespace
    return known, reasons


async def _configuration(cluster: Cluster, container: _Container) -> str:
    """The file that `--config` names, from the ConfigMap that is mounted there. Raises: ApiError, LookupError with a sentence."""
    path = container.flag("--config")
    if path is None:
        raise LookupError("it is started without --config")
    file = PurePosixPath(path)
    for mount in container.spec.get("volumeMounts") or ():
        if file.is_relative_to(mount.get("mountPath") or "/"):
            volumes = {each.get("name"): each for each in container.pod.get("volumes") or ()}
            source = (volumes.get(mount.get("name")) or {}).get("configMap") or {}
            inside = mount.get("subPath") or str(file.relative_to(mount["mountPath"]))
            key = next((item["key"] for item in source.get("items") or () if item.get("path") == inside), inside)
            found = await cluster.get(CONFIG_MAPS, source["name"], container.namespace) if source.get("name") else None
            text = ((found or {}).get("data") or {}).get(key)
            if text is not None:
                return str(text)
    raise LookupError(f"no ConfigMap holds {path}")


def _load(text: str, environment: dict[str, str]) -> OperatorConfiguration:
    """The configuration that a server would have. Raises: UsageError."""
    from ..installation.configuration import load_configuration
    from ..yaml.load import Source

    return load_configuration(Source("its file", text), environment).configuration
