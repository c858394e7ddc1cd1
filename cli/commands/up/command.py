"""The command `up`: flags, and which address of this machine the API server is to call."""

import asyncio
import socket
from typing import Annotated, Final, NamedTuple
from urllib.parse import urlsplit

from ....api.line import DEFAULT_LINE, Line
from ....kube.errors import ApiError, UnavailableError
from ....webhooks.sockets import Address
from ...console import flags
from ...console.exits import OK, REFUSED, UNREACHABLE
from ...console.options import option, switch
from ...console.output import write_stderr
from ...daemon.listening import parse_address

HELP: Final = "try the operator: run server and reconciler for a cluster until Ctrl-C, then remove everything"
_ELSEWHERE: Final = "192.0.2.1"  # an address of no machine; packets to others leave this machine by the same route


class Options(NamedTuple):
    """Flags and arguments."""

    kubeconfig: flags.Kubeconfig = ""
    address: Annotated[str | None, option("address of this machine that the API server reaches (default: detected)", "HOST:PORT")] = None
    line: Annotated[Line | None, flags.release(f"operator release (default {DEFAULT_LINE})")] = None
    clean: Annotated[bool, switch("only remove what a killed run left behind")] = False


def run(options: Options) -> int:
    """Runs until a signal, then removes all that it made; 0, 1 when the cluster refuses, 6 when it can't be reached. Raises: UsageError."""
    from .cluster import RefusedError, claim_cluster, remove_ours
    from .trial import run_trial

    try:
        if options.clean:
            write_stderr(asyncio.run(remove_ours(options.kubeconfig, of_killed=True)))
            return OK
        server, user = asyncio.run(claim_cluster(options.kubeconfig))
        where = parse_address("--address", options.address, *_towards(urlsplit(server).hostname or ""))
        return run_trial(options.kubeconfig, user, where, options.line or DEFAULT_LINE, _towards(_ELSEWHERE).host)
    except RefusedError as error:
        write_stderr(str(error))
        return REFUSED
    except ApiError as error:
        write_stderr(error.message)
        return UNREACHABLE if isinstance(error, UnavailableError) else REFUSED


def _towards(host: str) -> Address:
    """The address from which this machine speaks to a host, with any port. Sends nothing: UDP has no connections."""
    try:
        family, kind, _, _, target = socket.getaddrinfo(host, 443, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as sock:
            sock.connect(target)
            return Address(str(sock.getsockname()[0]), 0)
    except OSError:  # no such host, or no way there
        return Address("127.0.0.1", 0)
