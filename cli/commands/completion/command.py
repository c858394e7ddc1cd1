"""The command `completion`: a script that lets a shell complete commands, flags, rules, kinds and facts."""

import argparse
import importlib
from typing import Final

from ...console import flags
from ...console.exits import OK
from ...console.output import write_document

HELP: Final = "print a completion script for a shell, or for kubectl's plugin"
SHELLS: Final = ("bash", "zsh", "fish", "kubectl")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the argument."""
    parser.epilog = "kubectl: for `kubectl dynamo`; store it on the PATH as kubectl_complete-dynamo, executable"
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the script; the same for every machine."""
    where = "bash" if arguments.shell == "kubectl" else arguments.shell
    script = getattr(importlib.import_module(f"dynamo_webhooks.cli.commands.completion.{where}"), arguments.shell)
    write_document(script())
    return OK
