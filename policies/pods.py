"""What an API server refuses in a pod template beside its schema: a table of checks by field. Cost: a look at each field of a container.

Only what every supported Kubernetes release refuses; the schema has found wrong types and repeated keys of lists.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from ..api.paths import Key, Path
from ..api.quantity import is_quantity, parse
from .components import MAIN, read_failover, read_gms
from .patterns import is_label
from .review import Fields
from .words import quote_once

Mistakes: TypeAlias = list[tuple[Path, str]]  # no generators: nearly every template is looked at in vain

MAX_PORT_NAME_CHARACTERS: Final = 15
_PORT_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_VARIABLE: Final = re.compile(r"[ -<>-~]+")  # printable ASCII without =
_FIELD: Final = re.compile(
    r"metadata\.(name|namespace|uid|(labels|annotations)\['[^']+'\])|spec\.(nodeName|serviceAccountName)|status\.(hostIP|hostIPs|podIP|podIPs)"
)
_PROBE_HANDLERS: Final = ("exec", "grpc", "httpGet", "tcpSocket")
_HOOK_HANDLERS: Final = ("exec", "httpGet", "sleep", "tcpSocket")
_FIGURES: Final = ("failureThreshold", "initialDelaySeconds", "periodSeconds", "successThreshold", "timeoutSeconds")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_SOURCES: Final = ("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef")
_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED: Final = {"persistentVolumeClaim": "claimName", "hostPath": "path", "configMap": "name", "secret": "secretName"}  # of volumes
# volumes that are added to pods, by the features that need them
ADDED_VOLUMES: Final = frozenset(
    {
        *("shared-memory", "hf-cache", "epp-config", "topology-labels", "checkpoints", "snapshot-control"),
        *("gms-intrapod-control", "gms-shared", "wait-leader-script"),
    }
)


class _Place(NamedTuple):
    """A container and what its pod has."""

    path: Path
    is_init: bool
    volumes: frozenset[str]
    spec: Fields


_Check: TypeAlias = Callable[[Any, Path, Mistakes], None]
_InPod: TypeAlias = Callable[[Any, Path, _Place, Mistakes], None]


def list_refused(component: Fields, spec: Fields) -> Mistakes:
    """The mistakes of the pod spec of a component, by their paths below it, as far as the pods that are made of it have them."""
    known = find_volumes(spec)
    if cache := component.get("compilationCache"):
        known |= {cache.get("pvcName") or ""}
    found = list_mistakes(spec, known)
    if found and (read_gms(component) is not None or read_failover(component) is not None):  # whose claims replace GPUs
        return [(path, text) for path, text in found if "resources" not in path]
    return found


def list_mistakes(spec: Fields, known: frozenset[str]) -> Mistakes:
    """The mistakes of a pod spec, by their paths below it; `known` volumes are there without being written."""
    found: Mistakes = []
    for field, value in spec.items():
        if value and (check := _OF_POD.get(field)) is not None:
            check(value, (field,), found)
    named: dict[str, Path] = {}
    for field in ("containers", "initContainers"):
        listed: list[Fields | None] = spec.get(field) or []
        for index, container in enumerate(listed):
            if container:
                name = container.get("name") or ""
                path: Path = (field, index)
                if name in named and named[name][0] != field:
                    found.append(((*path, "name"), f'must not be the name of another container, got "{quote_once(name)}"'))
                named[name] = path
                _look_at(container, _Place(path, field == "initContainers", known, spec), found)
    return found


def find_volumes(spec: Fields) -> frozenset[str]:
    """The volumes that a template's containers can mount: its own, those of the main container's mounts, and those added to any pod."""
    own = [volume.get("name") or "" for volume in spec.get("volumes") or () if volume]
    for container in spec.get("containers") or ():
        if container and container.get("name") == MAIN:
            own += [mount.get("name") or "" for mount in container.get("volumeMounts") or () if mount]
    return ADDED_VOLUMES.union(own)


def _look_at(container: Fields, place: _Place, found: Mistakes) -> None:
    for field, value in container.items():
        if value is None:
            continue
        if (check := _OF_CONTAINER.get(field)) is not None:
            check(value, (*place.path, field), found)
        elif (beside := _IN_POD.get(field)) is not None:
            beside(value, (*place.path, field), place, found)


def _check_name(value: Any, path: Path, found: Mistakes) -> None:
    if not is_label(value):
        found.append((path, f'must have at most 63 lower-case letters, digits and inner dashes, got "{quote_once(value)}"'))


def _check_image(value: Any, path: Path, found: Mistakes) -> None:
    if value != value.strip():
        found.append((path, "must not begin or end with a blank"))


def _choice(*allowed: str) -> _Check:
    def check(value: Any, path: Path, found: Mistakes) -> None:
        if value and value not in allowed:
            found.append((path, f'must be {", ".join(allowed[:-1])} or {allowed[-1]}, got "{quote_once(value)}"'))

    return check


def _check_ports(value: Any, path: Path, place: _Place, found: Mistakes) -> None:
    names: set[str] = set()
    for index, port in enumerate(value):
        if not port:
            continue
        name = port.get("name")
        if name:
            _check_port_name(name, (*path, index, "name"), found)
            if name in names:
                found.append(((*path, index, "name"), f'must be unique in its container, got "{quote_once(name)}" again'))
            names.add(name)
        for field in ("containerPort", "hostPort"):
            _check_number(port.get(field), (*path, index, field), found)
        _PROTOCOL(port.get("protocol"), (*path, index, "protocol"), found)
        if place.spec.get("hostNetwork") and port.get("hostPort") not in (None, 0, port.get("containerPort")):
            found.append(((*path, index, "hostPort"), "must be the containerPort, because the pod uses the node's network"))


def _check_port_name(name: str, path: Path, found: Mistakes) -> None:
    if len(name) > MAX_PORT_NAME_CHARACTERS:
        found.append((path, f"must have at most {MAX_PORT_NAME_CHARACTERS} characters, got {len(name)}"))
    elif not _PORT_NAME.fullmatch(name) or "--" in name or name.isdigit() or not any(map(str.isalpha, name)):
        found.append((path, f'must be lower-case letters, digits and single inner dashes, with a letter, got "{quote_once(name)}"'))


def _check_number(number: Any, path: Path, found: Mistakes) -> None:
    if number is not None and not (0 < number < 65_536 or (number == 0 and path[-1] == "hostPort")):
        found.append((path, f"must be from 1 to 65535, got {number}"))


def _check_env(value: Any, path: Path, found: Mistakes) -> None:
    for index, variable in enumerate(value):
        if not variable:
            continue
        if not _VARIABLE.fullmatch(variable.get("name") or ""):
            found.append(((*path, index, "name"), "must be printable characters of ASCII without ="))
        if source := variable.get("valueFrom"):
            if variable.get("value"):
                found.append(((*path, index, "valueFrom"), "must not be beside value"))
            _check_source(source, (*path, index, "valueFrom"), found)
        elif source is not None:
            found.append(((*path, index, "valueFrom"), f"must have one of {', '.join(_SOURCES)}, got none"))


def _check_source(source: Fields, path: Path, found: Mistakes) -> None:
    _check_one(source, _SOURCES, path, found)
    for field in ("configMapKeyRef", "secretKeyRef"):
        if (reference := source.get(field)) is not None:
            if not reference.get("name"):
                found.append(((*path, field, "name"), "must not be empty"))
            if not _KEY.fullmatch(reference.get("key") or ""):
                found.append(((*path, field, "key"), "must be letters, digits, dashes, dots and underscores"))
    if (reference := source.get("fieldRef")) is not None and not _FIELD.fullmatch(reference.get("fieldPath") or ""):
        shown = quote_once(reference.get("fieldPath") or "")
        found.append(((*path, "fieldRef", "fieldPath"), f'must be a field that variables can have, such as metadata.name, got "{shown}"'))


def _check_env_from(value: Any, path: Path, found: Mistakes) -> None:
    for index, source in enumerate(value):
        if source is None:
            continue
        _check_one(source, ("configMapRef", "secretRef"), (*path, index), found)
        for field in ("configMapRef", "secretRef"):
            if source.get(field) is not None and not source[field].get("name"):
                found.append(((*path, index, field, "name"), "must not be empty"))


def _check_one(block: Fields, fields: tuple[str, ...], path: Path, found: Mistakes) -> None:
    """Reports a block that doesn't have exactly one of some fields."""
    there = [field for field in fields if block.get(field) is not None]
    if not there:
        found.append((path, f"must have one of {', '.join(fields)}, got none"))
    elif len(there) > 1:
        found.append((path, f"must have one of {', '.join(fields)}, got {' and '.join(there)}"))


def _check_mounts(value: Any, path: Path, place: _Place, found: Mistakes) -> None:
    for index, mount in enumerate(value):
        if not mount:
            continue
        name = mount.get("name") or ""
        for field in ("name", "mountPath"):
            if mount.get(field) == "":
                found.append(((*path, index, field), "must not be empty"))
        if name and name not in place.volumes:
            found.append(((*path, index, "name"), f'must be a volume of the pod, got "{quote_once(name)}"'))
        below = mount.get("subPath") or ""
        if below.startswith("/") or ".." in below.split("/"):
            found.append(((*path, index, "subPath"), "must be a relative path without .."))
        if below and mount.get("subPathExpr"):
            found.append(((*path, index, "subPathExpr"), "must not be beside subPath"))
        _PROPAGATION(mount.get("mountPropagation"), (*path, index, "mountPropagation"), found)


def _ends(path: Path, place: _Place, found: Mistakes) -> bool:
    """Whether the container is an init container that ends, which can't have the block; reports it."""
    if not place.is_init or place.spec["initContainers"][place.path[1]].get("restartPolicy") == "Always":
        return False
    found.append((path, "must be absent in an init container without restartPolicy: Always"))
    return True


def _check_probe(value: Any, path: Path, place: _Place, found: Mistakes) -> None:
    if _ends(path, place, found):
        return
    _check_one(value, _PROBE_HANDLERS, path, found)
    _check_handler(value, path, found)
    for field in _FIGURES:
        if (value.get(field) or 0) < 0:
            found.append(((*path, field), f"must not be negative, got {value[field]}"))
    if path[-1] != "readinessProbe":
        if (value.get("successThreshold") or 1) > 1:
            found.append(((*path, "successThreshold"), f"must be 1, got {value['successThreshold']}"))
        if (value.get("terminationGracePeriodSeconds") or 1) < 1 or value.get("terminationGracePeriodSeconds") == 0:
            found.append(((*path, "terminationGracePeriodSeconds"), "must be 1 or more"))
    elif value.get("terminationGracePeriodSeconds") is not None:
        found.append(((*path, "terminationGracePeriodSeconds"), "must be absent in a readiness probe"))


def _check_handler(block: Fields, path: Path, found: Mistakes) -> None:
    if (program := block.get("exec")) is not None and not program.get("command"):
        found.append(((*path, "exec", "command"), "must not be empty"))
    for field in ("grpc", "httpGet", "tcpSocket"):
        if (asked := block.get(field)) is None:
            continue
        port = asked.get("port")
        if isinstance(port, str):
            _check_port_name(port, (*path, field, "port"), found)
        else:
            _check_number(port or 0, (*path, field, "port"), found)
        if field == "httpGet":
            _SCHEME(asked.get("scheme"), (*path, field, "scheme"), found)


def _check_lifecycle(value: Any, path: Path, place: _Place, found: Mistakes) -> None:
    if _ends(path, place, found):
        return
    for field in ("postStart", "preStop"):
        if (hook := value.get(field)) is not None:
            _check_one(hook, _HOOK_HANDLERS, (*path, field), found)
            _check_handler(hook, (*path, field), found)


def _check_resources(value: Any, path: Path, found: Mistakes) -> None:
    limits, requests = value.get("limits") or {}, value.get("requests") or {}
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            where = (*path, part, Key(name))
            if not is_quantity(amount):
                continue
            if "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
                standard = f"{', '.join(_STANDARD)}, hugepages-SIZE, or have a domain"
                found.append((where, f'must be {standard}, got "{quote_once(name)}"'))
            elif (number := parse(amount)) < 0:
                found.append((where, f"must not be negative, got {quote_once(str(amount))}"))
            elif _is_whole(name) and number != int(number):
                found.append((where, f"must be a whole number, got {quote_once(str(amount))}"))
            elif part == "requests":
                _check_request(name, amount, limits.get(name), where, found)


def _is_whole(name: str) -> bool:
    """Whether a resource is one of a device plugin, which can't be shared."""
    return "/" in name and "kubernetes.io/" not in name


def _check_request(name: str, amount: Any, limit: Any, path: Path, found: Mistakes) -> None:
    whole = _is_whole(name) or name.startswith("hugepages-")
    if limit is None:
        if whole:
            found.append((path, "must have a limit of the same amount, got none"))
    elif is_quantity(limit):
        if whole and parse(amount) != parse(limit):
            found.append((path, f"must be the limit, {quote_once(str(limit))}, got {quote_once(str(amount))}"))
        elif parse(amount) > parse(limit):
            found.append((path, f"must be at most the limit, {quote_once(str(limit))}, got {quote_once(str(amount))}"))


def _check_volumes(value: Any, path: Path, found: Mistakes) -> None:
    for index, volume in enumerate(value):
        if not volume:
            continue
        _check_name(volume.get("name") or "", (*path, index, "name"), found)
        sources = [field for field, source in volume.items() if field != "name" and source is not None]
        if len(sources) > 1:
            found.append(((*path, index), f"must have one source, got {' and '.join(map(quote_once, sources))}"))
        for source, field in _REQUIRED.items():
            if (block := volume.get(source)) is not None and not block.get(field):
                found.append(((*path, index, source, field), "must not be empty"))


def _check_tolerations(value: Any, path: Path, found: Mistakes) -> None:
    for index, one in enumerate(value):
        if not one:
            continue
        operator, where = one.get("operator") or "Equal", (*path, index)
        _OPERATOR(operator, (*where, "operator"), found)
        _EFFECT(one.get("effect"), (*where, "effect"), found)
        if not one.get("key") and operator != "Exists":
            found.append(((*where, "operator"), "must be Exists without a key"))
        if operator == "Exists" and one.get("value"):
            found.append(((*where, "operator"), "must be Equal beside a value"))
        if one.get("tolerationSeconds") is not None and one.get("effect") != "NoExecute":
            found.append(((*where, "effect"), "must be NoExecute beside tolerationSeconds"))


def _check_selector(value: Any, path: Path, found: Mistakes) -> None:
    for name, label in value.items():
        if label and not _LABEL_VALUE.fullmatch(label):
            found.append(((*path, Key(name)), f'must be the value of a label, got "{quote_once(label)}"'))


def _check_subdomain(value: Any, path: Path, found: Mistakes) -> None:
    if len(value) > 253 or not _SUBDOMAIN.fullmatch(value):
        found.append((path, f'must be lower-case letters, digits, dots and inner dashes, got "{quote_once(value)}"'))


_PROTOCOL: Final = _choice(*_PROTOCOLS)
_PROPAGATION: Final = _choice("None", "HostToContainer", "Bidirectional")
_SCHEME: Final = _choice("HTTP", "HTTPS")
_OPERATOR: Final = _choice("Exists", "Equal")
_EFFECT: Final = _choice(*_EFFECTS)
_OF_CONTAINER: Final[dict[str, _Check]] = {
    "name": _check_name,
    "image": _check_image,
    "imagePullPolicy": _choice("Always", "IfNotPresent", "Never"),
    "terminationMessagePolicy": _choice("File", "FallbackToLogsOnError"),
    "env": _check_env,
    "envFrom": _check_env_from,
    "resources": _check_resources,
}
# checks that look at the rest of the pod, too
_IN_POD: Final[dict[str, _InPod]] = {
    "ports": _check_ports,
    "volumeMounts": _check_mounts,
    "lifecycle": _check_lifecycle,
    **dict.fromkeys(_PROBES, _check_probe),
}
_OF_POD: Final[dict[str, _Check]] = {
    "volumes": _check_volumes,
    "tolerations": _check_tolerations,
    "nodeSelector": _check_selector,
    "restartPolicy": _choice("Always", "OnFailure", "Never"),
    "dnsPolicy": _choice("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "serviceAccountName": _check_subdomain,
    "hostname": _check_name,
    "subdomain": _check_name,
}
