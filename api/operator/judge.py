"""Validation of a configuration: all problems at once, each with its path, the value found and the allowed values. Reads no files."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

from ..line import OLDEST, Line, of_release
from ..paths import MISSING, Path, lookup
from ..wording import article, shorten
from .amounts import seconds, span
from .configuration import API_VERSION, KIND, OperatorConfiguration, leaves
from .controllers import NONE
from .section import dump, keys_of
from .server import ONE_PROCESS

_Section = TypeVar("_Section")
_PASSWORD: Final = re.compile(r"(//[^/@\s:]*):[^/@\s]*@")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2})|[\x00-\x20\x7f]")
# where the Go operator takes 0 for "the default"
_ZERO_IS_DEFAULT: Final = (
    ("server", "metrics", "port"),
    ("server", "healthProbe", "port"),
    ("server", "webhook", "port"),
    ("orchestrators", "grove", "terminationDelay"),
)
# what an empty text means where the default is none: these addresses mean all; everything else, the default, as in the Go operator
_EMPTY_ALLOWED: Final = (("server", "metrics", "bindAddress"), ("server", "healthProbe", "bindAddress"))

# keys of some releases of the operator alone: since one, and before another
_OF_LINES: Final[tuple[tuple[Path, Line, Line | None], ...]] = (
    (("lpx",), Line.V1_6, None),
    (("checkpoint", "storage"), OLDEST, Line.V1_5),
    (("checkpoint", "cleanupImage"), OLDEST, Line.V1_5),
)

_REMOVED: Final = {("serving", "workers"): ONE_PROCESS}


class Problem(NamedTuple):
    """One thing that is wrong; `text` goes on after the path."""

    path: Path
    text: str
    known: tuple[str, ...] = ()  # for an unknown key: the keys that its section may have
    elsewhere: tuple[str, ...] = ()  # for an unknown key: where a key of that name belongs


def drop_absent_values(data: Any) -> Any:
    """Returns the data of a file without values that count as absent: null, and 0 or an empty text where it means the default."""
    data = _without_null(data)
    for path in _ZERO_IS_DEFAULT:
        value, parent = lookup(data, path), lookup(data, path[:-1])
        if isinstance(parent, dict) and (value == 0 or (isinstance(value, str) and seconds(value) == 0)) and value is not False:
            del parent[path[-1]]
    for key, field in leaves():
        parent = lookup(data, key[:-1])
        has_default = isinstance(field.default, str) and field.default and key not in _EMPTY_ALLOWED
        if has_default and isinstance(parent, dict) and parent.get(key[-1]) == "":
            del parent[key[-1]]
    return data


def _without_null(data: Any) -> Any:
    return {key: _without_null(value) for key, value in data.items() if value is not None} if isinstance(data, dict) else data


def validate_configuration(data: dict[str, Any], *, complete: bool) -> tuple[OperatorConfiguration, list[Problem]]:
    """Reads a prepared configuration, and returns it with its problems; defaults replace wrong values.

    `complete`: the data are a whole file, so the keys that the Go operator requires must be there.
    """
    problems: list[Problem] = []
    configuration = _read(OperatorConfiguration, data, (), problems)
    wrong = [problem.path for problem in problems]
    across = _across(configuration, data, complete=complete)
    return configuration, problems + [each for each in across if not any(each.path[: len(path)] == path for path in wrong)]


def _read(declared: type[_Section], data: dict[str, Any], above: Path, problems: list[Problem]) -> _Section:
    """Reads a section, and adds to `problems`."""
    keys, values = keys_of(declared), {}
    for name, each in keys.items():
        value, path = data.get(name), (*above, name)
        if value is None:
            continue
        if each.inner is not None and isinstance(value, dict):
            values[each.attribute] = _read(each.inner, value, path, problems)
        elif (good := each.allowed.read(value)) is not None:
            values[each.attribute] = good
        else:
            problems.append(Problem(path, f"must be {each.allowed.text}, got {mask_credentials(value)}"))
    problems += [_unknown((*above, name), tuple(keys)) for name in data if name not in keys]
    return declared(**values)


def mask_credentials(value: object) -> str:
    """A value as a sentence shows it; a password in a URL is left out."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    return f'"{shorten(without_password(value), 100)}"' if isinstance(value, str) else article(value)


def without_password(text: str) -> str:
    """A text whose URL's password, if there is one, is replaced by an ellipsis."""
    return _PASSWORD.sub("\\1:\N{HORIZONTAL ELLIPSIS}@", text)


def _unknown(path: Path, known: tuple[str, ...]) -> Problem:
    if path in _REMOVED:
        return Problem(path, _REMOVED[path])
    elsewhere = tuple(".".join(leaf) for leaf, _ in leaves() if leaf[-1].lower() == str(path[-1]).lower() and leaf != path)
    return Problem(path, "unknown key", known, elsewhere)


def _across(configuration: OperatorConfiguration, data: dict[str, Any], *, complete: bool) -> Iterator[Problem]:
    """Yields the problems that no single value shows."""
    if complete:
        yield from _required(configuration, data)
    if configuration.leader_election.enabled and not configuration.leader_election.id:
        yield Problem(("leaderElection", "id"), "must be set when leaderElection.enabled is true")
    if configuration.server.webhook.client_names and not configuration.server.webhook.client_ca:
        yield Problem(("server", "webhook", "clientCA"), "must be set when server.webhook.clientNames is")
    scope = configuration.namespace
    if configuration.secrets.pull != NONE and not (configuration.secrets.namespaces or scope.restricted or scope.allowed):
        yield Problem(
            ("secrets", "namespaces"),
            f"must name the namespaces whose Secrets may be read when secrets.pull is {configuration.secrets.pull}",
        )
    if configuration.certificates.leaf_validity > configuration.certificates.ca_validity:
        most, got = span(configuration.certificates.ca_validity), span(configuration.certificates.leaf_validity)
        yield Problem(("certificates", "leafValidity"), f"must be at most certificates.caValidity {most}, got {got}")
    if configuration.orchestrators.volcano_scheduler.enabled and configuration.orchestrators.kai_scheduler.enabled:
        yield Problem(
            ("orchestrators", "volcanoScheduler", "enabled"), "must be false when kaiScheduler.enabled is true; choose one of both"
        )
    yield from _lease(configuration)
    yield from _mesh(configuration)
    yield from _of_lines(configuration, data)
    if (wrong := _not_a_url(configuration.infrastructure.model_express_url)) is not None:
        address = mask_credentials(configuration.infrastructure.model_express_url)
        yield Problem(("infrastructure", "modelExpressURL"), f"must be a URL, got {address}: {wrong}")


def _required(configuration: OperatorConfiguration, data: dict[str, Any]) -> Iterator[Problem]:
    for key, value in (("apiVersion", API_VERSION), ("kind", KIND)):
        if lookup(data, (key,)) is MISSING:
            yield Problem((key,), f"must be {value}, got nothing")
    for key, value in (
        ("sshSecretName", configuration.mpi.ssh_secret_name),
        ("sshSecretNamespace", configuration.mpi.ssh_secret_namespace),
    ):
        if not value:
            yield Problem(("mpi", key), "must be set")
    if configuration.namespace.restricted:
        if configuration.namespace.allowed:
            yield Problem(("namespace", "allowed"), "must be empty when namespace.restricted is set; remove one of both")
        return
    roles = dump(configuration.rbac)
    for key in roles:
        if not roles[key]:
            yield Problem(("rbac", key), "must be set unless namespace.restricted is")


def _lease(configuration: OperatorConfiguration) -> Iterator[Problem]:
    """Only the holder of a Lease renews one, so these bind in restricted mode alone."""
    if not configuration.namespace.restricted:
        return
    scope, path = configuration.namespace.scope, ("namespace", "scope")
    if scope.lease_duration < 1:
        text = f"must be at least 1s in restricted mode, for a Lease counts whole seconds, got {span(scope.lease_duration)}"
        yield Problem((*path, "leaseDuration"), text)
    if scope.lease_renew_interval >= scope.lease_duration:
        less, got = span(scope.lease_duration), span(scope.lease_renew_interval)
        yield Problem((*path, "leaseRenewInterval"), f"must be less than namespace.scope.leaseDuration {less}, got {got}")


def has_key(version: str, key: Path) -> bool:
    """Whether the operator of a version has a key, as far as that is a release."""
    line = of_release(version)
    foreign = (path for path, since, until in _OF_LINES if line is not None and (line < since or (until is not None and line >= until)))
    return all(key[: len(path)] != path for path in foreign)


def _of_lines(configuration: OperatorConfiguration, data: dict[str, Any]) -> Iterator[Problem]:
    """Keys that the operator of the release that the file names doesn't have."""
    version = configuration.operator.version if lookup(data, ("operator", "version")) is not MISSING else ""
    for path, since, until in _OF_LINES:
        if lookup(data, path) is not MISSING and not has_key(version, path):
            which = f"is no key since operator {until}" if until is not None else f"is a key since operator {since}"
            yield Problem(path, f"{which}, and operator.version is {version}")


def _mesh(configuration: OperatorConfiguration) -> Iterator[Problem]:
    istio = configuration.service_mesh.active
    if istio is None or istio.tls_mode != "MUTUAL":
        return
    for key, value in (("clientCertificate", istio.client_certificate), ("privateKey", istio.private_key)):
        if not value:
            yield Problem(("serviceMesh", "istio", key), "must be set when serviceMesh.istio.tlsMode is MUTUAL")


def _not_a_url(text: str) -> str | None:
    """Explains why a text is no URL; None when it is one."""
    if _BAD_ESCAPE.search(text):
        return "it holds a space, a control character or a percent sign without two hexadecimal digits"
    try:
        urlsplit(text).port  # noqa: B018 - reading the port is what judges it
    except ValueError:
        return "its host or port can't be read"
    return None
