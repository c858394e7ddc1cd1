"""The flags of `doctor`."""

from typing import Annotated, NamedTuple

from ....api.line import Line
from ...console import flags
from ...console.options import option, switch


class Options(NamedTuple):
    """Flags and arguments."""

    namespace: Annotated[
        str, option("namespace of the installation (default: the configuration's, else dynamo-system)", "--namespace", "-n", "NS")
    ] = ""
    config: Annotated[str | None, option("OperatorConfiguration with its names (default: the one in the cluster)", "FILE")] = None
    lenient_config: flags.LenientConfig = False
    kubeconfig: flags.Kubeconfig = ""
    context: flags.Context = ""
    print: Annotated[str, option("print an object as this installation has it, to create it again, and check nothing", "KIND/NAME")] = ""
    uninstall_check: Annotated[bool, switch("list what prevents removing the installation, in the order of removal")] = False
    upgrade_to: Annotated[
        Line | None, flags.release("also compare other controllers with those of each operator release up to this one, and list gated pods")
    ] = None
    output: Annotated[str, flags.output("text", "json")] = "text"
