"""Selects the objects of a run of `check`, and their stored state, by the flags of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...console import flags
from ...console.exits import UsageError
from ...files.find import read_file_list
from ...files.read import STDIN
from ...project.apply import input_files
from ...validation.levels import STRICT, WARN
from ...yaml.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ....policies.facts import Facts
    from ...objects.cluster_snapshot import Sight
    from ...objects.stored import StoredObjects
    from ...yaml.load import Source
    from ...yaml.substitute import Fill


class Inputs(NamedTuple):
    """What to check (files as they are to be shown, texts that are no files, or why one can't be read), and what belongs to it."""

    files: list[str | Source | InputError]
    old: StoredObjects | None  # the stored objects of updates
    fill: Fill | None  # values for placeholders
    sight: Sight | None  # of the cluster, where one was asked for

    def add_facts(self, known: Facts) -> Facts:
        """The facts, and those of the live cluster that are unknown otherwise."""
        return known if self.sight is None else self.sight.fill(known)

    @property
    def usual_validation(self) -> str:
        """What becomes of unknown fields: kubectl refuses them in files; what a cluster holds was accepted."""
        return STRICT if self.sight is None or self.old is not None else WARN


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    inputs = parser.add_argument_group("inputs")
    flags.paths(inputs)
    inputs.add_argument("--stdin-name", default="", metavar="NAME", help="name of standard input in reports")
    inputs.add_argument("--files-from", metavar="FILE", help="file of paths, one a line, or - for standard input")
    inputs.add_argument(
        "-k",
        "--kustomize",
        action="append",
        default=[],
        metavar="DIR",
        help="folder to render with kustomize, without fetching; repeatable",
    )
    inputs.add_argument("--helm", action="append", default=[], metavar="DIR", help="chart to render with helm; repeatable")
    inputs.add_argument("--values", action="append", default=[], metavar="FILE", help="with --helm: values file of all charts; repeatable")
    inputs.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of ${NAME} and $(NAME) in files; [...] and {...} are lists and maps; repeatable",
    )
    inputs.add_argument(
        "--env-file",
        action="append",
        default=[],
        metavar="FILE",
        help="file of such values, one NAME=VALUE a line; --set overrides it; repeatable",
    )
    inputs.add_argument("--fix", action="store_true", help="write remedies that need no judgement into the files, then check these")
    inputs.add_argument("--diff", action="store_true", help="with --fix: print the changes, and write nothing")
    flags.cluster(inputs, "judge files as updates of a cluster's objects; without files, check its objects; also reads unknown facts")
    inputs.add_argument("--old", action="append", default=[], metavar="PATH", help="stored objects of an update; repeatable")
    inputs.add_argument("--against", metavar="GIT-REF", help="take stored objects from this Git revision")


def gather_inputs(arguments: argparse.Namespace) -> Inputs:
    """Reads old objects, and what isn't in files. Raises: UsageError for flags that don't go together or say nothing."""
    _agree(arguments)
    paths = [*arguments.paths, *(read_file_list(arguments.files_from) if arguments.files_from else [])]
    _read_once(arguments, paths)
    files: list[str | Source | InputError] = [*input_files(arguments, paths)]
    files += _rendered(arguments)
    fill = None
    if arguments.set or arguments.env_file:
        from ...files.documents import parse_values

        fill = parse_values(arguments.set, arguments.env_file)
    old, sight = _old(arguments, files, fill), None
    if arguments.cluster:
        from ...objects.cluster_snapshot import snapshot_cluster

        sight = snapshot_cluster(arguments.kubeconfig, arguments.context, arguments.namespace)
        if _names_files(arguments):
            from ...objects.cluster_snapshot import Live

            old = Live(sight, arguments.namespace)
        else:
            files = [*sight.files]
    return Inputs(files, old, fill, sight)


def _names_files(arguments: argparse.Namespace) -> bool:
    return bool(arguments.paths or arguments.files_from or arguments.kustomize or arguments.helm)


def _rendered(arguments: argparse.Namespace) -> Iterator[Source | InputError]:
    """What kustomizations and charts render to."""
    if not arguments.kustomize and not arguments.helm:
        return
    from ...console.output import write_stderr
    from ...files import helm, kustomize

    folders = [(folder, kustomize.render_kustomization, kustomize.command(folder)) for folder in dict.fromkeys(arguments.kustomize)]
    folders += [(folder, helm.render_chart, helm.command(folder, arguments.values)) for folder in dict.fromkeys(arguments.helm)]
    for folder, render, words in folders:
        one = render(folder, words)
        if not arguments.quiet and not isinstance(one, InputError):
            write_stderr(f"{one.name}: lines are those that `{' '.join(words)}` prints")
        yield one


def _agree(arguments: argparse.Namespace) -> None:
    """Refuses flags that don't go together."""
    against = arguments.against is not None
    if against and arguments.old:
        raise UsageError("--against and --old both name the stored objects: use one of them")
    if against and arguments.op != "auto":
        raise UsageError(f"--against decides between update and create: leave out --op {arguments.op}")
    if against and arguments.cluster:
        raise UsageError("--against and --cluster both give the stored objects: use one of them")
    if arguments.cluster and _names_files(arguments) and (arguments.old or arguments.op != "auto"):
        raise UsageError(f"--cluster decides which files are updates: leave out {'--old' if arguments.old else f'--op {arguments.op}'}")
    flags.need_cluster(arguments, "check what a cluster holds")
    for flag, folders in (("-k", arguments.kustomize), ("--helm", arguments.helm)):
        if against and folders:
            raise UsageError(f"--against compares files, and what {flag} renders is none: use --old")
    if arguments.values and not arguments.helm:
        raise UsageError("--values is for --helm: name the chart; --set and --env-file fill ${NAME} in files")
    if arguments.op == "update" and not arguments.old:
        raise UsageError("--op update needs --old with the stored objects")
    if not (_names_files(arguments) or arguments.cluster):
        raise UsageError("name at least one file, folder or glob, - for standard input, or --cluster; or paths in .dynamo-webhooks.yaml")


def _read_once(arguments: argparse.Namespace, paths: list[str]) -> None:
    """Refuses a second reader of standard input, which would find nothing."""
    asking = {
        "-": STDIN in paths,
        "--files-from -": arguments.files_from == STDIN,
        "--old -": STDIN in arguments.old,
        "--facts -": arguments.facts == STDIN,
        "--env-file -": STDIN in arguments.env_file,
    }
    readers = [name for name, asks in asking.items() if asks]
    if len(readers) > 1:
        raise UsageError(f"standard input can be read once, and both {readers[0]} and {readers[1]} ask for it")


def _old(arguments: argparse.Namespace, files: list[str | Source | InputError], fill: Fill | None) -> StoredObjects | None:
    if arguments.against is not None:
        from ...objects.stored_in_git import Against

        return Against(arguments.against, [file for file in files if isinstance(file, str)], fill)
    if not arguments.old or arguments.op not in ("auto", "update"):
        return None
    from ...objects.stored import load_stored

    return load_stored(arguments.old, required=arguments.op == "update", fill=fill)
