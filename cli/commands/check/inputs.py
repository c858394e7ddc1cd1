"""Selects the objects of a run of `check`, and their stored state, by the flags of inputs."""

from __future__ import annotations

from functools import partial
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
    from collections.abc import Iterator, Mapping

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
    def namespace(self) -> str:
        """The namespace of objects that name none, where a cluster is asked."""
        return "" if self.sight is None else self.sight.namespace

    @property
    def phases(self) -> Mapping[str, str] | None:
        """The phases of the cluster's namespaces, where they are known."""
        return None if self.sight is None else self.sight.phases

    @property
    def usual_validation(self) -> str:
        """What becomes of unknown fields: kubectl refuses them in files; what a cluster holds was accepted."""
        return STRICT if self.sight is None or self.old is not None else WARN


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    inputs = parser.add_argument_group("inputs")
    flags.paths(inputs)
    inputs.add_argument("--stdin-name", default="", metavar="NAME", help="name of standard input in reports")
    inputs.add_argument("--files-from", metavar="FILE", help="file of paths, one per line, or - for standard input")
    repeatable = partial(inputs.add_argument, action="append", default=[])
    repeatable("-k", "--kustomize", metavar="DIR", help="folder to render with kustomize, without fetching; repeatable")
    repeatable("--helm", metavar="DIR", help="chart to render with helm; repeatable")
    repeatable("--values", metavar="FILE", help="with --helm: values file of all charts; repeatable")
    values = "value of ${NAME} and $(NAME) in files; [...] and {...} are lists and maps; repeatable"
    repeatable("--set", metavar="NAME=VALUE", help=values)
    repeatable("--env-file", metavar="FILE", help="file of such values, one NAME=VALUE per line; --set overrides it; repeatable")
    inputs.add_argument("--fix", action="store_true", help="write safe automatic fixes into the files, then check the result")
    inputs.add_argument("--diff", action="store_true", help="with --fix: print the changes, and write nothing")
    flags.cluster(inputs, "check files as updates of the cluster's objects; without files, check these objects; also reads unknown facts")
    repeatable("--old", metavar="PATH", help="stored objects of an update; repeatable")
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
        from ...files.placeholder_values import parse_values

        fill = parse_values(arguments.set, arguments.env_file)
    old, sight = _old(arguments, files, fill), None
    if arguments.cluster:
        from ...objects.cluster_snapshot import Live, snapshot_cluster

        sight = snapshot_cluster(arguments.kubeconfig, arguments.context, arguments.namespace)
        if _names_files(arguments):
            old = Live(sight)
        else:
            files = [*sight.files]
    return Inputs(files, old, fill, sight)


def _names_files(arguments: argparse.Namespace) -> bool:
    return bool(arguments.paths or arguments.files_from or arguments.kustomize or arguments.helm)


def _rendered(arguments: argparse.Namespace) -> Iterator[Source | InputError]:
    """Render kustomizations and charts."""
    if not arguments.kustomize and not arguments.helm:
        return
    from ...console.output import write_stderr
    from ...files.programs import chart_command, kustomization_command, render_chart, render_kustomization

    folders = [(folder, render_kustomization, kustomization_command(folder)) for folder in dict.fromkeys(arguments.kustomize)]
    folders += [(folder, render_chart, chart_command(folder, arguments.values)) for folder in dict.fromkeys(arguments.helm)]
    for folder, render, words in folders:
        one = render(folder, words)
        if not arguments.quiet and not isinstance(one, InputError):
            write_stderr(f"{one.name}: lines are those that `{' '.join(words)}` prints")
        yield one


def _agree(arguments: argparse.Namespace) -> None:
    """Refuses flags that don't go together."""
    against, named = arguments.against is not None, _names_files(arguments)
    decided = arguments.cluster and named
    refuse(
        (against and arguments.old, "--against and --old both name the stored objects: use one of them"),
        (against and arguments.op != "auto", f"--against decides between update and create: leave out --op {arguments.op}"),
        (against and arguments.cluster, "--against and --cluster both give the stored objects: use one of them"),
        (decided and arguments.old, "--cluster decides which files are updates: leave out --old"),
        (decided and arguments.op != "auto", f"--cluster decides which files are updates: leave out --op {arguments.op}"),
    )
    flags.need_cluster(arguments, "check what a cluster holds")
    nothing = "name at least one file, folder or glob, - for standard input, or --cluster"
    rendered = {"-k": arguments.kustomize, "--helm": arguments.helm}
    refuse(
        *((against and given, f"--against compares files, and what {flag} renders is none: use --old") for flag, given in rendered.items()),
        (arguments.values and not arguments.helm, "--values is for --helm: name the chart; --set and --env-file fill ${NAME} in files"),
        (arguments.op == "update" and not arguments.old, "--op update needs --old with the stored objects"),
        (not (named or arguments.cluster), f"{nothing}; or paths in .dynamo-webhooks.yaml"),
    )


def refuse_changes(arguments: argparse.Namespace) -> None:
    """Refuses flags that write files, where nothing could be written or the flags contradict each other."""
    ignoring = arguments.add_ignores is not None
    changing = {"--fix": arguments.fix, "--add-ignores": ignoring, "--update-baseline": arguments.update_baseline}
    if arguments.upgrade_to is not None and (flag := next(filter(changing.get, changing), "")):
        raise UsageError(f"--upgrade-to lists findings of later operator releases: leave out {flag}")
    refuse((arguments.update_baseline and arguments.baseline is None, "--update-baseline needs --baseline with the file to write"))
    if not arguments.fix and not ignoring:
        refuse((arguments.diff, "--diff shows what --fix or --add-ignores would write: give one of them"))
        return
    writes, reason = "--add-ignores" if ignoring else "--fix", (arguments.add_ignores or "").strip()
    said = reason and reason.isprintable()
    filled, report = arguments.set or arguments.env_file, arguments.output and "outputs" not in arguments.laid
    others = {"--cluster": arguments.cluster, "-k": arguments.kustomize, "--helm": arguments.helm}
    reports = {"-o": report, "--answer": arguments.answer, "--update-baseline": arguments.update_baseline} if arguments.diff else {}
    refuse(
        (arguments.fix and ignoring, "--fix and --add-ignores both change files: use --fix first"),
        *((given, f"{writes} changes files, and {flag} checks other inputs; fix the sources") for flag, given in others.items()),
        (arguments.fix and filled, "--fix would write the values of --set and --env-file into the files; leave them out"),
        (ignoring and arguments.update_baseline, "--add-ignores and --update-baseline both accept findings: use one of them"),
        *((given, f"--diff prints what {writes} would write, and no report: leave out {flag}") for flag, given in reports.items()),
        (STDIN in arguments.paths, f"{writes} changes files, and - is none"),
        (ignoring and not said, "--add-ignores must be followed by a reason on one line, such as 'the gateway sets it'"),
    )


def refuse(*mistakes: tuple[object, str]) -> None:
    """Raises: UsageError with the sentence of the first mistake that was made."""
    for made, sentence in mistakes:
        if made:
            raise UsageError(sentence)


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
