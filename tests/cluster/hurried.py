"""`dynamo-webhooks provision` with times that no configuration allows, so that a rotation takes seconds; nothing else is different."""

import json
import sys
from dataclasses import replace
from datetime import timedelta

from dynamo_webhooks.certs.installation import installation
from dynamo_webhooks.certs.state import Timings
from dynamo_webhooks.cli.commands import provision
from dynamo_webhooks.cli.console.parser import Parser
from dynamo_webhooks.cli.daemon.provisioner import ProvisionerTimings
from dynamo_webhooks.kube.lease import Timings as LeaseTimings


def main() -> int:
    """As the command, with one flag more: timings as JSON, in seconds."""
    _, times, *words = sys.argv[1:]  # begins with --timings
    options = Parser("provision", provision).options(words).daemon
    settings = provision.settings_of(options)
    timings = Timings(**{name: timedelta(seconds=seconds) for name, seconds in json.loads(times).items()})
    pace = ProvisionerTimings(apart=1.0, lease=LeaseTimings(duration=5, deadline=4, retry=0.5))
    return provision.serve(options, settings, replace(installation(settings), timings=timings), pace)


if __name__ == "__main__":
    sys.exit(main())
