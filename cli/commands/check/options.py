"""The flags of `check`."""

from typing import Annotated, Final, NamedTuple

from ....api.line import Line
from ...console import flags
from ...console.nearest import did_you_mean
from ...console.options import FlagError, option, repeatable, switch
from ...project.options import ProjectOptions
from ...project.reports import FORMATS, ReportRequest
from ...validation.levels import IGNORE, STRICT, WARN

# the titles of sections of the help, by the field that begins each
SECTIONS: Final = {
    "paths": "inputs",
    "op": "request",
    "facts": "",
    "select": "rules",
    "fail_on": "strictness",
    "baseline": "suppression",
    "project": "project",
    "outputs": "output",
}


def read_validation(word: str) -> str:
    """Reads a value of `--validate`, for which kubectl has other words, too."""
    return {"true": STRICT, "false": IGNORE}.get(word, word)


def read_report(word: str) -> ReportRequest:
    """Reads a value of `-o`. Raises: FlagError."""
    form, equals, file = word.partition("=")
    if form not in FORMATS:
        raise FlagError(f"must be one of {', '.join(FORMATS)}, got {form!r}{did_you_mean(form, FORMATS)}")
    if equals and not file:
        raise FlagError(f"must name a file behind {form}=, or leave the = out to print the report")
    return ReportRequest(form, "" if file == "-" else file)


class Options(NamedTuple):
    """Flags and arguments."""

    paths: flags.Paths = ()
    exclude: flags.Exclude = ()
    stdin_name: Annotated[str, option("name of standard input in reports", "NAME")] = ""
    files_from: Annotated[str | None, option("file of paths, one per line, or - for standard input", "FILE")] = None
    kustomize: Annotated[tuple[str, ...], repeatable("folder to render with kustomize, without fetching; repeatable", "-k", "DIR")] = ()
    fix: Annotated[bool, switch("write safe automatic fixes into the files, then check the result")] = False
    diff: Annotated[bool, switch("with --fix: print the changes, and write nothing")] = False
    cluster: Annotated[
        bool, switch("check files as updates of the cluster's objects; without files, check these objects; also reads unknown facts")
    ] = False
    namespace: flags.ObjectNamespace = ""
    kubeconfig: flags.ClusterKubeconfig = ""
    context: flags.ClusterContext = ""
    old: Annotated[tuple[str, ...], repeatable("stored objects of an update; repeatable", "PATH")] = ()
    against: Annotated[str | None, option("take stored objects from this Git revision", "GIT-REF")] = None
    op: Annotated[str, option("auto: an update if --old or --against has the object", choices=("auto", "create", "update", "delete"))] = (
        "auto"
    )
    user: flags.User = ""
    as_group: Annotated[tuple[str, ...], repeatable("group of this user; repeatable", "GROUP")] = ()
    facts: flags.FactFlags = flags.FactFlags()
    upgrade_to: Annotated[
        Line | None,
        flags.release("also check with each later operator release up to this one; each finding names the release that adds it"),
    ] = None
    select: Annotated[tuple[str, ...], repeatable("only these rules: names, codes or prefixes", "WORD")] = ()
    ignore: Annotated[tuple[str, ...], repeatable("without these rules", "WORD")] = ()
    kubernetes: flags.Kubernetes = None
    no_schema: Annotated[bool, switch("skip schema defaults, schema and CEL rules")] = False
    no_defaults: Annotated[bool, switch("skip the defaults of the mutating webhooks")] = False
    fail_on: Annotated[
        str,
        option(
            "findings that make the exit code 1 (default %(default)s)",
            choices=("error", "warning", "never"),
            former={"--exit-zero": "never"},
        ),
    ] = "error"
    validate: Annotated[
        str | None,
        option(
            "how to treat unknown fields, as in kubectl apply (default strict; objects of a cluster: warn)",
            type=read_validation,
            choices=(STRICT, WARN, IGNORE),
            former={"--strict": STRICT},
        ),
    ] = None
    require_facts: flags.RequireFacts = False
    allow_empty: flags.AllowEmpty = False
    baseline: Annotated[str | None, option("file of known findings, which do not count", "FILE")] = None
    update_baseline: Annotated[bool, switch("write current findings to that file")] = False
    project: ProjectOptions = ProjectOptions()
    show_config: Annotated[bool, switch("print the effective settings and their sources, and check nothing")] = False
    outputs: Annotated[
        tuple[ReportRequest, ...],
        repeatable(
            f"{', '.join(FORMATS)}, to stdout or a file; repeatable (default: text)", "-o", "--output", "FORMAT[=FILE]", type=read_report
        ),
    ] = ()
    answer: Annotated[bool, switch("also print the API server's response for each object, in the words of Kubernetes 1.34")] = False
    quiet: Annotated[bool, switch("one line per finding, no summary", "-q")] = False
    verbose: Annotated[bool, switch(f"name each input on stderr; {flags.TRACEBACKS}", "-v")] = False
    color: Annotated[str, option("colours in text; NO_COLOR and FORCE_COLOR apply", choices=("auto", "always", "never"))] = "auto"
