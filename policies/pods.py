"""Tables of checks by field for what an API server refuses in a pod template beside its schema. Cost: a look at each field that is written.

Only what every supported Kubernetes release refuses; the schema has found wrong types and repeated keys of lists. What depends on the
cluster, such as the name of a PriorityClass, is not looked at, nor are options of Windows; of volumes that only clouds had, what must be
there is.
"""

import re
from typing import Any, Final

from ..api.paths import Key
from ..api.quantity import is_quantity, parse
from .components import MAIN, read_failover, read_gms
from .engines import RUNTIME
from .review import Fields
from .tables import (
    ADDRESS,
    LABEL,
    LABELS,
    NODE_REQUIREMENTS,
    QUALIFIED,
    SELECTOR,
    SUBDOMAIN,
    Absent,
    AllOf,
    Block,
    Check,
    CheckFunction,
    Choice,
    Each,
    Filled,
    Mistake,
    Mistakes,
    Number,
    OneOf,
    Text,
)
from .words import quote_once

MAX_PORT_NAME_CHARACTERS: Final = 15
_PORT_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_FIELD: Final = re.compile(
    r"metadata\.(name|namespace|uid|(labels|annotations)\['[^']+'\])|spec\.(nodeName|serviceAccountName)|status\.(hostIP|hostIPs|podIP|podIPs)"
)
_SYSCTL: Final = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_SEARCH: Final = re.compile(r"(_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*)?")
_FILE_FIELD: Final = re.compile(r"metadata\.(name|namespace|uid|labels|annotations|(labels|annotations)\['[^']+'\])")
_RESOURCE_FIELD: Final = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)")
_FIGURES: Final = ("failureThreshold", "initialDelaySeconds", "periodSeconds", "successThreshold", "timeoutSeconds")
PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
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


def list_refused(component: Fields, template: Fields) -> list[Mistake]:
    """The mistakes of the template of a component, by their paths below it, as far as the pods that are made of it have them."""
    mistakes = Mistakes(template.get("spec") or {}, ADDED_VOLUMES, IMAGELESS)
    containers: list[Fields | None] = mistakes.spec.get("containers") or []
    for container in containers:
        if container and container.get("name") == MAIN:
            mistakes.volumes.update([mount.get("name") or "" for mount in container.get("volumeMounts") or () if mount])
    if cache := component.get("compilationCache"):
        mistakes.volumes.add(cache.get("pvcName") or "")
    refusals = _validate(template, mistakes)
    shared = bool(refusals) and (read_gms(component) is not None or read_failover(component) is not None)  # claims replace GPUs
    # every component has an account, which the older field doesn't name
    return [(path, wrong) for path, wrong in refusals if path[-1] != "serviceAccount" and not (shared and "resources" in path)]


def list_template_mistakes(template: Fields, added: frozenset[str], imageless: frozenset[str] = IMAGELESS) -> list[Mistake]:
    """The mistakes of a template for pods with `added` volumes, by their paths below it; those `imageless` need no image."""
    return _validate(template, Mistakes(template.get("spec") or {}, added, imageless))


def _validate(template: Fields, mistakes: Mistakes) -> list[Mistake]:
    mistakes.ask(_METADATA, template.get("metadata"), "metadata")
    count = len(mistakes.entries)
    _check_pod(mistakes.spec, mistakes)
    if len(mistakes.entries) > count:
        mistakes.prefix(count, "spec")
    return mistakes.entries


def _check_pod(spec: Fields, mistakes: Mistakes) -> None:
    _POD.validate(spec, mistakes)
    if spec.get("hostUsers") is False:
        for field in ("hostIPC", "hostNetwork", "hostPID"):
            if spec.get(field):
                mistakes.add("must not be true beside hostUsers: false", field)
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        mistakes.add("must not be true beside hostPID", "shareProcessNamespace")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        mistakes.add("must be absent beside schedulingGates", "nodeName")
    if spec.get("dnsPolicy") == "None" and not (spec.get("dnsConfig") or {}).get("nameservers"):
        mistakes.add("must not be None without dnsConfig.nameservers", "dnsPolicy")
    named: dict[str, str] = {}
    for field in ("containers", "initContainers"):
        listed: list[Fields | None] = spec.get(field) or []
        for index, container in enumerate(listed):
            if container:
                name = container.get("name") or ""
                if named.get(name, field) != field:
                    mistakes.add(f'must not be the name of another container, got "{quote_once(name)}"', field, index, "name")
                named[name] = field
                if not container.get("image") and name not in mistakes.imageless:
                    mistakes.add("must not be empty", field, index, "image")
                ends = field == "initContainers" and container.get("restartPolicy") != "Always"
                mistakes.ask(_ENDING if ends else _CONTAINER, container, field, index)


class _Image(Check):
    def validate(self, value: Any, mistakes: Mistakes) -> None:
        image: str = value
        if image != image.strip():
            mistakes.add("must not begin or end with a blank")


def _check_ports(value: list[Any], mistakes: Mistakes) -> None:
    names: set[str] = set()
    for index, port in enumerate(value):
        if not port:
            continue
        if name := port.get("name"):
            mistakes.ask(_PORT_NAMES, name, index, "name")
            if name in names:
                mistakes.add(f'must be unique in its container, got "{quote_once(name)}" again', index, "name")
            names.add(name)
        mistakes.ask(_PORT, port.get("containerPort"), index, "containerPort")
        mistakes.ask(_PORT, port.get("hostPort") or None, index, "hostPort")
        mistakes.ask(_PROTOCOL, port.get("protocol"), index, "protocol")
        if mistakes.spec.get("hostNetwork") and port.get("hostPort") not in (None, 0, port.get("containerPort")):
            mistakes.add("must be the containerPort, because the pod uses the node's network", index, "hostPort")


class _PortName(Check):
    def validate(self, value: Any, mistakes: Mistakes) -> None:
        name: str = value
        if len(name) > MAX_PORT_NAME_CHARACTERS:
            mistakes.add(f"must have at most {MAX_PORT_NAME_CHARACTERS} characters, got {len(name)}")
        elif not _PORT_NAME.fullmatch(name) or "--" in name or name.isdigit() or not any(map(str.isalpha, name)):
            mistakes.add(f'must be lower-case letters, digits and single inner dashes, with a letter, got "{quote_once(name)}"')


def _is_variable(name: str) -> bool:
    return name.isascii() and name.isprintable() and "=" not in name


class _Variable(Check):
    def validate(self, value: Any, mistakes: Mistakes) -> None:
        variable: Fields = value
        if not variable:
            return
        name = variable.get("name")
        if not name or not _is_variable(name):
            mistakes.add("must be printable characters of ASCII without =", "name")
        if (source := variable.get("valueFrom")) is not None:
            if source and variable.get("value"):
                mistakes.add("must not be beside value", "valueFrom")
            mistakes.ask(_SOURCE, source, "valueFrom")


def _check_key(value: str, mistakes: Mistakes) -> None:
    if not _KEY.fullmatch(value):
        mistakes.add("must be letters, digits, dashes, dots and underscores")


def _check_field(value: Fields, mistakes: Mistakes) -> None:
    if not _FIELD.fullmatch(value.get("fieldPath") or ""):
        shown = quote_once(value.get("fieldPath") or "")
        mistakes.add(f'must be a field that variables can have, such as metadata.name, got "{shown}"', "fieldPath")


def _check_annotations(value: Fields, mistakes: Mistakes) -> None:
    for key in value:
        mistakes.ask(QUALIFIED, key.lower(), Key(key))


class _Mount(Check):
    def validate(self, value: Any, mistakes: Mistakes) -> None:
        mount: Fields = value
        if not mount:
            return
        for field in ("name", "mountPath"):
            if mount.get(field) == "":
                mistakes.add("must not be empty", field)
        count, name = len(mistakes.entries), mount.get("name")
        mistakes.ask(LABEL, name, "name")
        if name and name not in mistakes.volumes and name not in mistakes.added and count == len(mistakes.entries):
            mistakes.add(f'must be a volume of the pod, got "{quote_once(name)}"', "name")
        if below := mount.get("subPath"):
            if not _is_inner(below):
                mistakes.add("must be a relative path without ..", "subPath")
            if mount.get("subPathExpr"):
                mistakes.add("must not be beside subPath", "subPathExpr")
        _MOUNT.validate(mount, mistakes)


def _check_absent(_: Any, mistakes: Mistakes) -> None:
    mistakes.add("must be absent in an init container without restartPolicy: Always")


def _check_readiness(value: Fields, mistakes: Mistakes) -> None:
    _check_probe(value, mistakes)
    if value.get("terminationGracePeriodSeconds") is not None:
        mistakes.add("must be absent in a readiness probe", "terminationGracePeriodSeconds")


def _check_liveness(value: Fields, mistakes: Mistakes) -> None:
    """One of a startup probe's kind, too."""
    _check_probe(value, mistakes)
    if (value.get("successThreshold") or 1) > 1:
        mistakes.add(f"must be 1, got {value['successThreshold']}", "successThreshold")
    if (grace := value.get("terminationGracePeriodSeconds")) is not None and grace < 1:
        mistakes.add("must be 1 or more", "terminationGracePeriodSeconds")


def _check_probe(value: Fields, mistakes: Mistakes) -> None:
    _PROBE.validate(value, mistakes)
    _check_handler(value, mistakes)
    for field in _FIGURES:
        if (value.get(field) or 0) < 0:
            mistakes.add(f"must not be negative, got {value[field]}", field)


def _check_handler(block: Fields, mistakes: Mistakes) -> None:
    if (program := block.get("exec")) is not None and not program.get("command"):
        mistakes.add("must not be empty", "exec", "command")
    for field in ("grpc", "httpGet", "tcpSocket"):
        if (handler := block.get(field)) is None:
            continue
        port = handler.get("port")
        mistakes.ask(_PORT_NAMES if isinstance(port, str) else _PORT, 0 if port is None else port, field, "port")
        if field == "httpGet":
            mistakes.ask(_SCHEME, handler.get("scheme"), field, "scheme")


def _check_lifecycle(value: Fields, mistakes: Mistakes) -> None:
    for field in ("postStart", "preStop"):
        mistakes.ask(_HOOK, value.get(field), field)


class _Resources(Check):
    """Limits and requests."""

    def validate(self, value: Any, mistakes: Mistakes) -> None:
        limits: Fields = value.get("limits") or {}
        for field, within in (("limits", None), ("requests", limits)):
            amounts: Fields = value.get(field) or {}
            for name, amount in amounts.items():
                if wrong := _explain_amount(name, amount, within):
                    mistakes.add(wrong, field, Key(name))


def _check_overhead(value: Fields, mistakes: Mistakes) -> None:
    for name, amount in value.items():
        if wrong := _explain_amount(name, amount, None):
            mistakes.add(wrong, Key(name))


def _explain_amount(name: str, amount: Any, limits: Fields | None) -> str:
    """Explains why an amount of a resource is refused, "" if it isn't; a request is compared with the limits beside it."""
    if not is_quantity(amount):
        return ""
    number, device = parse(amount), "/" in name and "kubernetes.io/" not in name  # which can't be shared
    if "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
        return f'must be {", ".join(_STANDARD)}, hugepages-SIZE, or have a domain, got "{quote_once(name)}"'
    if number < 0:
        return f"must not be negative, got {quote_once(str(amount))}"
    if device and type(number) is not int:
        return f"must be a whole number, got {quote_once(str(amount))}"
    if limits is None:
        return ""
    limit, same = limits.get(name), device or name.startswith("hugepages-")
    if limit is None:
        return "must have a limit of the same amount, got none" if same else ""
    if not is_quantity(limit) or number == parse(limit) or not (same or number > parse(limit)):
        return ""
    return f"must be {'' if same else 'at most '}the limit, {quote_once(str(limit))}, got {quote_once(str(amount))}"


def _check_pod_resources(value: Fields, mistakes: Mistakes) -> None:
    """The resources of a pod as a whole."""
    if value.get("claims") is not None:
        mistakes.add("must be absent in the resources of a pod", "claims")
    _POD_RESOURCES.validate(value, mistakes)
    _RESOURCES.validate(value, mistakes)


def _check_pod_resource(value: Fields, mistakes: Mistakes) -> None:
    for name in value:
        if name not in ("cpu", "memory") and not name.startswith("hugepages-"):
            mistakes.add(f'must be cpu, memory or hugepages-SIZE in the resources of a pod, got "{quote_once(name)}"', Key(name))


class _Volume(Check):
    def validate(self, value: Any, mistakes: Mistakes) -> None:
        volume: Fields = value
        if not volume:
            return
        if not volume.get("name"):
            mistakes.add("must not be empty", "name")
        sources = [field for field, source in volume.items() if field != "name" and source is not None]
        if len(sources) > 1:
            mistakes.add(f"must have one source, got {' and '.join(map(quote_once, sources))}")
        _VOLUME.validate(volume, mistakes)


def _check_projection(value: Fields, mistakes: Mistakes) -> None:
    """One source of a projected volume."""
    sources = [name for name in _PROJECTED if value.get(name) is not None]
    if len(sources) > 1:
        mistakes.add(f"must be one source, got {' and '.join(sources)}")
    _TOKEN.validate(value, mistakes)


def _check_toleration(value: Fields, mistakes: Mistakes) -> None:
    if not value:
        return
    operator = value.get("operator") or "Equal"
    mistakes.ask(_OPERATOR, operator, "operator")
    mistakes.ask(_EFFECT, value.get("effect"), "effect")
    if not value.get("key") and operator != "Exists":
        mistakes.add("must be Exists without a key", "operator")
    if operator == "Exists" and value.get("value"):
        mistakes.add("must be Equal beside a value", "operator")
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        mistakes.add("must be NoExecute beside tolerationSeconds", "effect")


def _check_single(value: list[Any], mistakes: Mistakes) -> None:
    if len(value) > 1:
        mistakes.add(f"must be one value, got {len(value)}")


def _check_label_keys(value: Fields, mistakes: Mistakes) -> None:
    """Labels by whose keys pods are grouped: they narrow a selector."""
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if value.get(field) and value.get("labelSelector") is None:
            mistakes.add("must be absent without labelSelector", field)
    for index, name in enumerate(value.get("matchLabelKeys") or ()):
        if name in (value.get("mismatchLabelKeys") or ()):
            mistakes.add("must not be in mismatchLabelKeys, too", "matchLabelKeys", index)


def _check_spread(value: Fields, mistakes: Mistakes) -> None:
    _SPREAD.validate(value, mistakes)
    _check_label_keys(value, mistakes)
    if value.get("minDomains") is not None and value.get("whenUnsatisfiable") != "DoNotSchedule":
        mistakes.add("must be absent unless whenUnsatisfiable is DoNotSchedule", "minDomains")


def _check_profile(value: Fields, mistakes: Mistakes) -> None:
    """A profile of seccomp or AppArmor."""
    _PROFILE.validate(value, mistakes)
    if (value.get("type") == "Localhost") is not bool(value.get("localhostProfile")):
        mistakes.add("must be there if, and only if, the type is Localhost", "localhostProfile")


def _check_claim(value: Fields, mistakes: Mistakes) -> None:
    if value:
        _CLAIM.validate(value, mistakes)


class _ContainerResources(_Resources):
    def validate(self, value: Any, mistakes: Mistakes) -> None:
        super().validate(value, mistakes)
        if used := value.get("claims"):
            claims = {claim.get("name") for claim in mistakes.spec.get("resourceClaims") or () if claim}
            for index, entry in enumerate(used):
                if entry and entry.get("name") not in claims:
                    shown = quote_once(entry.get("name") or "")
                    mistakes.add(f'must be one of the pod\'s resourceClaims, got "{shown}"', "claims", index, "name")


def _check_devices(value: list[Any], mistakes: Mistakes) -> None:
    _DEVICES.validate(value, mistakes)
    volumes = [volume for volume in mistakes.spec.get("volumes") or () if volume]
    claims = {
        volume.get("name") for volume in volumes if volume.get("persistentVolumeClaim") is not None or volume.get("ephemeral") is not None
    }
    for index, device in enumerate(value):
        if device and device.get("name") not in claims:
            shown = quote_once(device.get("name") or "")
            mistakes.add(f'must be a volume of the pod with a claim, got "{shown}"', index, "name")


def _check_security(value: Fields, mistakes: Mistakes) -> None:
    """A container may not give itself less than it asks for."""
    _SECURITY.validate(value, mistakes)
    if value.get("allowPrivilegeEscalation") is False:
        added = (value.get("capabilities") or {}).get("add") or ()
        if value.get("privileged") or "CAP_SYS_ADMIN" in added:
            mistakes.add("must not be false beside privileged or CAP_SYS_ADMIN", "allowPrivilegeEscalation")


def _check_size(value: Any, mistakes: Mistakes) -> None:
    if is_quantity(value) and parse(value) < 0:
        mistakes.add(f"must not be negative, got {quote_once(str(value))}")


def _is_inner(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def _check_claim_template(value: Fields, mistakes: Mistakes) -> None:
    """The template of a volume's claim."""
    _CLAIM_TEMPLATE.validate(value, mistakes)
    spec = value.get("spec") or {}
    if not ((spec.get("resources") or {}).get("requests") or {}).get("storage"):
        mistakes.add("must have a request of storage", "spec", "resources")


_PROBE: Final = OneOf("exec", "grpc", "httpGet", "tcpSocket")
_HOOK: Final = AllOf(OneOf("exec", "httpGet", "sleep", "tcpSocket"), _check_handler)
_PORT: Final = Number(1, 65_535)
_PORT_NAMES: Final = _PortName()
_PROTOCOL: Final = Choice("TCP", "UDP", "SCTP")
_MOUNT: Final = Block(
    {
        "mountPropagation": Choice("None", "HostToContainer", "Bidirectional"),
        "recursiveReadOnly": Filled(Choice("Disabled", "Enabled", "IfPossible")),
    }
)
_SCHEME: Final = Choice("HTTP", "HTTPS")
_OPERATOR: Final = Choice("Exists", "Equal")
_EFFECT: Final = Choice("NoSchedule", "PreferNoSchedule", "NoExecute")
_METADATA: Final = Block({"labels": LABELS, "annotations": _check_annotations})
_NAMED: Final = Block({"name": SUBDOMAIN}, "name")
_KEYED: Final = Block({"name": SUBDOMAIN, "key": _check_key}, "name")
_RESOURCE: Final = Block(
    {"resource": Text(_RESOURCE_FIELD.fullmatch, "must be limits or requests of a resource, such as limits.cpu")}, "resource"
)
_SOURCE: Final = AllOf(
    OneOf("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"),
    Block({"configMapKeyRef": _KEYED, "secretKeyRef": _KEYED, "fieldRef": _check_field, "resourceFieldRef": _RESOURCE}),
)
_FROM: Final = AllOf(
    OneOf("configMapRef", "secretRef"),
    Block({"configMapRef": _NAMED, "secretRef": _NAMED, "prefix": Text(_is_variable, "must be printable characters of ASCII without =")}),
)
_TERM: Final = Block(
    {
        "matchExpressions": NODE_REQUIREMENTS,
        "matchFields": Each(
            Block({"key": Choice("metadata.name"), "operator": Choice("In", "NotIn"), "values": _check_single}, "key", "operator", "values")
        ),
    }
)
_WEIGHT: Final = Number(1, 100)
_POD_TERM: Final = AllOf(
    Block(
        {
            "topologyKey": QUALIFIED,
            "labelSelector": SELECTOR,
            "namespaceSelector": SELECTOR,
            "namespaces": Each(Filled(LABEL)),
            "matchLabelKeys": Each(Filled(QUALIFIED)),
            "mismatchLabelKeys": Each(Filled(QUALIFIED)),
        },
        "topologyKey",
    ),
    _check_label_keys,
)
_REQUIRED_TERMS, _PREFERRED_TERMS = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
_NEAR: Final = Block(
    {
        _REQUIRED_TERMS: Each(_POD_TERM),
        _PREFERRED_TERMS: Each(Block({"weight": _WEIGHT, "podAffinityTerm": _POD_TERM}, "weight", "podAffinityTerm")),
    }
)
_ON_NODES: Final = Block(
    {
        _REQUIRED_TERMS: Block({"nodeSelectorTerms": Each(_TERM)}, "nodeSelectorTerms"),
        _PREFERRED_TERMS: Each(Block({"weight": _WEIGHT, "preference": _TERM}, "weight")),
    }
)
_SPREAD: Final = Block(
    {
        "topologyKey": QUALIFIED,
        "maxSkew": Number(1),
        "minDomains": Number(1),
        "whenUnsatisfiable": Choice("DoNotSchedule", "ScheduleAnyway"),
        "nodeAffinityPolicy": Filled(Choice("Honor", "Ignore")),
        "nodeTaintsPolicy": Filled(Choice("Honor", "Ignore")),
        "labelSelector": SELECTOR,
        "matchLabelKeys": Each(Filled(QUALIFIED)),
    },
    *("topologyKey", "whenUnsatisfiable"),
)
_PROFILE: Final = Block({"type": Choice("Localhost", "RuntimeDefault", "Unconfined")}, "type")
_OF_BOTH: Final[dict[str, Check | CheckFunction]] = {  # of the security of a pod and of a container
    **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), Number(0, _MAX_SECONDS)),
    **dict.fromkeys(("seccompProfile", "appArmorProfile"), _check_profile),
}
_SECURITY: Final = Block({**_OF_BOTH, "procMount": Filled(Choice("Default", "Unmasked"))})
_POD_SECURITY: Final = Block(
    {
        **_OF_BOTH,
        "sysctls": Each(Block({"name": Text(_SYSCTL.fullmatch, "must be the name of a parameter of the kernel")}, "name")),
        "supplementalGroups": Each(Number(0, _MAX_SECONDS)),
        "supplementalGroupsPolicy": Filled(Choice("Merge", "Strict")),
        "seLinuxChangePolicy": Filled(Choice("MountOption", "Recursive")),
        "fsGroupChangePolicy": Filled(Choice("Always", "OnRootMismatch")),
    }
)
_CLAIM: Final = AllOf(Block({"name": LABEL, **dict.fromkeys(_CLAIM_SOURCES, Filled(SUBDOMAIN))}, "name"), OneOf(*_CLAIM_SOURCES))
_MODE: Final = Number(0, _MAX_MODE)
_ITEM: Final[dict[str, Check | CheckFunction]] = {"path": Text(_is_inner, "must be a relative path without .."), "mode": _MODE}
_FILES: Final[dict[str, Check | CheckFunction]] = {"defaultMode": _MODE, "items": Each(Block(_ITEM, "key", "path"))}
_FACT: Final = AllOf(
    Block(
        {
            **_ITEM,
            "fieldRef": Block(
                {"fieldPath": Text(_FILE_FIELD.fullmatch, "must be a field that files can have, such as metadata.labels")}, "fieldPath"
            ),
            "resourceFieldRef": _RESOURCE,
        },
        "path",
    ),
    OneOf("fieldRef", "resourceFieldRef"),
)
_CLAIM_TEMPLATE: Final = Block(
    {
        "metadata": Block(dict.fromkeys(("name", "namespace", "finalizers"), Absent("in the template of a claim"))),
        "spec": Block({}, "accessModes"),
    },
    "spec",
)
_PROJECTED: Final = ("configMap", "downwardAPI", "secret", "serviceAccountToken")  # others are dropped by API servers of some releases
_TOKEN: Final = Block({"serviceAccountToken": Block({"expirationSeconds": Number(600, 2**32)}, "path")})
_VOLUME: Final = Block(
    {
        "name": LABEL,
        "persistentVolumeClaim": Block({}, "claimName"),
        "hostPath": Block(
            {
                "path": Text(lambda path: ".." not in path.split("/"), "must be a path without .."),
                "type": Choice("BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
            },
            "path",
        ),
        "configMap": Block(_FILES, "name"),
        "secret": Block(_FILES, "secretName"),
        "downwardAPI": Block({"defaultMode": _MODE, "items": Each(_FACT)}),
        "nfs": Block({"path": Text(lambda path: path.startswith("/"), "must be an absolute path")}, "server", "path"),
        "projected": Block({"sources": Each(_check_projection)}),
        "emptyDir": Block({"sizeLimit": _check_size}),
        "csi": Block({}, "driver"),
        **{source: Block({}, *fields) for source, fields in _OLD_SOURCES.items()},
        "ephemeral": Block({"volumeClaimTemplate": _check_claim_template}, "volumeClaimTemplate"),
    }
)
_RESOURCES: Final = _Resources()
_POD_RESOURCES: Final = Block(dict.fromkeys(("limits", "requests"), _check_pod_resource))
_DEVICES: Final = Each(Block({}, "devicePath"))
_FIELDS: Final[dict[str, Check | CheckFunction]] = {  # of a container
    "name": LABEL,
    "image": _Image(),
    "imagePullPolicy": Choice("Always", "IfNotPresent", "Never"),
    "terminationMessagePolicy": Choice("File", "FallbackToLogsOnError"),
    "env": Each(_Variable()),
    "envFrom": Each(_FROM),
    "ports": _check_ports,
    "volumeMounts": Each(_Mount()),
    "volumeDevices": _check_devices,
    "resources": _ContainerResources(),
    "resizePolicy": Each(Block({"resourceName": Choice("cpu", "memory"), "restartPolicy": Choice("NotRequired", "RestartContainer")})),
    "securityContext": _check_security,
    "lifecycle": _check_lifecycle,
    "readinessProbe": _check_readiness,
    **dict.fromkeys(("livenessProbe", "startupProbe"), _check_liveness),
}
_CONTAINER: Final = Block(_FIELDS, "name")
_ENDING: Final = Block({**_FIELDS, **dict.fromkeys((*PROBES, "lifecycle"), _check_absent)}, "name")
_SEARCHED: Final = Text(
    lambda domain: _SEARCH.fullmatch(domain.removesuffix(".")), "must be lower-case letters, digits, dots, underscores and inner dashes"
)
_POD: Final = Block(
    {
        "volumes": Each(_Volume()),
        "tolerations": Each(_check_toleration),
        "nodeSelector": LABELS,
        "affinity": Block({"nodeAffinity": _ON_NODES, "podAffinity": _NEAR, "podAntiAffinity": _NEAR}),
        "topologySpreadConstraints": Each(_check_spread),
        "restartPolicy": Choice("Always", "OnFailure", "Never"),
        "dnsPolicy": Choice("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
        "dnsConfig": Block({"nameservers": Each(Filled(ADDRESS)), "searches": Each(Filled(_SEARCHED)), "options": Each(Block({}, "name"))}),
        "hostAliases": Each(Block({"ip": ADDRESS, "hostnames": Each(Filled(SUBDOMAIN))}, "ip")),
        "os": Block({"name": Choice("linux", "windows")}, "name"),
        "preemptionPolicy": Filled(Choice("Never", "PreemptLowerPriority")),
        "readinessGates": Each(Block({"conditionType": QUALIFIED}, "conditionType")),
        "schedulingGates": Each(Block({"name": QUALIFIED}, "name")),
        "resourceClaims": Each(_check_claim),
        "securityContext": _POD_SECURITY,
        "activeDeadlineSeconds": Number(1, _MAX_SECONDS),
        "ephemeralContainers": Absent("in the template of pods"),
        "overhead": _check_overhead,
        "resources": _check_pod_resources,
        "runtimeClassName": Filled(SUBDOMAIN),
        **dict.fromkeys(("serviceAccount", "serviceAccountName", "nodeName", "priorityClassName"), SUBDOMAIN),
        **dict.fromkeys(("hostname", "subdomain"), LABEL),
    }
)
