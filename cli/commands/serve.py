"""`serve`: the webhook server. Flags become a plan here; serving is the business of the room `webhooks`."""

import os
from pathlib import Path
from typing import Any, Final

from ...api.line import DEFAULT_LINE
from ...api.operator.configuration import OperatorConfiguration
from ...policies.facts import facts_from
from ..console.exits import BUG, OK, UsageError
from ..console.output import write_stderr
from ..daemon import listening
from ..daemon.options import ServerOptions

HELP: Final = "run the webhook server"
# facts assumed with --self-signed, unless given: everything switched on, cluster-wide.
# A server with given certificates assumes none: facts that are not given are unknown
DEFAULT_FACTS: Final[dict[str, Any]] = {
    "operatorScope": "cluster",
    "operatorVersion": f"{DEFAULT_LINE}.0",
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
    "lpx": True,
    "switchedOff": [],
}


Options = ServerOptions


def run(options: ServerOptions) -> int:
    """Serves until SIGTERM or SIGINT; 0 after a graceful drain, 70 where no long request could be answered any more. Raises: UsageError."""
    listening.end_on_sigterm()
    from ...webhooks import process
    from ..daemon import server

    settings = server.read_settings(options, os.environ)
    listen = listening.parse_address("--listen", options.listen, settings.server.webhook.host, settings.server.webhook.port)
    beside = listening.parse_listeners(options, settings)
    stated = _read_stated_facts(options, settings)
    write_stderr(f"operator {facts_from(stated).line}: its fields, rules and defaults apply")
    directory, authority = _certificates(options, settings, listen.host)
    listen, sock = listening.bind_socket("--listen", listen)
    side = process.SideListeners(*beside, directory if settings.server.metrics.secure else None)
    write_stderr(f"ca {authority}" if authority else f"certificates {directory}")
    plan = server.make_plan(options, settings, stated, directory)
    return OK if process.serve(plan, sock, side, lambda: write_stderr(f"ready https://{listen}")) else BUG


def _read_stated_facts(options: ServerOptions, settings: OperatorConfiguration) -> dict[str, Any]:
    """The facts that files and flags give, which override the cluster's; reports facts that none gives."""
    from ..daemon import server
    from ..facts.load import describe_consequences

    watching = server.watches_cluster(options, os.environ)
    if not options.no_cluster and not watching:
        write_stderr("no cluster is known, and there is no --config: facts come from the file alone")
    if options.facts is None and options.config is None and options.self_signed and not watching:
        facts = DEFAULT_FACTS | server.read_stated_facts(options, settings)
        write_stderr("no --facts given; taken for granted: " + ", ".join(f"{key}={_printed(value)}" for key, value in facts.items()))
        return facts
    stated = server.read_stated_facts(options, settings)
    if not watching:
        for line in describe_consequences(facts_from(stated)):
            write_stderr(line)
    return stated


def _certificates(options: ServerOptions, settings: OperatorConfiguration, host: str) -> tuple[Path, Path | None]:
    """The directory of the pair, and the authority to trust when the pair is our own."""
    if not options.self_signed:
        if not settings.server.webhook.cert_dir:
            raise UsageError("--cert-dir: must name the directory of tls.crt and tls.key, or give --self-signed")
        return Path(settings.server.webhook.cert_dir), None
    from datetime import UTC, datetime

    from ...certs.files import PairError, local_names, store_self_signed

    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    directory = Path(options.cert_dir or Path(state, "dynamo-webhooks", "certs"))
    try:
        return directory, store_self_signed(directory, local_names(host), datetime.now(UTC))
    except PairError as error:
        raise UsageError(f"--cert-dir: {error}") from None
    except OSError as error:
        raise UsageError(f"--cert-dir {directory}: {error.strerror or type(error).__name__}") from None


def _printed(value: object) -> str:
    words = {True: "true", False: "false"}
    return words[value] if isinstance(value, bool) else str(value) if value else "none"
