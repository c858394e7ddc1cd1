"""The effective OperatorConfiguration: flags before environment before file before defaults, and where each value came from."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ...api.operator.configuration import OperatorConfiguration
from ...api.operator.judge import Problem, drop_absent_values, validate_configuration
from ...api.paths import MISSING, Path, format_path, lookup
from ...api.wording import shorten
from ...kube import config
from ...policies.semver import is_semver
from ..console.exits import UsageError
from ..console.nearest import did_you_mean
from ..files.read import load_text
from ..yaml.load import Document, InputError, Source, load_documents

Key: TypeAlias = tuple[str, ...]


class EnvironmentVariable(NamedTuple):
    """An environment variable that sets a key."""

    name: str
    key: Key
    parse: Callable[[str], Any] = str


VARIABLES: Final = (
    EnvironmentVariable("POD_NAMESPACE", ("operator", "namespace")),
    EnvironmentVariable("POD_SERVICE_ACCOUNT", ("operator", "serviceAccount")),
    EnvironmentVariable("POD_NAME", ("operator", "podName")),
    EnvironmentVariable("KUBERNETES_CLUSTER_DOMAIN", ("operator", "clusterDomain")),
    EnvironmentVariable("DYN_OPERATOR_ALLOW_GMS_SNAPSHOT", ("featureGates", "gmsSnapshot"), lambda text: text == "1"),
    EnvironmentVariable("DCGM_METRICS_ENDPOINT_TEMPLATE", ("gpu", "metricsEndpointTemplate")),
    EnvironmentVariable(
        "DYNAMO_WEBHOOKS_METRICS_SECURE", ("server", "metrics", "secure"), lambda text: {"true": True, "false": False}.get(text, text)
    ),
    EnvironmentVariable("DYNAMO_WEBHOOKS_LOG_LEVEL", ("logging", "level")),
)


class EffectiveConfiguration(NamedTuple):
    """A configuration that can be used, with the origin of what isn't a default, and a sentence for each ignored key."""

    configuration: OperatorConfiguration
    origins: dict[Key, str]
    unknown: tuple[str, ...] = ()

    def origin(self, key: Key) -> str:
        """Returns where a value came from: a flag, an environment variable, a line of the file, or `default`."""
        return self.origins.get(key, "default")


def load_configuration(
    source: str | Source | None,
    environment: Mapping[str, str],
    flags: Mapping[Key, tuple[str, Any]] | None = None,
    *,
    lenient: bool = False,
) -> EffectiveConfiguration:
    """Reads all sources of configuration; `source` is a file, or its text, and `flags` maps keys to the flag's name and its value.

    Without a file nothing is required, so that defaults and environment can be used on their own. `lenient` passes over unknown keys,
    which a newer operator may have. Raises: UsageError that names all errors with their places.
    """
    document = _document(source) if source is not None else None
    data: dict[str, Any] = drop_absent_values(document.data) if document is not None else {}
    origins = {} if document is None else _of_file(document, data)
    if lookup(data, ("operator", "namespace")) is MISSING and (namespace := config.find_own_namespace(environment)):
        _put(data, origins, ("operator", "namespace"), namespace, "the service account")
    for variable in VARIABLES:
        if text := environment.get(variable.name, ""):
            _put(data, origins, variable.key, variable.parse(text), f"environment {variable.name}")
    for key, (flag, value) in (flags or {}).items():
        _put(data, origins, key, value, f"flag {flag}")
    configuration, problems = validate_configuration(data, complete=document is not None)
    unknown = tuple(_format_problem(problem, document, origins) for problem in problems if problem.known) if lenient else ()
    lines = [_format_problem(problem, document, origins) for problem in problems if not (lenient and problem.known)]
    if not is_semver(configuration.operator.version):
        prefix = _format_origin(("operator", "version"), document, origins)
        lines.append(f'{prefix}operator.version: must be a semantic version such as 1.2.0, got "{configuration.operator.version}"')
    if lines:
        what = f"{document.source.name if document is not None else 'the configuration'} can't be used"
        newer = not lenient and any(problem.known for problem in problems)
        hint = ["unknown keys of a newer operator are ignored with --lenient-config"] if newer else []
        raise UsageError("\n  ".join([f"{what}; {len(lines)} thing{'s' * (len(lines) > 1)} to change:", *lines, *hint]))
    return EffectiveConfiguration(configuration, origins, unknown)


def _document(source: str | Source) -> Document:
    file = source if isinstance(source, str) else source.name
    try:
        documents = load_documents(load_text(file) if isinstance(source, str) else source.text, file)
    except InputError as error:
        raise UsageError(f"--config {error}") from None
    if len(documents) != 1 or not isinstance(documents[0].data, dict):
        raise UsageError(f"--config {file}: must be one OperatorConfiguration, a mapping")
    return documents[0]


def _of_file(document: Document, data: Any, above: Key = ()) -> dict[Key, str]:
    """The origin of every value that the file gives."""
    origins: dict[Key, str] = {}
    for key, value in data.items():
        path = (*above, str(key))
        if isinstance(value, dict):
            origins |= _of_file(document, value, path)
        else:
            origins[path] = f"{document.source.name}:{document.position(path).line}"
    return origins


def _put(data: dict[str, Any], origins: dict[Key, str], key: Key, value: Any, origin: str) -> None:
    """Lays one value over those of lower precedence; a file that holds no mapping on the way is reported, not overruled."""
    for part in key[:-1]:
        inner = data.setdefault(part, {})
        if not isinstance(inner, dict):
            return
        data = inner
    data[key[-1]] = value
    origins[key] = origin


def _format_origin(path: Path, document: Document | None, origins: dict[Key, str]) -> str:
    """Formats where a wrong value was written, as the start of its line."""
    origin = origins.get(tuple(map(str, path)))
    if origin is None and document is not None:
        origin = f"{document.source.name}:{document.position(path).line}"
    return f"{origin}: " if origin is not None else ""


def _format_problem(problem: Problem, document: Document | None, origins: dict[Key, str]) -> str:
    text = problem.text
    if problem.known:
        meant = f"; it belongs at {problem.elsewhere[0]}" if problem.elsewhere else did_you_mean(str(problem.path[-1]), problem.known)
        text += meant or f"; known here: {', '.join(problem.known)}"
    return f"{_format_origin(problem.path, document, origins)}{shorten(format_path(problem.path), 200)}: {text}"
