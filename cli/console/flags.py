"""Flags that several commands declare and refuse, each in the same words."""

import argparse
from collections.abc import Sequence
from typing import Final

from ...api.line import NEWEST, Line
from .exits import UsageError

ALLOW_EMPTY: Final = "for hooks: accept no Dynamo object, and unreadable files that do not contain nvidia.com"


def verbose(parser: argparse._ActionsContainer, more: str = "") -> None:
    """Declares `-v`, which every command takes: the sentence about a bug advises it. `more` is what else it does."""
    parser.add_argument("-v", "--verbose", action="store_true", help=f"{more}show tracebacks of internal errors")


def paths(parser: argparse._ActionsContainer) -> None:
    """Declares the files that a command reads, and those to leave out."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, folders, globs, or - for standard input")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="files to leave out; repeatable")


def project(parser: argparse._ActionsContainer, *, clusters: bool = True) -> None:
    """Declares that no project file is read, and which of its clusters files are for."""
    parser.add_argument("--no-project", action="store_true", help="read no .dynamo-webhooks.yaml")
    if clusters:
        parser.add_argument("--facts-of", metavar="CLUSTER", help="check all input for this cluster of the project file")


def configuration(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Declares `--config`: a file that other flags win over, or without which nothing can be done."""
    more = "" if required else "; flags override it"
    parser.add_argument("--config", metavar="FILE", required=required, help=f"OperatorConfiguration, YAML or JSON{more}")
    lenient(parser)


def lenient(parser: argparse.ArgumentParser) -> None:
    """Declares what makes warnings of keys that only a newer operator knows."""
    parser.add_argument("--lenient-config", action="store_true", help="warn about unknown keys in the configuration instead of refusing it")


def kubeconfig(parser: argparse.ArgumentParser, *, absent: str | None = "") -> None:
    """Declares `--kubeconfig`; `absent` is its value when it isn't given, for commands that ask whether it was."""
    text = "kubeconfig file (default: KUBECONFIG, or the pod's service account)"
    parser.add_argument("--kubeconfig", metavar="FILE", default=absent, help=text)


def cluster(parser: argparse._ActionsContainer, text: str) -> None:
    """Declares `--cluster`, and which cluster and objects it means."""
    parser.add_argument("--cluster", action="store_true", help=text)
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NS",
        default="",
        help="namespace of objects that name none (else the context's, with --cluster); --cluster lists no other",
    )
    parser.add_argument("--kubeconfig", metavar="FILE", default="", help="with --cluster: kubeconfig file (or KUBECONFIG)")
    parser.add_argument("--context", metavar="NAME", default="", help="with --cluster: context of the kubeconfig")


def need_cluster(arguments: argparse.Namespace, aim: str, given: Sequence[str] = ("kubeconfig", "context")) -> None:
    """Raises: UsageError for flags that say which cluster without `--cluster`; `aim` is what that is for."""
    word = next((flag for flag in given if getattr(arguments, flag)), "")
    if word and not arguments.cluster:
        raise UsageError(f"--{word} is for --cluster: add it to {aim}")


def side_listeners(parser: argparse.ArgumentParser) -> None:
    """Declares the addresses of probes and metrics."""
    parser.add_argument("--probe-listen", metavar="HOST:PORT", help="address of /healthz and /readyz (default :8081)")
    parser.add_argument("--metrics-listen", metavar="HOST:PORT", help="address of /metrics (default :8080)")


def line(parser: argparse.ArgumentParser, text: str) -> None:
    """Declares `--line`."""
    parser.add_argument("--line", type=_line, choices=tuple(Line), help=text)


def upgrade(parser: argparse._ActionsContainer, text: str) -> None:
    """Declares `--upgrade-to`."""
    parser.add_argument("--upgrade-to", type=_line, choices=tuple(Line), help=text)


def _line(word: str) -> Line:
    """Reads a line. Raises: ArgumentTypeError, whose sentence names all lines."""
    if word not in tuple(Line):
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(Line)}, got {word}")
    return Line(word)


def facts(parser: argparse.ArgumentParser) -> None:
    """Adds `--line`, `--facts` and `--set-fact`."""
    line(parser, f"operator release (default: from the facts, else {NEWEST})")
    parser.add_argument("--facts", metavar="FILE", help="facts about the cluster and the operator, YAML")
    parser.add_argument(
        "--set-fact", action="append", default=[], metavar="NAME=VALUE", help="one fact, such as grove=true; overrides the file; repeatable"
    )
