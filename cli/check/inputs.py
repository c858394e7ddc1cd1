"""Which objects a run of `check` reads, and what is known of their past: the flags of the inputs, and the files they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.check.sources import find, listed
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.files import STDIN
from dynamo_webhooks.cli.yaml.errors import InputError

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.cli.check.cluster import Sight
    from dynamo_webhooks.cli.check.old import Olds
    from dynamo_webhooks.cli.yaml.fill import Fill
    from dynamo_webhooks.cli.yaml.load import Source


class Inputs(NamedTuple):
    """What to check (files as they are to be shown, texts that are no files, or why one can't be read), and what belongs to it."""

    files: list[str | Source | InputError]
    old: Olds | None  # the stored objects of updates
    fill: Fill | None  # values for placeholders
    sight: Sight | None  # of the cluster, where one was asked for


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
    inputs.add_argument("--diff", action="store_true", help="with --fix: print what it would write, and write nothing")
    inputs.add_argument("--watch", action="store_true", help="go on, and check files again when they change, until Ctrl-C")
    flags.cluster(inputs, "judge files as updates of a cluster's objects; without files, check its objects; also reads unknown facts")
    inputs.add_argument("--old", action="append", default=[], metavar="PATH", help="stored objects of an update; repeatable")
    inputs.add_argument("--against", metavar="GIT-REF", help="take stored objects from this Git revision")


def gather(arguments: argparse.Namespace) -> Inputs:
    """Finds what the flags mean; reads only the old objects and what isn't in files.

    Raises: UsageError for flags that don't go together or say nothing.
    """
    _agree(arguments)
    paths = named(arguments)
    _read_once(arguments, paths)
    files: list[str | Source | InputError] = [*found(arguments, paths)]
    if arguments.kustomize:
        files += _kustomized(arguments.kustomize, quiet=arguments.quiet)
    if arguments.helm:
        files += _templated(arguments)
    fill = _values(arguments)
    old, sight = _old(arguments, files, fill), None
    if arguments.cluster:
        from dynamo_webhooks.cli.check.cluster import look

        sight = look(arguments.kubeconfig, arguments.context, arguments.namespace)
        if _names_files(arguments):
            from dynamo_webhooks.cli.check.live import Live

            old = Live(sight, arguments.namespace)
        else:
            files = [*sight.files]
    return Inputs(files, old, fill, sight)


def named(arguments: argparse.Namespace) -> list[str]:
    """The paths that flags and the list of `--files-from` name."""
    return [*arguments.paths, *(listed(arguments.files_from) if arguments.files_from else [])]


def _names_files(arguments: argparse.Namespace) -> bool:
    return bool(arguments.paths or arguments.files_from or arguments.kustomize or arguments.helm)


def found(arguments: argparse.Namespace, paths: list[str]) -> list[str | InputError]:
    """The files that paths mean, without those that flags or the project leave out."""
    files = find(paths, arguments.exclude)
    if arguments.project is None:
        return files
    from dynamo_webhooks.cli.project.laid import chosen

    return [*chosen(arguments, files)]


def _kustomized(folders: list[str], *, quiet: bool) -> list[Source | InputError]:
    from dynamo_webhooks.cli.check.kustomize import command, rendered
    from dynamo_webhooks.cli.output import say

    made = []
    for folder, words in [(folder, command(folder)) for folder in dict.fromkeys(folders)]:
        one = rendered(folder, words)
        if not quiet and not isinstance(one, InputError):
            say(f"{one.name}: lines are those that `{' '.join(words)}` prints")
        made.append(one)
    return made


def _templated(arguments: argparse.Namespace) -> list[Source | InputError]:
    from dynamo_webhooks.cli.check.helm import command, rendered
    from dynamo_webhooks.cli.output import say

    made = []
    for folder, words in [(folder, command(folder, arguments.values)) for folder in dict.fromkeys(arguments.helm)]:
        one = rendered(folder, words)
        if not arguments.quiet and not isinstance(one, InputError):
            say(f"{one.name}: lines are those that `{' '.join(words)}` prints")
        made.append(one)
    return made


def _agree(arguments: argparse.Namespace) -> None:
    """Refuses flags that don't go together."""
    against = arguments.against is not None
    if against and arguments.old:
        raise UsageError("--against and --old both name the stored objects: use one of them")
    if against and arguments.op != "auto":
        raise UsageError(f"--against decides what is an update and what is new: leave out --op {arguments.op}")
    if against and arguments.cluster:
        raise UsageError("--against and --cluster both tell the stored objects: use one of them")
    if arguments.cluster and _names_files(arguments) and (arguments.old or arguments.op != "auto"):
        raise UsageError(f"--cluster tells which files are updates: leave out {'--old' if arguments.old else f'--op {arguments.op}'}")
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


def _values(arguments: argparse.Namespace) -> Fill | None:
    if not arguments.set and not arguments.env_file:
        return None
    from dynamo_webhooks.cli.check.values import load_values

    return load_values(arguments.set, arguments.env_file)


def _old(arguments: argparse.Namespace, files: list[str | Source | InputError], fill: Fill | None) -> Olds | None:
    if arguments.against is not None:
        from dynamo_webhooks.cli.check.against import Against

        return Against(arguments.against, [file for file in files if isinstance(file, str)], fill)
    if not arguments.old or arguments.op not in ("auto", "update"):
        return None
    from dynamo_webhooks.cli.check.old import load_old

    return load_old(arguments.old, required=arguments.op == "update", fill=fill)
