"""What an API server refuses in a pod template beside its schema: tables of checks by field. Cost: a look at each field that is written.

Only what every supported Kubernetes release refuses; the schema has found wrong types and repeated keys of lists. What depends on the
cluster, such as the name of a PriorityClass, is not looked at, nor are options of Windows; of volumes that only clouds had, what must be
there is.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from ..api.paths import Key, Path
from ..api.quantity import is_quantity, parse
from .components import MAIN, read_failover, read_gms
from .engines import RUNTIME
from .patterns import is_label
from .review import Fields
from .tables import (
    ADDRESS,
    LABEL,
    LABELS,
    NODE_REQUIREMENTS,
    QUALIFIED,
    SELECTOR,
    SUBDOMAIN,
    Check,
    Mistakes,
    absent,
    block,
    check_one,
    choice,
    each,
    every,
    given,
    number,
    text,
)
from .words import quote_once

MAX_PORT_NAME_CHARACTERS: Final = 15
_PORT_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_VARIABLE: Final = re.compile(r"[ -<>-~]+")  # printable ASCII without =
_FIELD: Final = re.compile(
    r"metadata\.(name|namespace|uid|(labels|annotations)\['[^']+'\])|spec\.(nodeName|serviceAccountName)|status\.(hostIP|hostIPs|podIP|podIPs)"
)
_SYSCTL: Final = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_SEARCH: Final = re.compile(r"(_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*)?")
_FILE_FIELD: Final = re.compile(r"metadata\.(name|namespace|uid|labels|annotations|(labels|annotations)\['[^']+'\])")
_RESOURCE_FIELD: Final = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)")
_PROBE_HANDLERS: Final = ("exec", "grpc", "httpGet", "tcpSocket")
_HOOK_HANDLERS: Final = ("exec", "httpGet", "sleep", "tcpSocket")
_FIGURES: Final = ("failureThreshold", "initialDelaySeconds", "periodSeconds", "successThreshold", "timeoutSeconds")
PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_SOURCES: Final = ("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef")
_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_CLAIM_SOURCES: Final = ("resourceClaimName", "resourceClaimTemplateName")
IMAGELESS: Final = frozenset({MAIN, RUNTIME})  # other rules report images that components lack
_OLD_SOURCES: Final = {  # of volumes, with their fields that may not be empty
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "iscsi": ("iqn", "targetPortal"),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "quobyte": ("registry", "volume"),
    "rbd": ("image", "monitors"),
    "storageos": ("volumeName",),
    "scaleIO": ("gateway", "system", "volumeName"),
    "vsphereVolume": ("volumePath",),
}
_MAX_SECONDS: Final = 2**31 - 1
_MAX_MODE: Final = 0o777
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


_InPod: TypeAlias = Callable[[Any, Path, _Place, Mistakes], None]


def list_refused(component: Fields, template: Fields) -> Mistakes:
    """The mistakes of the template of a component, by their paths below it, as far as the pods that are made of it have them."""
    known = find_volumes(template.get("spec") or {})
    if cache := component.get("compilationCache"):
        known |= {cache.get("pvcName") or ""}
    # every component has an account, which the older field doesn't name
    found = [one for one in list_template_mistakes(template, known) if one[0][-1] != "serviceAccount"]
    if found and (read_gms(component) is not None or read_failover(component) is not None):  # whose claims replace GPUs
        return [(path, wrong) for path, wrong in found if "resources" not in path]
    return found


def list_template_mistakes(template: Fields, known: frozenset[str], imageless: frozenset[str] = IMAGELESS) -> Mistakes:
    """The mistakes of a template for pods with `known` volumes, by their paths below it; those `imageless` need no image."""
    found: Mistakes = []
    _METADATA(template.get("metadata"), ("metadata",), found)
    return found + [(("spec", *path), wrong) for path, wrong in list_mistakes(template.get("spec") or {}, known, imageless)]


def list_mistakes(spec: Fields, known: frozenset[str], imageless: frozenset[str] = IMAGELESS) -> Mistakes:
    """The mistakes of a pod spec, by their paths below it; `known` volumes are there without being written."""
    found: Mistakes = []
    _POD(spec, (), found)
    if spec.get("hostUsers") is False:
        for field in ("hostIPC", "hostNetwork", "hostPID"):
            if spec.get(field):
                found.append(((field,), "must not be true beside hostUsers: false"))
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        found.append((("shareProcessNamespace",), "must not be true beside hostPID"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        found.append((("nodeName",), "must be absent beside schedulingGates"))
    if spec.get("dnsPolicy") == "None" and not (spec.get("dnsConfig") or {}).get("nameservers"):
        found.append((("dnsPolicy",), "must not be None without dnsConfig.nameservers"))
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
                if not container.get("image") and name not in imageless:
                    found.append(((*path, "image"), "must not be empty"))
                _look_at(container, _Place(path, field == "initContainers", known, spec), found)
    return found


def name_volumes(spec: Fields) -> frozenset[str]:
    """The volumes that a template writes."""
    return frozenset(volume.get("name") or "" for volume in spec.get("volumes") or () if volume)


def find_volumes(spec: Fields) -> frozenset[str]:
    """The volumes that a component's containers can mount: its own, those of the main container's mounts, and those added to any pod."""
    mains = [one for one in spec.get("containers") or () if one and one.get("name") == MAIN]
    mounts = [mount.get("name") or "" for main in mains for mount in main.get("volumeMounts") or () if mount]
    return name_volumes(spec).union(ADDED_VOLUMES, mounts)


def _look_at(container: Fields, place: _Place, found: Mistakes) -> None:
    for field, value in container.items():
        if value is None:
            continue
        if (check := _OF_CONTAINER.get(field)) is not None:
            check(value, (*place.path, field), found)
        if (beside := _IN_POD.get(field)) is not None:
            beside(value, (*place.path, field), place, found)
    if not container.get("name"):
        found.append(((*place.path, "name"), "must not be empty"))


def _check_image(value: Any, path: Path, found: Mistakes) -> None:
    if value != value.strip():
        found.append((path, "must not begin or end with a blank"))


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


def _check_key(value: Any, path: Path, found: Mistakes) -> None:
    if not _KEY.fullmatch(value):
        found.append((path, "must be letters, digits, dashes, dots and underscores"))


def _check_field(value: Any, path: Path, found: Mistakes) -> None:
    if not _FIELD.fullmatch(value.get("fieldPath") or ""):
        shown = quote_once(value.get("fieldPath") or "")
        found.append(((*path, "fieldPath"), f'must be a field that variables can have, such as metadata.name, got "{shown}"'))


def _check_annotations(value: Any, path: Path, found: Mistakes) -> None:
    for key in value or ():
        QUALIFIED(key.lower(), (*path, Key(key)), found)


def _check_source(source: Fields, path: Path, found: Mistakes) -> None:
    check_one(source, _SOURCES, path, found)
    _SOURCE(source, path, found)


def _check_env_from(value: Any, path: Path, found: Mistakes) -> None:
    for index, source in enumerate(value):
        if source is None:
            continue
        check_one(source, ("configMapRef", "secretRef"), (*path, index), found)
        _FROM(source, (*path, index), found)


def _check_mounts(value: Any, path: Path, place: _Place, found: Mistakes) -> None:
    for index, mount in enumerate(value):
        if not mount:
            continue
        name = mount.get("name") or ""
        for field in ("name", "mountPath"):
            if mount.get(field) == "":
                found.append(((*path, index, field), "must not be empty"))
        if name and not is_label(name):
            LABEL(name, (*path, index, "name"), found)
        elif name and name not in place.volumes:
            found.append(((*path, index, "name"), f'must be a volume of the pod, got "{quote_once(name)}"'))
        below = mount.get("subPath") or ""
        if below.startswith("/") or ".." in below.split("/"):
            found.append(((*path, index, "subPath"), "must be a relative path without .."))
        if below and mount.get("subPathExpr"):
            found.append(((*path, index, "subPathExpr"), "must not be beside subPath"))
        _PROPAGATION(mount.get("mountPropagation"), (*path, index, "mountPropagation"), found)
        if mount.get("recursiveReadOnly") is not None:
            _RECURSIVE(mount["recursiveReadOnly"], (*path, index, "recursiveReadOnly"), found)


def _ends(path: Path, place: _Place, found: Mistakes) -> bool:
    """Whether the container is an init container that ends, which can't have the block; reports it."""
    if not place.is_init or place.spec["initContainers"][place.path[1]].get("restartPolicy") == "Always":
        return False
    found.append((path, "must be absent in an init container without restartPolicy: Always"))
    return True


def _check_probe(value: Any, path: Path, place: _Place, found: Mistakes) -> None:
    if _ends(path, place, found):
        return
    check_one(value, _PROBE_HANDLERS, path, found)
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
            check_one(hook, _HOOK_HANDLERS, (*path, field), found)
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


def _check_overhead(value: Any, path: Path, found: Mistakes) -> None:
    listed: Mistakes = []
    _check_resources({"limits": value}, (), listed)
    found += [((*path, *below[1:]), wrong) for below, wrong in listed]


def _check_pod_resources(value: Any, path: Path, found: Mistakes) -> None:
    """The resources of a pod as a whole."""
    if value.get("claims") is not None:
        found.append(((*path, "claims"), "must be absent in the resources of a pod"))
    _POD_RESOURCES(value, path, found)
    _check_resources(value, path, found)


def _check_pod_resource(value: Any, path: Path, found: Mistakes) -> None:
    for name in value or ():
        if name not in ("cpu", "memory") and not name.startswith("hugepages-"):
            found.append(((*path, Key(name)), f'must be cpu, memory or hugepages-SIZE in the resources of a pod, got "{quote_once(name)}"'))


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
        where = (*path, index)
        if not volume.get("name"):
            found.append(((*where, "name"), "must not be empty"))
        sources = [field for field, source in volume.items() if field != "name" and source is not None]
        if len(sources) > 1:
            found.append((where, f"must have one source, got {' and '.join(map(quote_once, sources))}"))
        _VOLUME(volume, where, found)


def _check_projection(value: Any, path: Path, found: Mistakes) -> None:
    """One source of a projected volume."""
    sources = [name for name in _PROJECTED if value.get(name) is not None]
    if len(sources) > 1:
        found.append((path, f"must be one source, got {' and '.join(sources)}"))
    _TOKEN(value, path, found)


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


def _check_single(value: Any, path: Path, found: Mistakes) -> None:
    if len(value) > 1:
        found.append((path, f"must be one value, got {len(value)}"))


def _check_terms(value: Any, path: Path, found: Mistakes) -> None:
    if not value.get("nodeSelectorTerms"):
        found.append(((*path, "nodeSelectorTerms"), "must not be empty"))
    each(_TERM)(value.get("nodeSelectorTerms"), (*path, "nodeSelectorTerms"), found)


def _check_label_keys(value: Any, path: Path, found: Mistakes) -> None:
    """Labels by whose keys pods are grouped: they narrow a selector."""
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if value.get(field) and value.get("labelSelector") is None:
            found.append(((*path, field), "must be absent without labelSelector"))
    for index, name in enumerate(value.get("matchLabelKeys") or ()):
        if name in (value.get("mismatchLabelKeys") or ()):
            found.append(((*path, "matchLabelKeys", index), "must not be in mismatchLabelKeys, too"))


def _check_spread(value: Any, path: Path, found: Mistakes) -> None:
    _SPREAD(value, path, found)
    _check_label_keys(value, path, found)
    if value.get("minDomains") is not None and value.get("whenUnsatisfiable") != "DoNotSchedule":
        found.append(((*path, "minDomains"), "must be absent unless whenUnsatisfiable is DoNotSchedule"))


def _check_profile(value: Any, path: Path, found: Mistakes) -> None:
    """A profile of seccomp or AppArmor."""
    _PROFILE(value, path, found)
    if (value.get("type") == "Localhost") is not bool(value.get("localhostProfile")):
        found.append(((*path, "localhostProfile"), "must be there if, and only if, the type is Localhost"))


def _check_claims(value: Any, path: Path, found: Mistakes) -> None:
    for index, one in enumerate(value):
        if one:
            _CLAIM(one, (*path, index), found)
            check_one(one, _CLAIM_SOURCES, (*path, index), found)


def _check_claimed(value: Any, path: Path, place: _Place, found: Mistakes) -> None:
    claims = {one.get("name") for one in place.spec.get("resourceClaims") or () if one}
    for index, one in enumerate(value.get("claims") or ()):
        if one and one.get("name") not in claims:
            shown = quote_once(one.get("name") or "")
            found.append(((*path, "claims", index, "name"), f'must be one of the pod\'s resourceClaims, got "{shown}"'))


def _check_devices(value: Any, path: Path, place: _Place, found: Mistakes) -> None:
    volumes = [one for one in place.spec.get("volumes") or () if one]
    claims = {one.get("name") for one in volumes if one.get("persistentVolumeClaim") is not None or one.get("ephemeral") is not None}
    for index, one in enumerate(value):
        if one and one.get("name") not in claims:
            shown = quote_once(one.get("name") or "")
            found.append(((*path, index, "name"), f'must be a volume of the pod with a claim, got "{shown}"'))


def _check_security(value: Any, path: Path, found: Mistakes) -> None:
    """A container may not give itself less than it asks for."""
    _SECURITY(value, path, found)
    if value.get("allowPrivilegeEscalation") is False:
        added = (value.get("capabilities") or {}).get("add") or ()
        if value.get("privileged") or "CAP_SYS_ADMIN" in added:
            found.append(((*path, "allowPrivilegeEscalation"), "must not be false beside privileged or CAP_SYS_ADMIN"))


def _check_fact(value: Any, path: Path, found: Mistakes) -> None:
    """A file with a field of the pod."""
    _FACT(value, path, found)
    check_one(value, ("fieldRef", "resourceFieldRef"), path, found)


def _check_size(value: Any, path: Path, found: Mistakes) -> None:
    if is_quantity(value) and parse(value) < 0:
        found.append((path, f"must not be negative, got {quote_once(str(value))}"))


def _is_inner(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def _check_claim_template(value: Any, path: Path, found: Mistakes) -> None:
    """The template of a volume's claim."""
    _CLAIM_TEMPLATE(value, path, found)
    spec = value.get("spec") or {}
    if not ((spec.get("resources") or {}).get("requests") or {}).get("storage"):
        found.append(((*path, "spec", "resources"), "must have a request of storage"))


_PROTOCOL: Final = choice("TCP", "UDP", "SCTP")
_PROPAGATION: Final = choice("None", "HostToContainer", "Bidirectional")
_RECURSIVE: Final = given(choice("Disabled", "Enabled", "IfPossible"))
_SCHEME: Final = choice("HTTP", "HTTPS")
_OPERATOR: Final = choice("Exists", "Equal")
_EFFECT: Final = choice("NoSchedule", "PreferNoSchedule", "NoExecute")
_METADATA: Final = block({"labels": LABELS, "annotations": _check_annotations})
_NAMED: Final = block({"name": SUBDOMAIN}, "name")
_KEYED: Final = block({"name": SUBDOMAIN, "key": _check_key}, "name")
_RESOURCE: Final = block(
    {"resource": text(_RESOURCE_FIELD.fullmatch, "must be limits or requests of a resource, such as limits.cpu")}, "resource"
)
_SOURCE: Final = block({"configMapKeyRef": _KEYED, "secretKeyRef": _KEYED, "fieldRef": _check_field, "resourceFieldRef": _RESOURCE})
_FROM: Final = block(
    {"configMapRef": _NAMED, "secretRef": _NAMED, "prefix": text(_VARIABLE.fullmatch, "must be printable characters of ASCII without =")}
)
_TERM: Final = block(
    {
        "matchExpressions": NODE_REQUIREMENTS,
        "matchFields": each(
            block({"key": choice("metadata.name"), "operator": choice("In", "NotIn"), "values": _check_single}, "key", "operator", "values")
        ),
    }
)
_WEIGHT: Final = number(1, 100)
_POD_TERM: Final = every(
    block(
        {
            "topologyKey": QUALIFIED,
            "labelSelector": SELECTOR,
            "namespaceSelector": SELECTOR,
            "namespaces": each(given(LABEL)),
            "matchLabelKeys": each(given(QUALIFIED)),
            "mismatchLabelKeys": each(given(QUALIFIED)),
        },
        "topologyKey",
    ),
    _check_label_keys,
)
_REQUIRED_TERMS, _PREFERRED_TERMS = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
_NEAR: Final = block(
    {
        _REQUIRED_TERMS: each(_POD_TERM),
        _PREFERRED_TERMS: each(block({"weight": _WEIGHT, "podAffinityTerm": _POD_TERM}, "weight", "podAffinityTerm")),
    }
)
_ON_NODES: Final = block({_REQUIRED_TERMS: _check_terms, _PREFERRED_TERMS: each(block({"weight": _WEIGHT, "preference": _TERM}, "weight"))})
_SPREAD: Final = block(
    {
        "topologyKey": QUALIFIED,
        "maxSkew": number(1),
        "minDomains": number(1),
        "whenUnsatisfiable": choice("DoNotSchedule", "ScheduleAnyway"),
        "nodeAffinityPolicy": given(choice("Honor", "Ignore")),
        "nodeTaintsPolicy": given(choice("Honor", "Ignore")),
        "labelSelector": SELECTOR,
        "matchLabelKeys": each(given(QUALIFIED)),
    },
    *("topologyKey", "whenUnsatisfiable"),
)
_PROFILE: Final = block({"type": choice("Localhost", "RuntimeDefault", "Unconfined")}, "type")
_OF_BOTH: Final[dict[str, Check]] = {  # of the security of a pod and of a container
    **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), number(0, _MAX_SECONDS)),
    **dict.fromkeys(("seccompProfile", "appArmorProfile"), _check_profile),
}
_SECURITY: Final = block({**_OF_BOTH, "procMount": given(choice("Default", "Unmasked"))})
_POD_SECURITY: Final = block(
    {
        **_OF_BOTH,
        "sysctls": each(block({"name": text(_SYSCTL.fullmatch, "must be the name of a parameter of the kernel")}, "name")),
        "supplementalGroups": each(number(0, _MAX_SECONDS)),
        "supplementalGroupsPolicy": given(choice("Merge", "Strict")),
        "seLinuxChangePolicy": given(choice("MountOption", "Recursive")),
        "fsGroupChangePolicy": given(choice("Always", "OnRootMismatch")),
    }
)
_CLAIM: Final = block({"name": LABEL, **dict.fromkeys(_CLAIM_SOURCES, given(SUBDOMAIN))}, "name")
_MODE: Final = number(0, _MAX_MODE)
_ITEM: Final[dict[str, Check]] = {"path": text(_is_inner, "must be a relative path without .."), "mode": _MODE}
_FILES: Final[dict[str, Check]] = {"defaultMode": _MODE, "items": each(block(_ITEM, "key", "path"))}
_FACT: Final = block(
    {
        **_ITEM,
        "fieldRef": block(
            {"fieldPath": text(_FILE_FIELD.fullmatch, "must be a field that files can have, such as metadata.labels")}, "fieldPath"
        ),
        "resourceFieldRef": _RESOURCE,
    },
    "path",
)
_CLAIM_TEMPLATE: Final = block(
    {
        "metadata": block(dict.fromkeys(("name", "namespace", "finalizers"), absent("in the template of a claim"))),
        "spec": block({}, "accessModes"),
    },
    "spec",
)
_PROJECTED: Final = ("configMap", "downwardAPI", "secret", "serviceAccountToken")  # others are dropped by API servers of some releases
_TOKEN: Final = block({"serviceAccountToken": block({"expirationSeconds": number(600, 2**32)}, "path")})
_VOLUME: Final = block(
    {
        "name": LABEL,
        "persistentVolumeClaim": block({}, "claimName"),
        "hostPath": block(
            {
                "path": text(lambda path: ".." not in path.split("/"), "must be a path without .."),
                "type": choice("BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
            },
            "path",
        ),
        "configMap": block(_FILES, "name"),
        "secret": block(_FILES, "secretName"),
        "downwardAPI": block({"defaultMode": _MODE, "items": each(_check_fact)}),
        "nfs": block({"path": text(lambda path: path.startswith("/"), "must be an absolute path")}, "server", "path"),
        "projected": block({"sources": each(_check_projection)}),
        "emptyDir": block({"sizeLimit": _check_size}),
        "csi": block({}, "driver"),
        **{source: block({}, *fields) for source, fields in _OLD_SOURCES.items()},
        "ephemeral": block({"volumeClaimTemplate": _check_claim_template}, "volumeClaimTemplate"),
    }
)
_POD_RESOURCES: Final = block(dict.fromkeys(("limits", "requests"), _check_pod_resource))
_OF_CONTAINER: Final[dict[str, Check]] = {
    "name": LABEL,
    "image": _check_image,
    "imagePullPolicy": choice("Always", "IfNotPresent", "Never"),
    "terminationMessagePolicy": choice("File", "FallbackToLogsOnError"),
    "env": _check_env,
    "envFrom": _check_env_from,
    "resources": _check_resources,
    "securityContext": _check_security,
    "resizePolicy": each(block({"resourceName": choice("cpu", "memory"), "restartPolicy": choice("NotRequired", "RestartContainer")})),
    "volumeDevices": each(block({}, "devicePath")),
}
# checks that look at the rest of the pod, too
_IN_POD: Final[dict[str, _InPod]] = {
    "ports": _check_ports,
    "volumeMounts": _check_mounts,
    "volumeDevices": _check_devices,
    "resources": _check_claimed,
    "lifecycle": _check_lifecycle,
    **dict.fromkeys(PROBES, _check_probe),
}
_SEARCHED: Final = text(
    lambda domain: _SEARCH.fullmatch(domain.removesuffix(".")), "must be lower-case letters, digits, dots, underscores and inner dashes"
)
_POD: Final = block(
    {
        "volumes": _check_volumes,
        "tolerations": _check_tolerations,
        "nodeSelector": LABELS,
        "affinity": block({"nodeAffinity": _ON_NODES, "podAffinity": _NEAR, "podAntiAffinity": _NEAR}),
        "topologySpreadConstraints": each(_check_spread),
        "restartPolicy": choice("Always", "OnFailure", "Never"),
        "dnsPolicy": choice("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
        "dnsConfig": block({"nameservers": each(given(ADDRESS)), "searches": each(given(_SEARCHED)), "options": each(block({}, "name"))}),
        "hostAliases": each(block({"ip": ADDRESS, "hostnames": each(given(SUBDOMAIN))}, "ip")),
        "os": block({"name": choice("linux", "windows")}, "name"),
        "preemptionPolicy": given(choice("Never", "PreemptLowerPriority")),
        "readinessGates": each(block({"conditionType": QUALIFIED}, "conditionType")),
        "schedulingGates": each(block({"name": QUALIFIED}, "name")),
        "resourceClaims": _check_claims,
        "securityContext": _POD_SECURITY,
        "activeDeadlineSeconds": number(1, _MAX_SECONDS),
        "ephemeralContainers": absent("in the template of pods"),
        "overhead": _check_overhead,
        "resources": _check_pod_resources,
        "runtimeClassName": given(SUBDOMAIN),
        **dict.fromkeys(("serviceAccount", "serviceAccountName", "nodeName", "priorityClassName"), SUBDOMAIN),
        **dict.fromkeys(("hostname", "subdomain"), LABEL),
    }
)
