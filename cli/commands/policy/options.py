"""The flags of `policy`."""

from typing import Annotated, Final, NamedTuple

from ...console import flags
from ...console.options import argument, option
from ...project.options import ProjectOptions

EXAMPLES: Final = ("claims-exist", "gpu-budget", "images-allowed", "lora-base-served", "pod-security", "replica-limit")


class Options(NamedTuple):
    """Flags and arguments."""

    action: Annotated[
        str,
        argument(
            "new: write NAME.yaml and its cases; test: run the cases of files, of folders, or of all of rules-from; "
            "from-cluster: print the cluster's policies about Dynamo's kinds",
            choices=("new", "test", "from-cluster"),
        ),
    ]
    words: Annotated[tuple[str, ...], argument("new: the name; test: files with policies or cases, or folders", "WORD", nargs="*")] = ()
    example: Annotated[
        str,
        option(f"new: the example to start from: {', '.join(EXAMPLES)} (default %(default)s)", "EXAMPLE", choices=EXAMPLES),
    ] = "replica-limit"
    directory: Annotated[str, option("new: where to write (default: here)", "-d", "DIR")] = "."
    kubeconfig: flags.Kubeconfig = ""
    context: Annotated[str, option("from-cluster: context of the kubeconfig", "NAME")] = ""
    kubernetes: flags.Kubernetes = None
    project: ProjectOptions = ProjectOptions()
    verbose: flags.Verbose = False
