"""Reads all facts that rules need from a cluster, in the form of the facts file. An unknown fact gets a reason, never a guess.

An operator's flags, environment and configuration are those of its Deployment, the wanted state; the doctor checks whether its pods run.
"""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple, TypeVar

from ...api.kinds import BY_NAME
from ...api.line import of_definitions, of_release
from ...api.operator.scope import Namespace, ScopeSettings
from ...api.unknown_fields import WRITTEN, describe_later_release
from ...kube.capability import DRA, GROVE, ISTIO, LWS, POOLS, Detector
from ...kube.errors import ApiError, NotFoundError, UnavailableError
from ...kube.protocol import Cluster, Listing, Node
from ...kube.resources import CONFIG_MAPS, CRDS, DEPLOYMENTS, LEASES
from ...kube.scope import LEASE_NAME, Claims
from ...policies.facts import Facts, facts_from
from ...policies.semver import is_semver
from ...webhooks.cluster.observed_facts import CAPABILITIES, ObservedFacts, facts_of, read_configured_facts, read_domains, topologies_of
from ..console.exits import UsageError
from ..installation.configuration import load_configuration
from ..yaml.load import Source

T = TypeVar("T")

_PART_OF: Final = ("app.kubernetes.io/part-of", "dynamo-operator")
# what the text of an environment variable decides, when a Deployment doesn't show that text
_DECIDES: Final = {
    "POD_NAMESPACE": "operatorPrincipal",
    "POD_SERVICE_ACCOUNT": "operatorPrincipal",
    "DYN_OPERATOR_ALLOW_GMS_SNAPSHOT": "allowGmsSnapshot",
}
MANAGER: Final = "dynamo-webhooks-facts"  # how this command calls itself to an API server
# for claims if no operator's configuration can be read: this project's defaults
_SCOPE: Final = Namespace().claims
OPERATOR_FACTS: Final = (
    "operatorScope",
    "operatorVersion",
    "operatorPrincipal",
    "gpuDiscovery",
    "allowGmsSnapshot",
    "checkpoint",
    "lpx",
    "dgdrDefaultImage",
    "switchedOff",
)
_UNREADABLE: Final = "can't be read"


class InstalledOperator(NamedTuple):
    """One operator: its settings by the names of facts, and the reasons for unknown ones."""

    namespace: str
    name: str
    facts: dict[str, Any]
    scope: ScopeSettings | None  # None when its configuration can't be known
    reasons: dict[str, str]
    reason: str = ""  # why nothing of the configuration is known


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


async def _read_operator(cluster: Cluster, deployment: Node) -> InstalledOperator | None:
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


async def _read(cluster: Cluster, container: _Container) -> InstalledOperator:
    environment, unseen = _environment(container)
    version = container.flag("--operator-version")
    flags = {"operatorVersion": version} if version is not None else {}
    if (image := container.flag("--dgdr-default-image")) is not None:
        flags["dgdrDefaultImage"] = image
    if version is not None and not is_semver(version):
        del flags["operatorVersion"]
        unseen["operatorVersion"] = f'the flag --operator-version of its Deployment is no semantic version: "{version}"'
    try:
        source = Source("its file", await _configuration(cluster, container))
        configuration = load_configuration(source, environment).configuration
    except UnavailableError:
        raise
    except ApiError as error:
        return _unreadable(container, flags, f"its configuration can't be read: {error.message}")
    except (LookupError, UsageError) as error:
        return _unreadable(container, flags, f"its configuration can't be used: {error.args[0]}")
    configured = {name: value for name, value in {**read_configured_facts(configuration), **flags}.items() if name not in unseen}
    scope = configuration.namespace.claims if version is None else replace(configuration.namespace.claims, claimable=None)
    return InstalledOperator(container.namespace, container.deployment["metadata"]["name"], configured, scope, unseen)


def _unreadable(container: _Container, configured: dict[str, Any], why: str) -> InstalledOperator:
    return InstalledOperator(container.namespace, container.deployment["metadata"]["name"], configured, None, {}, why)


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
            config_map = await cluster.get(CONFIG_MAPS, source["name"], container.namespace) if source.get("name") else None
            text = ((config_map or {}).get("data") or {}).get(key)
            if text is not None:
                return str(text)
    raise LookupError(f"no ConfigMap holds {path}")


class GatheredFacts(NamedTuple):
    """Known facts as the facts file writes them (`clusterTopologies: None`: no such API), and why each of the others isn't known."""

    values: dict[str, Any]
    reasons: dict[str, str]
    later: str = ""  # that the cluster is of a later release than any that is known


async def gather_facts(cluster: Cluster, namespace: str = "") -> GatheredFacts:
    """Asks for everything once; `namespace` chooses among several operators. Raises: ApiError when the API server can't be reached."""
    wall = await cluster.server_time()  # a claim is judged by the clock of those who can see it
    reasons: dict[str, str] = {}
    operator = await _operator(cluster, namespace, reasons)
    groups = Detector(cluster, (GROVE, POOLS, LWS, DRA, ISTIO), ask_permission=False)
    await groups.detect()
    served = {fact: groups.known[name].served for name, fact in CAPABILITIES.items()}
    reasons |= {fact: f"{_UNREADABLE}: {groups.reason}" for fact, value in served.items() if value is None}
    configured = dict(operator.facts) if operator is not None else {}
    definitions = [await _try_read(cluster.get(CRDS, BY_NAME[name].crd_name), "operatorLine", reasons) for name in WRITTEN]
    configured |= {} if of_release(configured.get("operatorVersion", "")) else _line(definitions, reasons)
    topologies = await _try_list(cluster.list(topologies_of(configured)), "clusterTopologies", reasons)
    leases = await _try_list(cluster.list(LEASES, fields=f"metadata.name={LEASE_NAME}"), "excludedNamespaces", reasons)
    claims = Claims(operator.scope if operator is not None and operator.scope is not None else _SCOPE)
    for lease in leases or ():
        claims.observe(lease, 0.0, wall)
    seen = ObservedFacts(
        {fact: value for fact, value in served.items() if value is not None},
        {each["metadata"]["name"]: read_domains(each) for each in topologies} if topologies is not None else None,
        topologies is None and "clusterTopologies" not in reasons,
        claims.exempt(0.0) if leases is not None else None,
    )
    values = facts_of(configured, seen)
    # every fact is known or has a reason, in the order of the facts file; the line is a fact only if no released version implies it
    names = [name for name in Facts._fields if name != "operatorLine" or not of_release(values.get("operatorVersion", ""))]
    why = {name: reasons.get(name, "the cluster does not show it") for name in names if name not in values}
    line = facts_from(values).line
    later = describe_later_release(str(values.get("operatorVersion", "")), line, definitions)
    return GatheredFacts({name: values[name] for name in names if name in values}, why, later)


def _line(definitions: Sequence[Node | None], reasons: dict[str, str]) -> dict[str, str]:
    """The line by the definitions that the cluster serves, where no operator says the version of a release."""
    line = of_definitions(definitions[0], definitions[-1])
    if line is None:
        name = BY_NAME[WRITTEN[0]].crd_name
        reasons.setdefault("operatorLine", f"the cluster has no CustomResourceDefinition {name} with v1beta1")
    return {"operatorLine": str(line)} if line is not None else {}


async def _try_list(asking: Awaitable[Listing], fact: str, reasons: dict[str, str]) -> list[Node] | None:
    """The objects; None as below."""
    listing = await _try_read(asking, fact, reasons)
    return listing.items if listing is not None else None


async def _try_read(asking: Awaitable[T], fact: str, reasons: dict[str, str]) -> T | None:
    """The answer; None when there is no such API, or with a reason when it can't be read."""
    try:
        return await asking
    except UnavailableError:
        raise
    except NotFoundError:
        return None
    except ApiError as error:
        reasons[fact] = f"{_UNREADABLE}: {error.message}"
        return None


async def _operator(cluster: Cluster, namespace: str, reasons: dict[str, str]) -> InstalledOperator | None:
    """The operator whose settings apply, in one namespace if that is given; None if that is ambiguous."""
    try:
        deployments = (await cluster.list(DEPLOYMENTS, namespace)).items
        operators = [operator for each in deployments if (operator := await _read_operator(cluster, each)) is not None]
    except UnavailableError:
        raise
    except ApiError as error:
        reasons |= dict.fromkeys(OPERATOR_FACTS, f"Deployments can't be read: {error.message}")
        return None
    installed = sorted(operators, key=lambda each: (each.namespace, each.name))
    # those that work in one namespace alone count where there is no other
    chosen = [each for each in installed if each.scope is None or not each.scope.restricted] or installed
    if len(chosen) == 1:
        reasons |= dict.fromkeys(OPERATOR_FACTS, chosen[0].reason) if chosen[0].reason else {}
        reasons |= chosen[0].reasons
        return chosen[0]
    where = f" in namespace {namespace}" if namespace else ""
    names = ", ".join(f"{each.namespace}/{each.name}" for each in chosen)
    why = f"several operators are installed, choose by --namespace: {names}" if chosen else f"no operator is installed{where}"
    reasons |= dict.fromkeys(OPERATOR_FACTS, why)
    return None
