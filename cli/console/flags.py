"""Flags that several commands have, each with the same help and refusals."""

from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

from ...api.line import DEFAULT_LINE, Line
from .exits import UsageError
from .kubernetes import OLDEST_MINOR, read_minor
from .options import Flag, FlagError, argument, option, repeatable, switch

Paths = Annotated[tuple[str, ...], argument("files, folders, globs, or - for standard input", "PATH", nargs="*")]
Exclude = Annotated[tuple[str, ...], repeatable("files to leave out; repeatable", "GLOB")]
AllowEmpty = Annotated[bool, switch("for hooks: accept no Dynamo object, and unreadable files that do not contain nvidia.com")]
AllowNone = Annotated[bool, switch("accept no Dynamo object", "--allow-empty")]
RequireFacts = Annotated[bool, switch("exit code 5 if something could not be evaluated")]
User = Annotated[str, option("user name of the request", "--as", "USER")]
Config = Annotated[str | None, option("OperatorConfiguration, YAML or JSON; flags override it", "FILE")]
LenientConfig = Annotated[bool, switch("warn about unknown keys in the configuration instead of refusing it")]
TRACEBACKS: Final = "show tracebacks of internal errors"
KUBECONFIG: Final = option("kubeconfig file (default: KUBECONFIG, or the pod's service account)", "FILE")
Kubeconfig = Annotated[str, KUBECONFIG]
Context = Annotated[str, option("context of the kubeconfig", "NAME")]
ClusterKubeconfig = Annotated[str, option("with --cluster: kubeconfig file (or KUBECONFIG)", "FILE")]
ClusterContext = Annotated[str, option("with --cluster: context of the kubeconfig", "NAME")]
ObjectNamespace = Annotated[
    str,
    option("namespace of objects that name none (else the context's, with --cluster); --cluster lists no other", "-n", "NS"),
]
Verbose = Annotated[bool, switch(TRACEBACKS, "-v")]


def release(text: str) -> Flag:
    """A flag that names an operator release."""
    return option(text, type=_line, choices=tuple(Line))


def _line(word: str) -> Line:
    """Reads a line. Raises: FlagError, whose sentence names all lines."""
    if word not in tuple(Line):
        raise FlagError(f"must be one of {', '.join(Line)}, got {word}")
    return Line(word)


def _minor(word: str) -> int:
    """Reads a release of Kubernetes. Raises: FlagError."""
    try:
        return read_minor(word)
    except ValueError as error:
        raise FlagError(str(error)) from None


Kubernetes = Annotated[
    int | None,
    option(f"oldest Kubernetes that must accept your policies (default: the project file's, else 1.{OLDEST_MINOR})", "1.N", type=_minor),
]


class FactFlags(NamedTuple):
    """Flags that give facts about the cluster and the operator."""

    line: Annotated[Line | None, release(f"operator release (default: from the facts, else {DEFAULT_LINE})")] = None
    file: Annotated[str | None, option("facts about the cluster and the operator, YAML", "--facts", "FILE")] = None
    set_fact: Annotated[tuple[str, ...], repeatable("one fact, such as grove=true; overrides the file; repeatable", "NAME=VALUE")] = ()


def output(*forms: str, text: str = "format (default %(default)s)") -> Flag:
    """`-o`, which chooses one of several formats."""
    return option(text, "-o", choices=forms)


def need_paths(paths: Sequence[str], more: str = "") -> None:
    """Raises: UsageError where there are none."""
    if not paths:
        raise UsageError(f"name at least one file, folder or glob, or - for standard input{more}")


def need_cluster(aim: str, *, cluster: bool, **given: str) -> None:
    """Raises: UsageError for flags that say which cluster without `--cluster`; `aim` is what that is for."""
    word = next((flag for flag, value in given.items() if value), "")
    if word and not cluster:
        raise UsageError(f"--{word} is for --cluster: add it to {aim}")
