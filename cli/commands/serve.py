"""`serve`: the webhook server. Flags become a plan here; serving is the business of the room `webhooks`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.daemon import listening, server
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.output import say

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.api.operator.settings import ServerSettings

HELP: Final = "run the webhook server"
GRACE_SECONDS: Final = 1.0  # beyond the drain lag, in which workers of a server that crashed hold its port
# what one machine is taken for when it shows itself (--self-signed) and nobody says otherwise: everything switched on, cluster-wide.
# A server with somebody's certificates never guesses: what it isn't told is unknown to it
DEFAULT_FACTS: Final[dict[str, Any]] = {
    "operatorScope": "cluster",
    "operatorVersion": "1.2.0",
    "operatorPrincipal": "",
    "grove": True,
    "inferencePool": True,
    "clusterTopologies": {},
    "gpuDiscovery": True,
    "dra": True,
    "lws": True,
    "istio": False,
    "excludedNamespaces": [],
    "allowGmsSnapshot": False,
    "checkpoint": True,
    "switchedOff": [],
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add = parser.add_argument
    flags.configuration(parser)
    add("--listen", metavar="HOST:PORT", help="address of the webhooks, with TLS (default 0.0.0.0:9443)")
    flags.side_listeners(parser)
    add("--self-signed", action="store_true", help="make a certificate for this machine in --cert-dir if it has none")
    add("--cert-dir", metavar="DIR", help="directory of tls.crt and tls.key, the only source; reloaded on changes")
    add("--no-cluster", action="store_true", help="take facts only from files")
    flags.kubeconfig(parser, absent=None)
    add("--facts", metavar="FILE", help="facts that override configuration and cluster, YAML or JSON")
    add("--operator-version", metavar="VERSION", help="version that objects are stamped with")
    add("--dgdr-default-image", metavar="IMAGE", help="line 1.5: image of deployment requests without one (default by --operator-version)")
    add("--profile", choices=("current", "1.2"), help="set of verdicts (default current)")
    add("--workers", metavar="N", type=int, help="processes (default: the number of CPUs)")
    add("--drain-lag", metavar="SECONDS", type=float, help="seconds to accept connections after SIGTERM (default 0; with --config 15)")
    flags.verbose(parser)


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; 0 after a graceful drain.

    Raises: UsageError for a configuration that can't be served, with the flag or key.
    """
    from dynamo_webhooks.webhooks import pid1

    pid1.step_aside()
    from dynamo_webhooks.webhooks import process, supervisor

    settings = server.settings_for(args, os.environ)
    listen = listening.address("--listen", args.listen, settings.webhook)
    beside = listening.listeners(args, settings)
    told = _told(args, settings)
    directory, authority = _certificates(args, settings, listen.host)
    listen, sockets = listening.bound("--listen", listen, settings.workers, settings.drain_lag and settings.drain_lag + GRACE_SECONDS)
    plain = process.SideListeners(*beside, directory if settings.metrics_secure else None)
    say(f"ca {authority}" if authority else f"certificates {directory}")

    def ready() -> None:
        say(f"ready https://{listen}")

    plan = server.plan_for(args, settings, told, directory)
    if settings.workers == 1:
        process.serve_alone(plan, sockets, plain, ready)
    else:
        supervisor.supervise(plan, sockets, plain, ready)
    return 0


def _told(args: argparse.Namespace, settings: ServerSettings) -> dict[str, Any]:
    """The facts that files and flags state, whatever a cluster says; says what nobody states."""
    from dynamo_webhooks.cli.facts.load import consequences
    from dynamo_webhooks.policies.facts import facts_from

    watching = server.watches(args, os.environ)
    if not args.no_cluster and not watching:
        say("no cluster is known, and there is no --config: facts come from the file alone")
    if args.facts is None and args.config is None and args.self_signed and not watching:
        say("no --facts given; taken for granted: " + ", ".join(f"{key}={_printed(value)}" for key, value in DEFAULT_FACTS.items()))
        return DEFAULT_FACTS | server.told(args, settings)
    told = server.told(args, settings)
    if not watching:
        for line in consequences(facts_from(told), settings.profile):
            say(line)
    return told


def _certificates(args: argparse.Namespace, settings: ServerSettings, host: str) -> tuple[Path, Path | None]:
    """The directory of the pair, and the authority to trust when the pair is our own."""
    if not args.self_signed:
        if not settings.cert_directory:
            raise UsageError("--cert-dir: must name the directory of tls.crt and tls.key, or give --self-signed")
        return Path(settings.cert_directory), None
    from datetime import UTC, datetime

    from dynamo_webhooks.certs.files import PairError, local_names, store_self_signed

    directory = Path(args.cert_dir) if args.cert_dir else _state_directory()
    try:
        return directory, store_self_signed(directory, local_names(host), datetime.now(UTC))
    except PairError as error:
        raise UsageError(f"--cert-dir: {error}") from None
    except OSError as error:
        raise UsageError(f"--cert-dir {directory}: {error.strerror or type(error).__name__}") from None


def _state_directory() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "dynamo-webhooks" / "certs"


def _printed(value: object) -> str:
    words = {True: "true", False: "false"}
    return words[value] if isinstance(value, bool) else str(value) if value else "none"
