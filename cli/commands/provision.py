"""`provision`: the certificate provisioner. Flags and configuration become an installation here; the work is the room `certs`'s."""

import asyncio
import os
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from ...api.operator.configuration import OperatorConfiguration
from ..console.exits import OK, REFUSED, UNREACHABLE, UsageError
from ..console.options import switch
from ..console.output import write_stderr
from ..daemon import listening
from ..daemon.options import DaemonOptions

if TYPE_CHECKING:
    from ...certs.installation import Installation
    from ..daemon.provisioner import ProvisionerTimings

HELP: Final = "make and renew certificates, and write caBundles"


class Options(NamedTuple):
    """Flags and arguments."""

    daemon: DaemonOptions = DaemonOptions("")
    once: Annotated[bool, switch("run once; exit code 1 if not everything is ready")] = False


def run(options: Options) -> int:
    """Provisions until SIGTERM or SIGINT; with `--once` until there is nothing to do but to wait. Raises: UsageError."""
    listening.end_on_sigterm()
    from ...certs.installation import installation
    from ..daemon import provisioner

    settings = settings_of(options.daemon)
    about = installation(settings)
    if options.once:
        from ...kube.errors import ApiError

        with listening.set_up_logging(settings):
            try:
                reason = asyncio.run(provisioner.run_once(about, options.daemon.kubeconfig))
            except ApiError as error:
                write_stderr(error.message)
                return UNREACHABLE
        write_stderr(f"not ready: {reason}" if reason else "ready")
        return REFUSED if reason else OK
    return serve(options.daemon, settings, about)


def serve(options: DaemonOptions, settings: OperatorConfiguration, about: "Installation", pace: "ProvisionerTimings | None" = None) -> int:
    """Provision until stopped; tests use a quicker pace."""
    from ..daemon import provisioner
    from ..daemon.run import SideListeners

    side = SideListeners(*listening.parse_listeners(options, settings), settings.server.metrics.secure)
    with listening.set_up_logging(settings):
        asyncio.run(provisioner.serve(about, options.kubeconfig, side, pace))
    return OK


def settings_of(options: DaemonOptions) -> OperatorConfiguration:
    """The settings in effect. Raises: UsageError when it isn't known where we are, or what the configuration says is wrong."""
    settings = listening.load_settings(options.config, os.environ, lenient=options.lenient_config)
    if not settings.operator.namespace:
        raise UsageError("operator.namespace: must name the namespace of the installation; outside a pod set it, or POD_NAMESPACE")
    return settings
