"""Which pull secrets are for which image: addresses of registries as the kubelet compares them. Reads no value but addresses."""

import base64
import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from ....conversion.lens.protocol import Fields
from ..merge import object_items
from ..names import NO_PULL_SECRETS
from ..settings import Settings

DOCKER_CONFIG: Final = "kubernetes.io/dockerconfigjson"
DOCKER_FILE: Final = "kubernetes.io/dockercfg"  # the older form, without "auths"
EVERY: Final = "**"  # an address that is every image's
MAX_ADDRESSES: Final = 1000  # of one Secret; a registry has a few
_HUB: Final = "index.docker.io"
_HUBS: Final = frozenset({_HUB, "docker.io", "registry-1.docker.io"})
_MAX_ADDRESS_CHARACTERS: Final = 512


def list_addresses(secret: Fields) -> list[str] | None:
    """The addresses of a pull secret, sorted; None when it can't be read, or holds too many. Raises nothing, and costs its size."""
    name = {DOCKER_CONFIG: ".dockerconfigjson", DOCKER_FILE: ".dockercfg"}.get(str(secret.get("type")))
    if name is None:
        return []
    try:
        text = base64.b64decode((secret.get("data") or {}).get(name) or "", validate=True)
        config: Any = json.loads(text)
        auths = config["auths"] if name == ".dockerconfigjson" else config
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(auths, dict) or len(auths) > MAX_ADDRESSES:
        return None
    return sorted({address for each in auths if (address := _address(each))})


def index_secrets(secrets: Iterable[tuple[str, Iterable[str]]]) -> dict[str, tuple[str, ...]]:
    """The names of pull secrets by address, from names with their addresses."""
    by_address: dict[str, set[str]] = {}
    for name, several in secrets:
        for address in several:
            by_address.setdefault(address, set()).add(name)
    return {address: tuple(sorted(names)) for address, names in sorted(by_address.items())}


def names_for(image: str, by_address: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The secrets of the longest address that an image is at, as the kubelet prefers it. Costs one comparison an address."""
    host, path = _split_image(image)
    if not host:
        return ()
    fitting = [address for address in by_address if _fits(address, host, path)]
    longest = max((len(address.partition("/")[2]) for address in fitting), default=0)
    return tuple(sorted({name for address in fitting if len(address.partition("/")[2]) == longest for name in by_address[address]}))


def _address(text: str) -> str:
    """An address as it is compared: without scheme and API version; empty for none."""
    _, scheme, rest = text.partition("://")
    host, _, path = (rest if scheme else text)[:_MAX_ADDRESS_CHARACTERS].partition("/")
    path = path.strip("/")
    if path in ("v1", "v2"):
        path = ""
    elif path.startswith(("v1/", "v2/")):
        path = path[3:]
    host = _HUB if host in _HUBS else host
    return f"{host}/{path}" if host and path else host


def _split_image(image: str) -> tuple[str, str]:
    """Host and path of an image; those without a host are of Docker Hub."""
    first, slash, rest = image.partition("/")
    if not image:
        return "", ""
    if slash and ("." in first or ":" in first or first == "localhost"):
        return (_HUB, rest) if first in _HUBS else (first, rest)
    return _HUB, image


def _fits(address: str, host: str, path: str) -> bool:
    """Whether an image is at an address: labels of the host match one by one, `*` within one; the path is a prefix."""
    if address == EVERY:
        return True
    wanted, _, prefix = address.partition("/")
    if not path.startswith(prefix):
        return False
    if "*" not in wanted:
        return wanted == host
    (name, _, port), (own, _, own_port) = wanted.partition(":"), host.partition(":")
    labels, owns = name.split("."), own.split(".")
    return port == own_port and len(labels) == len(owns) and all(fnmatchcase(label, each) for label, each in zip(owns, labels, strict=True))


def add_pull_secrets(spec: Fields, annotations: Mapping[str, str], settings: Settings) -> None:
    """Adds the secrets for the registries of a pod's containers after the user's, by name, each once."""
    named = object_items(spec.get("imagePullSecrets"))
    if settings.pull_secrets and annotations.get(NO_PULL_SECRETS) != "true":
        known = {secret.get("name") for secret in named}
        containers = [*object_items(spec.get("initContainers")), *object_items(spec.get("containers"))]
        names = {name for container in containers for name in names_for(str(container.get("image") or ""), settings.pull_secrets)}
        named += [{"name": name} for name in sorted(names - known)]
    if named:
        spec["imagePullSecrets"] = named
