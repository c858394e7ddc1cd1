"""The command `check`: its flags, and how they become a run and a report."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from dynamo_webhooks.cli import flags

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.check.baseline import Entry
    from dynamo_webhooks.cli.check.choice import Choice
    from dynamo_webhooks.cli.check.outputs import Wish
    from dynamo_webhooks.cli.check.result import Result
    from dynamo_webhooks.cli.check.run import Item

_KEYS = ("paths", "exclude", "profile", "line", "facts", "rules", "baseline", "outputs")  # of the project file

HELP = "check files as the API server and the webhooks do, and list all findings"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    from dynamo_webhooks.cli.check import inputs, outputs

    inputs.configure(parser)
    request = parser.add_argument_group("request")
    request.add_argument(
        "--op",
        choices=("auto", "create", "update", "delete"),
        default="auto",
        help="auto: an update if --old or --against has the object",
    )
    request.add_argument("--as", dest="user", default="", metavar="USER", help="user name of the request")
    request.add_argument("--profile", choices=("current", "1.2"), help="set of verdicts (default current)")
    flags.facts(parser)
    rules = parser.add_argument_group("rules")
    rules.add_argument("--select", action="append", default=[], metavar="WORD", help="only these rules: names, codes or prefixes")
    rules.add_argument("--ignore", action="append", default=[], metavar="WORD", help="without these rules")
    rules.add_argument("--no-schema", action="store_true", help="skip schema defaults, schema and CEL rules")
    rules.add_argument("--no-defaults", action="store_true", help="skip the defaults of the mutating webhooks")
    _configure_strictness(parser)
    suppression = parser.add_argument_group("suppression")
    suppression.add_argument("--baseline", metavar="FILE", help="file of known findings, which do not count")
    suppression.add_argument("--update-baseline", action="store_true", help="write current findings to that file")
    project = parser.add_argument_group("project")
    flags.project(project)
    project.add_argument("--show-config", action="store_true", help="print the effective settings and their sources, and check nothing")
    outputs.configure(parser)


def _configure_strictness(parser: argparse.ArgumentParser) -> None:

    strictness = parser.add_argument_group("strictness")
    strictness.add_argument(
        "--fail-on",
        choices=("error", "warning", "never"),
        default="error",
        help="findings that make the exit code 1 (default %(default)s)",
    )
    strictness.add_argument("--strict", action="store_true", help="unknown fields are errors")
    strictness.add_argument("--require-facts", action="store_true", help="exit code 5 if something could not be evaluated")
    strictness.add_argument("--allow-empty", action="store_true", help=flags.ALLOW_EMPTY)
    strictness.add_argument("--exit-zero", action="store_true", help="findings do not change the exit code")


def run(arguments: argparse.Namespace) -> int:
    """Checks everything, prints the report and returns the exit code."""

    from dynamo_webhooks.policies.catalogue import read_lazily
    from dynamo_webhooks.policies.raised import silently

    read_lazily()
    # nothing here makes cycles, and collecting garbage would be a tenth of the time of a small run
    gc.disable()
    try:
        # a rule that raises is a finding; its traceback is for those who asked with -v
        with silently(not arguments.verbose):
            return _check(arguments)
    finally:
        gc.freeze()  # or the first collection afterwards, and the one at exit, would look at all of it
        gc.enable()


def _check(arguments: argparse.Namespace) -> int:
    from dynamo_webhooks.cli.check.outputs import wishes

    if arguments.watch and not arguments.show_config:
        from dynamo_webhooks.cli.check.watch import watch

        return watch(lambda: _watched(arguments), lambda laid, only: _judged(laid, wishes(laid), only))
    if _laid(arguments).show_config:
        return _show(arguments)
    return _judged(arguments, wishes(arguments))


def _laid(arguments: argparse.Namespace) -> argparse.Namespace:
    """The flags with what the project file says laid under them. Raises: UsageError."""
    from dynamo_webhooks.cli.project.lay import lay

    lay(arguments, _KEYS, arguments.paths)
    if arguments.show_config:
        return arguments
    arguments.profile = arguments.profile or "current"
    if arguments.fix or arguments.diff:
        from dynamo_webhooks.cli.check.mend import refuse

        refuse(arguments)
    return arguments


def _watched(given: argparse.Namespace) -> argparse.Namespace:
    """The flags of a run that goes on, with the project file as it is now. Raises: UsageError."""
    from dynamo_webhooks.cli.check.watch import agree

    laid = _laid(type(given)(**vars(given)))
    agree(laid)
    return laid


def _judged(arguments: argparse.Namespace, asked: list[Wish], only: frozenset[str] | None = None) -> int:
    """Checks everything, or of that `only` these files, and delivers the reports; returns the exit code."""
    from dynamo_webhooks.cli.check.choice import choose
    from dynamo_webhooks.cli.check.inputs import gather
    from dynamo_webhooks.cli.check.line import judged_by
    from dynamo_webhooks.cli.check.outputs import DRAWN, deliver, spare
    from dynamo_webhooks.cli.check.pipeline import Settings
    from dynamo_webhooks.cli.check.progress import over
    from dynamo_webhooks.cli.check.result import exit_code
    from dynamo_webhooks.cli.check.run import Run
    from dynamo_webhooks.cli.exits import OK, worst
    from dynamo_webhooks.cli.facts.load import asked_facts

    known = _known(arguments)
    facts = asked_facts(arguments)
    severities = arguments.project.values["rules"] if "rules" in arguments.laid else {}
    choice = choose(arguments.select, arguments.ignore, arguments.profile, severities, strict=arguments.strict)
    inputs = gather(arguments)
    if only is not None:
        inputs = inputs._replace(files=[file for file in inputs.files if file in only])
    settings = Settings(
        inputs.sight.fill(facts) if inputs.sight is not None else facts,
        arguments.profile,
        arguments.user,
        not arguments.no_schema,
        not arguments.no_defaults,
        arguments.strict,
        choice.judges(arguments.profile),
    )

    def checked() -> Result:
        running = Run(
            settings, choice, arguments.op, inputs.old, answering=arguments.answer, lenient=arguments.allow_empty, fill=inputs.fill
        )
        done = running.through(inputs.files, arguments.stdin_name, tell=_tell if arguments.verbose else None)
        for _ in over(done, len(inputs.files), quiet=arguments.quiet or arguments.verbose):
            pass
        return running.result()

    result = checked()
    spare(asked, result)
    fixed = OK
    if arguments.fix:
        from dynamo_webhooks.cli.check.mend import diff, mended, write

        mends, fixed = mended(result.findings)
        if arguments.diff:
            return _differing(arguments, result, diff(mends), fixed)
        fixed = worst((fixed, write(mends)))
        result = checked() if mends else result
    result = result._replace(line=judged_by(arguments, facts, settings.facts))
    if inputs.sight is not None and inputs.sight.unreachable:
        result = result._replace(unreachable=[inputs.sight.unreachable])
    if known is not None:
        result = _held(arguments, result, known, choice, settings.line)
    if len(result.findings) > 1:
        from dynamo_webhooks.cli.check.same import one_each

        result = result._replace(findings=one_each(result.findings))
    if any(one.form in DRAWN for one in asked):
        from dynamo_webhooks.cli.check.pictures import drawn

        result = result._replace(pictures=drawn(arguments, result, settings.facts))
    code = exit_code(
        result,
        arguments.fail_on,
        require_facts=arguments.require_facts,
        allow_empty=arguments.allow_empty,
        exit_zero=arguments.exit_zero,
    )
    return deliver(arguments, asked, result, worst((fixed, code)))


def _differing(arguments: argparse.Namespace, result: Result, text: str, fixed: int) -> int:
    """Prints what `--fix` would write, says what could not be looked at, and returns the exit code: 1 where something would change."""
    from dynamo_webhooks.cli.check.outputs import excuse
    from dynamo_webhooks.cli.check.result import exit_code
    from dynamo_webhooks.cli.exits import OK, REFUSED, worst
    from dynamo_webhooks.cli.output import write

    write(text)
    code = exit_code(result, "never", require_facts=False, allow_empty=arguments.allow_empty, exit_zero=True)
    excuse(result, code, quiet=arguments.quiet)
    return worst((fixed, code, REFUSED if text else OK))


def _show(arguments: argparse.Namespace) -> int:
    from dynamo_webhooks.cli.exits import OK
    from dynamo_webhooks.cli.output import write
    from dynamo_webhooks.cli.project.laid import shown

    write(shown(arguments))
    return OK


def _tell(file: Item) -> None:
    from dynamo_webhooks.api.wording import printable
    from dynamo_webhooks.cli.output import say

    say(f"reading {printable(file if isinstance(file, str) else file.name)}")


def _known(arguments: argparse.Namespace) -> list[Entry] | None:
    """The baseline's findings; None without one. Read before anything else, so that a mistake costs no time."""
    from dynamo_webhooks.cli.exits import UsageError

    if arguments.baseline is None:
        if arguments.update_baseline:
            raise UsageError("--update-baseline needs --baseline with the file to write")
        return None
    from dynamo_webhooks.cli.check.baseline import load

    return load(arguments.baseline, missing=arguments.update_baseline)


def _held(arguments: argparse.Namespace, result: Result, known: list[Entry], choice: Choice, line: Line) -> Result:
    """The result without what the baseline knows; says what is outdated there, or writes it anew."""
    from dynamo_webhooks.api.wording import printable
    from dynamo_webhooks.cli.check.baseline import hold, write
    from dynamo_webhooks.cli.check.suppress import Heard
    from dynamo_webhooks.cli.output import say

    heard = Heard(profile=arguments.profile, line=line, schema=not arguments.no_schema)
    held = hold(result, known, choice.takes, heard, learn=arguments.update_baseline)
    if arguments.update_baseline:
        write(arguments.baseline, held.entries)
        said = [f"{arguments.baseline}: {len(held.entries)} known, {len(held.new)} new, {len(held.outdated)} removed"]
    else:
        more = "; --update-baseline removes it"
        said = [f"{arguments.baseline}: no longer found: {one.rule} in {one.about}{more}" for one in held.outdated]
    for sentence in () if arguments.quiet else said:
        say(printable(sentence))
    return held.result
