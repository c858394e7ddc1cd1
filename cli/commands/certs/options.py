"""The flags of `certs`."""

from typing import Annotated, NamedTuple

from ...console import flags
from ...console.options import argument, option, switch


class Options(NamedTuple):
    """Flags and arguments."""

    action: Annotated[
        str,
        argument(
            "inspect: show everything; issue: a new certificate now; rotate: ask the provisioner for a new CA; "
            "inject: write the caBundle into all objects that lack it",
            choices=("inspect", "issue", "rotate", "inject"),
        ),
    ]
    config: flags.Config = None
    lenient_config: flags.LenientConfig = False
    kubeconfig: flags.Kubeconfig = ""
    context: flags.Context = ""
    namespace: Annotated[str | None, option("namespace of the installation (default: the pod's, else dynamo-system)", "NS")] = None
    secret: Annotated[str | None, option("serving Secret (default webhook-server-cert)", "NAME")] = None
    service: Annotated[str | None, option("Service of the webhooks (default dynamo-webhooks)", "NAME")] = None
    compromised: Annotated[bool, switch("rotate: the CA's key was disclosed, so don't wait")] = False
    dry_run: Annotated[bool, switch("print what would be done, and write nothing")] = False
    output: Annotated[str, flags.output("text", "json", text="inspect: the format")] = "text"
