"""The command `completion`: a script that lets a shell complete commands, flags, rules, kinds and facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.cli import flags

if TYPE_CHECKING:
    import argparse

HELP: Final = "print a completion script for a shell, or for kubectl's plugin"
SHELLS: Final = ("bash", "zsh", "fish", "kubectl")
_EPILOG: Final = "kubectl: for `kubectl dynamo`; store it on the PATH as kubectl_complete-dynamo, executable"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the argument."""
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the script; the same for every machine."""
    import importlib

    from dynamo_webhooks.cli.exits import OK
    from dynamo_webhooks.cli.output import write

    where = "bash" if arguments.shell == "kubectl" else arguments.shell
    script = getattr(importlib.import_module(f"dynamo_webhooks.cli.completion.{where}"), arguments.shell)
    write(script())
    return OK
