"""The flags of the processes that run until they are stopped."""

from typing import Annotated, NamedTuple, NoReturn

from ...api.operator.server import ONE_PROCESS
from ..console import flags
from ..console.options import HIDDEN, FlagError, option, switch

_ProbeListen = Annotated[str | None, option("address of /healthz and /readyz (default :8081)", "HOST:PORT")]
_MetricsListen = Annotated[str | None, option("address of /metrics (default :8080)", "HOST:PORT")]


class DaemonOptions(NamedTuple):
    """Flags of processes that need a configuration and a cluster."""

    config: Annotated[str, option("OperatorConfiguration, YAML or JSON", "FILE", required=True)]
    lenient_config: flags.LenientConfig = False
    kubeconfig: flags.Kubeconfig = ""
    probe_listen: _ProbeListen = None
    metrics_listen: _MetricsListen = None


def _removed(_value: str) -> NoReturn:
    raise FlagError(ONE_PROCESS)


class ServerOptions(NamedTuple):
    """Flags of the webhook server, which needs neither."""

    config: flags.Config = None
    lenient_config: flags.LenientConfig = False
    listen: Annotated[str | None, option("address of the webhooks, with TLS (default 0.0.0.0:9443)", "HOST:PORT")] = None
    probe_listen: _ProbeListen = None
    metrics_listen: _MetricsListen = None
    self_signed: Annotated[bool, switch("make a certificate for this machine in --cert-dir if it has none")] = False
    cert_dir: Annotated[str | None, option("directory of tls.crt and tls.key, the only source; reloaded on changes", "DIR")] = None
    no_cluster: Annotated[bool, switch("take facts only from files")] = False
    kubeconfig: Annotated[str | None, flags.KUBECONFIG] = None
    facts: Annotated[str | None, option("facts that override configuration and cluster, YAML or JSON", "FILE")] = None
    operator_version: Annotated[str | None, option("operator version to write into new objects", "VERSION")] = None
    dgdr_default_image: Annotated[
        str | None, option("since 1.4: image of requests without one (default: from --operator-version)", "IMAGE")
    ] = None
    workers: Annotated[None, option(HIDDEN, type=_removed)] = None
    drain_lag: Annotated[
        float | None, option("accept connections for so long after SIGTERM (default 0; with --config 15)", "SECONDS", type=float)
    ] = None
