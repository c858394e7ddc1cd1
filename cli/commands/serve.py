"""`serve`: the webhook server. Flags become a plan here; serving is the business of the room `webhooks`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.exits import UsageError
from cli.output import say

if TYPE_CHECKING:
    import argparse
    import socket

    from policies.facts import Facts
    from webhooks.process import Plain, Plan
    from webhooks.sockets import Address

HELP: Final = "run the webhook server"
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
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add = parser.add_argument
    add("--listen", metavar="HOST:PORT", default="0.0.0.0:9443", help="where webhooks are served, over TLS (default %(default)s)")
    add("--probe-listen", metavar="HOST:PORT", default=":8081", help="where /healthz and /readyz are served (default %(default)s)")
    add("--metrics-listen", metavar="HOST:PORT", default=":8080", help="where /metrics is served (default %(default)s)")
    add("--self-signed", action="store_true", help="make a certificate for this machine in the certificate directory when it holds none")
    add("--cert-dir", metavar="DIR", help="holds tls.crt and tls.key; reloaded when their content changes")
    add("--no-cluster", action="store_true", help="take facts from the file alone")
    add("--facts", metavar="FILE", help="facts that decisions depend on, YAML or JSON")
    add("--profile", choices=("current", "1.2"), default="current", help="which verdicts (default %(default)s)")
    add("--workers", metavar="N", type=int, default=os.cpu_count() or 1, help="processes (default: the number of CPUs)")
    add("--drain-lag", metavar="SECONDS", type=float, default=0.0, help="keep accepting for so long after SIGTERM (default %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; 0 after a graceful drain.

    Raises: UsageError for a configuration that can't be served, with the flag or key.
    """
    from webhooks import process, workers

    if args.workers < 1:
        raise UsageError(f"--workers: must be at least 1, got {args.workers}")
    if not args.drain_lag >= 0:
        raise UsageError(f"--drain-lag: must not be negative, got {args.drain_lag:g}")
    listen, probes, metrics = (_address(args, name) for name in ("listen", "probe_listen", "metrics_listen"))
    facts = _facts(args)
    directory, authority = _certificates(args, listen.host)
    listen, sockets = _bind("--listen", listen, args.workers)
    plain = _plain(probes, metrics)
    say(f"ca {authority}" if authority else f"certificates {directory}")

    def ready() -> None:
        say(f"ready https://{listen}")

    plan = _plan(args, facts, directory)
    if args.workers == 1:
        process.run(process.serve_alone(plan, sockets, plain, ready))
    else:
        workers.supervise(plan, sockets, plain, ready)
    return 0


def _plan(args: argparse.Namespace, facts: Facts, directory: Path) -> Plan:
    from webhooks.admission import Settings
    from webhooks.limits import Limits
    from webhooks.process import Plan

    return Plan(Settings(facts, args.profile), directory, Limits(), args.drain_lag)


def _facts(args: argparse.Namespace) -> Facts:
    from cli.facts import consequences, load_facts
    from policies.facts import facts_from

    if not args.no_cluster:
        say("facts come from the file alone: watching a cluster for them is not implemented yet")
    if args.facts is None and args.self_signed:
        say("no --facts given; taken for granted: " + ", ".join(f"{key}={_printed(value)}" for key, value in DEFAULT_FACTS.items()))
        return facts_from(DEFAULT_FACTS)
    facts = load_facts(args.facts, [])
    for line in consequences(facts, args.profile):
        say(line)
    return facts


def _certificates(args: argparse.Namespace, host: str) -> tuple[Path, Path | None]:
    """The directory of the pair, and the authority to trust when the pair is our own."""
    if not args.self_signed:
        if args.cert_dir is None:
            raise UsageError("--cert-dir: must name the directory of tls.crt and tls.key, or give --self-signed")
        return Path(args.cert_dir), None
    from datetime import UTC, datetime

    from certs.files import PairError, local_names, store_self_signed

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


def _address(args: argparse.Namespace, name: str) -> Address:
    from webhooks.sockets import AddressError, parse

    flag = "--" + name.replace("_", "-")
    try:
        return parse(getattr(args, name))
    except AddressError as error:
        raise UsageError(f"{flag}: {error}") from None


def _bind(flag: str, address: Address, copies: int = 1) -> tuple[Address, list[socket.socket]]:
    from webhooks.sockets import AddressError, bind

    try:
        return bind(address, copies)
    except AddressError as error:
        raise UsageError(f"{flag}: {error}") from None


def _plain(probes: Address, metrics: Address) -> Plain:
    from webhooks.process import Plain

    bound, [probe_socket] = _bind("--probe-listen", probes)
    say(f"probes http://{bound}")
    if metrics == probes and metrics.port:
        say(f"metrics http://{bound}")
        return Plain(probe_socket, probe_socket)
    bound, [metrics_socket] = _bind("--metrics-listen", metrics)
    say(f"metrics http://{bound}")
    return Plain(probe_socket, metrics_socket)


def _printed(value: object) -> str:
    words = {True: "true", False: "false"}
    return words[value] if isinstance(value, bool) else str(value) if value else "none"
