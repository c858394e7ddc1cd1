"""The command `policy`: its flags, and what each of its actions prints."""

import argparse
import os
from typing import Final

from ...console import flags
from ...console.exits import OK, UsageError
from ...console.output import write_stderr
from ...files.read import load_text
from ...files.write import store

HELP: Final = "write, test and collect rules of your own, in Kubernetes' policy language"
FOLDER: Final = f"{os.path.dirname(os.path.abspath(__file__))}/examples"  # noqa: PTH100, PTH120 - pathlib takes longer to import
EXAMPLES: Final = ("claims-exist", "gpu-budget", "images-allowed", "lora-base-served", "pod-security", "replica-limit")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add = parser.add_argument
    what = (
        "new: write NAME.yaml and its cases; test: run the cases of files, of folders, or of all of rules-from; "
        "from-cluster: print the cluster's policies about Dynamo's kinds"
    )
    add("action", choices=("new", "test", "from-cluster"), help=what)
    add("words", nargs="*", metavar="WORD", help="new: the name; test: files with policies or cases, or folders")
    add(
        "--example",
        choices=EXAMPLES,
        metavar="EXAMPLE",
        default="replica-limit",
        help=f"new: the example to start from: {', '.join(EXAMPLES)} (default %(default)s)",
    )
    add("-d", "--directory", metavar="DIR", default=".", help="new: where to write (default: here)")
    flags.kubeconfig(parser)
    add("--context", metavar="NAME", default="", help="from-cluster: context of the kubeconfig")
    flags.project(parser, clusters=False)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Does one thing. Raises: UsageError for words that mean nothing, and policies that can't be used."""
    if arguments.action == "new":
        return _new(arguments)
    from .actions import print_policies, test_policies

    return test_policies(arguments) if arguments.action == "test" else print_policies(arguments)


def _new(arguments: argparse.Namespace) -> int:
    from ....admission.userrules.policy import PolicyError
    from ....admission.userrules.read import name_of

    if len(arguments.words) != 1:
        raise UsageError("policy new takes one name, such as few-replicas")
    name, folder = arguments.words[0], arguments.directory
    texts = {}
    for suffix in (".yaml", ".cases.yaml"):
        file = f"{folder}/{name}{suffix}"
        if os.path.lexists(file):
            raise UsageError(f"{file}: must be a new file; remove it, or choose another name")
        text = load_text(f"{FOLDER}/{arguments.example}{suffix}")
        texts[f"{name}{suffix}"] = text.replace(f"name: {arguments.example}\n", f"name: {name}\n")
    try:
        name_of({"metadata": {"name": name}})
    except PolicyError as error:
        raise UsageError(f"policy new: the name {error.text}") from None
    for file, text in texts.items():
        store(folder, file, text)
        write_stderr(f"{folder}/{file}: written")
    write_stderr(f"run its cases with dynamo-webhooks policy test {folder}/{name}.yaml, and name the folder in rules-from")
    return OK
