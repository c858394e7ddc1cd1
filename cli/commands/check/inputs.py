"""Selects the objects of a run of `check`, and their stored state, by the flags of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...console import flags
from ...console.exits import UsageError, refuse
from ...files.find import read_file_list
from ...files.read import STDIN
from ...project.apply import find_input_files
from ...validation.levels import STRICT, WARN
from ...yaml.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ....policies.facts import Facts
    from ...objects.cluster_snapshot import ClusterSnapshot
    from ...objects.stored import StoredObjects
    from ...userrules.surroundings import PolicyInputs
    from ...yaml.load import Source
    from .options import Options


class CheckInputs(NamedTuple):
    """The inputs to check (files as they are to be shown, texts that are no files, or why one can't be read), and what belongs to them."""

    files: list[str | Source | InputError]
    old: StoredObjects | None  # the stored objects of updates
    snapshot: ClusterSnapshot | None  # of the cluster, where one was asked for
    live: PolicyInputs | None = None  # what policies may read of it

    def add_facts(self, known: Facts) -> Facts:
        """The facts, and those of the live cluster that are unknown otherwise."""
        return known if self.snapshot is None else self.snapshot.fill(known)

    @property
    def namespace(self) -> str:
        """The namespace of objects that name none, where a cluster is asked."""
        return "" if self.snapshot is None else self.snapshot.namespace

    @property
    def phases(self) -> Mapping[str, str] | None:
        """The phases of the cluster's namespaces, where they are known."""
        return None if self.snapshot is None else self.snapshot.phases

    @property
    def default_validation(self) -> str:
        """The default treatment of unknown fields: kubectl refuses them in files; what a cluster holds was accepted."""
        return STRICT if self.snapshot is None or self.old is not None else WARN


def gather_inputs(options: Options) -> CheckInputs:
    """Reads old objects, and what isn't in files. Raises: UsageError for flags that don't go together or say nothing."""
    _agree(options)
    paths = [*options.paths, *(read_file_list(options.files_from) if options.files_from else [])]
    _read_once(options, paths)
    by_hand = () if options.allow_empty else options.paths
    files: list[str | Source | InputError] = [*find_input_files(options.project, paths, options.exclude, by_hand)]
    files += _rendered(options)
    old = _old(options, files)
    if not options.cluster:
        return CheckInputs(files, old, None)
    from ...objects.cluster_snapshot import StoredInCluster, snapshot_cluster
    from ...userrules.surroundings import PolicyInputs

    snapshot = snapshot_cluster(options.kubeconfig, options.context, options.namespace)
    live = None if snapshot.unreachable else PolicyInputs(options.kubeconfig, options.context)
    if _names_files(options):
        return CheckInputs(files, StoredInCluster(snapshot), snapshot, live)
    return CheckInputs([*snapshot.files], old, snapshot, live)


def _names_files(options: Options) -> bool:
    return bool(options.paths or options.files_from or options.kustomize)


def _rendered(options: Options) -> Iterator[Source | InputError]:
    """Render kustomizations."""
    if not options.kustomize:
        return
    from ...console.output import write_stderr
    from ...files.programs import find_kustomization_command, render_kustomization

    for folder in dict.fromkeys(options.kustomize):
        words = find_kustomization_command(folder)
        rendered = render_kustomization(folder, words)
        if not options.quiet and not isinstance(rendered, InputError):
            write_stderr(f"{rendered.name}: lines are those that `{' '.join(words)}` prints")
        yield rendered


def _agree(options: Options) -> None:
    """Refuses flags that don't go together."""
    against, named = options.against is not None, _names_files(options)
    decided = options.cluster and named
    refuse(
        (against and options.old, "--against and --old both name the stored objects: use one of them"),
        (against and options.op != "auto", f"--against decides between update and create: leave out --op {options.op}"),
        (against and options.cluster, "--against and --cluster both give the stored objects: use one of them"),
        (decided and options.old, "--cluster decides which files are updates: leave out --old"),
        (decided and options.op != "auto", f"--cluster decides which files are updates: leave out --op {options.op}"),
    )
    flags.need_cluster("check what a cluster holds", cluster=options.cluster, kubeconfig=options.kubeconfig, context=options.context)
    nothing = "name at least one file, folder or glob, - for standard input, or --cluster"
    refuse(
        (options.as_group and not options.user, "--as-group names a group of the user of --as: name the user, too"),
        (options.op == "update" and not options.old, "--op update needs --old with the stored objects"),
        (against and options.kustomize, "--against compares files, and what -k renders is none: use --old"),
        (not (named or options.cluster), f"{nothing}; or paths in .dynamo-webhooks.yaml"),
    )


def refuse_changes(options: Options) -> None:
    """Refuses flags that write files, where nothing could be written or the flags contradict each other."""
    changing = {"--fix": options.fix, "--update-baseline": options.update_baseline}
    if options.upgrade_to is not None and (flag := next(filter(changing.get, changing), "")):
        raise UsageError(f"--upgrade-to lists findings of later operator releases: leave out {flag}")
    refuse((options.update_baseline and options.baseline is None, "--update-baseline needs --baseline with the file to write"))
    if not options.fix:
        refuse((options.diff, "--diff shows what --fix would write: give both"))
        return
    report = options.outputs and "outputs" not in options.project.laid
    others = {"--cluster": options.cluster, "-k": options.kustomize}
    reports = {"-o": report, "--answer": options.answer, "--update-baseline": options.update_baseline} if options.diff else {}
    refuse(
        *((given, f"--fix changes files, and {flag} checks other inputs; fix the sources") for flag, given in others.items()),
        *((given, f"--diff prints what --fix would write, and no report: leave out {flag}") for flag, given in reports.items()),
        (STDIN in options.paths, "--fix changes files, and - is none"),
    )


def _read_once(options: Options, paths: list[str]) -> None:
    """Refuses a second reader of standard input, which would find nothing."""
    asking = {
        "-": STDIN in paths,
        "--files-from -": options.files_from == STDIN,
        "--old -": STDIN in options.old,
        "--facts -": options.facts.file == STDIN,
    }
    readers = [name for name, asks in asking.items() if asks]
    if len(readers) > 1:
        raise UsageError(f"standard input can be read once, and both {readers[0]} and {readers[1]} ask for it")


def _old(options: Options, files: list[str | Source | InputError]) -> StoredObjects | None:
    if options.against is not None:
        from ...objects.stored_in_git import StoredInGit

        return StoredInGit(options.against, [file for file in files if isinstance(file, str)])
    if not options.old or options.op not in ("auto", "update"):
        return None
    from ...objects.stored import load_stored

    return load_stored(options.old, required=options.op == "update")
