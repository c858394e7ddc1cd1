"""Settings for reaching an API server, by a kubeconfig or the files that a pod is given, and who this process is there. Sends nothing."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kubernetes.aio.client import Configuration

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")  # where Kubernetes mounts token, ca.crt and namespace
DEFAULT_NAMESPACE: Final = "default"  # of objects that name none, where nothing else does
_REREAD_SECONDS: Final = 60.0  # of a kubeconfig: its token file or plugin may have a newer token


class ConfigError(Exception):
    """No API server is configured; the message names the missing part."""


async def load_config(
    kubeconfig: str = "",
    context: str = "",
    *,
    environ: Mapping[str, str] = os.environ,
    account: Path = ACCOUNT,
    clock: Callable[[], float] = time.monotonic,
) -> Configuration:
    """The configuration of a connection, from the first of: `kubeconfig`, `KUBECONFIG`, the pod's own files, `~/.kube/config`.

    Tokens are read again while it is used: in a pod they expire hourly. Raises ConfigError.
    """
    files = _files(kubeconfig, context, environ)
    return await _from_files(files, context, clock) if files else _in_pod(environ, account)


def _files(kubeconfig: str, context: str, environ: Mapping[str, str]) -> str:
    """The kubeconfig files that are there, as the `KUBECONFIG` of a shell lists them; empty where the pod's own files are used."""
    named = kubeconfig or environ.get("KUBECONFIG", "")
    if environ.get("KUBERNETES_SERVICE_HOST") and not named and not context:
        return ""
    usual = Path(environ.get("HOME") or "~").expanduser() / ".kube" / "config"
    files = [str(Path(each).expanduser()) for each in (named or str(usual)).split(os.pathsep) if each]
    if any(Path(each).is_file() for each in files):
        return os.pathsep.join(files)
    if named:
        raise ConfigError(f"a kubeconfig must be a file, seen no file {named}; check --kubeconfig and KUBECONFIG")
    raise ConfigError(
        f"no API server is known: neither KUBECONFIG nor KUBERNETES_SERVICE_HOST is set, and there is no {usual}; "
        "name a file with --kubeconfig"
    )


def _in_pod(environ: Mapping[str, str], account: Path) -> Configuration:
    from kubernetes.aio.config import ConfigException, incluster_config

    for name in ("token", "ca.crt"):
        if not (account / name).is_file():
            raise ConfigError(
                f"{account / name} must be there in a pod that speaks to the API server, seen no such file; "
                "set automountServiceAccountToken: true, or name a file with --kubeconfig"
            )
    configuration = _blank()
    try:
        loader: Any = incluster_config.InClusterConfigLoader  # it has no types
        loader(str(account / "token"), str(account / "ca.crt"), environ=environ).load_and_set(configuration)
    except (ConfigException, OSError) as error:
        raise ConfigError(f"the pod's own connection can't be used: {error}") from error
    return configuration


async def _from_files(names: str, context: str, clock: Callable[[], float]) -> Configuration:
    configuration = _blank()
    await _read(names, context, configuration)
    read_at = clock()

    async def again(used: Configuration) -> None:
        nonlocal read_at
        if clock() - read_at >= _REREAD_SECONDS:
            read_at = clock()
            await _read(names, context, used)

    hooked: Any = configuration  # its type says that there can be no hook
    hooked.refresh_api_key_hook = again
    return configuration


async def _read(names: str, context: str, into: Configuration) -> None:
    from kubernetes.aio import config

    logging.getLogger(config.kube_config.__name__).addFilter(_shorten_record)
    read: Any = config.load_kube_config  # it has no types
    with _convert_errors(names):
        await read(names, context or None, client_configuration=into, persist_config=False)


@contextmanager
def _convert_errors(names: str) -> Iterator[None]:
    """Turns errors about kubeconfig files that can't be used into a ConfigError."""
    import yaml
    from kubernetes.aio import config

    try:
        yield
    except (config.ConfigException, OSError, ValueError, TypeError, AttributeError, LookupError, yaml.YAMLError) as error:
        # others may quote a credential
        reason = _shorten(error) if isinstance(error, config.ConfigException | OSError) else type(error).__name__
        raise ConfigError(f"the kubeconfig {names} can't be used: {reason}") from error


def _shorten_record(record: logging.LogRecord) -> bool:
    record.msg = _shorten(record.msg)
    return True


def _shorten(error: object) -> str:
    """The client's words without an entry of the file: it quotes a user's whole one, where something is missing in it."""
    return str(error).partition("/{")[0]


def _blank() -> Configuration:
    from kubernetes.aio.client import Configuration

    configuration = Configuration()
    # Python 3.13 asks of a CA what Go never did (a key identifier, say): clusters with older CAs would be refused.
    configuration.disable_strict_ssl_verification = True
    configuration.retries = None
    return configuration


def find_context_namespace(
    kubeconfig: str = "", context: str = "", *, environ: Mapping[str, str] = os.environ, account: Path = ACCOUNT
) -> str:
    """The namespace of objects that name none, as for kubectl: the context's, in a pod the pod's, else `default`. Raises: ConfigError."""
    files = _files(kubeconfig, context, environ)
    if not files:
        return find_own_namespace(environ, account) or DEFAULT_NAMESPACE
    from kubernetes.aio import config

    listed: Any = config.list_kube_config_contexts  # it has no types
    with _convert_errors(files):
        contexts, current = listed(files)
    chosen = next((each for each in contexts if each["name"] == context), current) if context else current
    configured = (chosen.get("context") or {}).get("namespace")
    return configured if isinstance(configured, str) and configured else DEFAULT_NAMESPACE


def find_own_namespace(environ: Mapping[str, str] = os.environ, account: Path = ACCOUNT) -> str:
    """The namespace of this process: `POD_NAMESPACE`, in a pod else the service account's file; empty outside a cluster."""
    named = environ.get("POD_NAMESPACE", "").strip()
    if named or not environ.get("KUBERNETES_SERVICE_HOST"):  # the kubelet gives every pod this variable, as load_config expects
        return named
    try:
        return (account / "namespace").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def find_replica_name(environ: Mapping[str, str] = os.environ) -> str:
    """The name of this replica: `POD_NAME`, else the host's name, which in a pod is the same."""
    return environ.get("POD_NAME", "").strip() or os.uname().nodename
