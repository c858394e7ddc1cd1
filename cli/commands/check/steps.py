"""The steps of a run: flags and project file, inputs, changes of files, findings, and what of them counts; then the reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ....api.wording import count_of, escape_unprintable
from ...console.exits import OK, REFUSED, worst_code
from ...console.output import write_document, write_stderr, write_stdout
from ...facts.load import facts_of_line
from ...project.apply import Targets, apply_project
from ...validation.finding import merge_duplicates
from ...validation.pipeline import Settings
from ...yaml.load import Source
from .inputs import gather_inputs, refuse_changes
from .lines import add_later_lines, explain_lines, list_steps
from .outputs import DRAWN, excuse, list_reports, spare, write_reports
from .result import Result, exit_code
from .run import Run
from .selection import Choice, ask_rules, select_rules
from .suppress import Heard

if TYPE_CHECKING:
    import argparse

    from ....api.line import Line
    from .baseline import Entry, Held
    from .fix import Mended

# of the project file
_KEYS = ("paths", "exclude", "line", "facts", "clusters", "rules-from", "rules", "overrides", "baseline", "site", "outputs")


def check(arguments: argparse.Namespace) -> int:
    """Checks everything, delivers the reports, and returns the exit code. Raises: UsageError."""
    apply_project(arguments, _KEYS, arguments.paths)
    if arguments.show_config:
        from ...project.load import format_effective_settings

        write_stdout(format_effective_settings(arguments))
        return OK
    refuse_changes(arguments)
    asked, known = list_reports(arguments), None
    if arguments.baseline is not None:  # read before anything else, so that a mistake costs no time
        from .baseline import load

        known = load(arguments.baseline, missing=arguments.update_baseline)
    targets = Targets(arguments)
    choice = select_rules(arguments, arguments.select, arguments.ignore, validated=arguments.validate is not None)
    inputs = gather_inputs(arguments)
    usual = Settings(
        inputs.add_facts(targets.usual.facts),
        arguments.user,
        not arguments.no_schema,
        not arguments.no_defaults,
        arguments.validate or inputs.usual_validation,
        choice.judges,
        phases=inputs.phases,
        asked=ask_rules(arguments.user_rules, inputs.files, inputs.fill),
    )

    def settings(file: str) -> Settings:
        target = targets.of(file)
        namespace = arguments.namespace or target.namespace or inputs.namespace
        return usual._replace(facts=inputs.add_facts(target.facts), namespace=namespace, cluster=target.cluster)

    def checked(mends: Sequence[Mended] = (), by: Callable[[str], Settings] = settings) -> Result:
        """The result with files as they would be, or as they are now."""
        running = Run(by, choice, arguments.op, inputs.old, answering=arguments.answer, lenient=arguments.allow_empty, fill=inputs.fill)
        mended = {one.source.name: Source(one.source.name, one.text) for one in mends}
        files = [mended.get(file, file) if isinstance(file, str) else file for file in inputs.files]
        return running.through(files, arguments.stdin_name, tell=arguments.verbose)

    result = checked()
    spare(asked, result)
    fixed = OK
    if arguments.fix or arguments.add_ignores is not None:
        counting = result if known is None or arguments.fix else _hold(arguments, result, known, choice, usual.line).result
        mends, fixed = _change(arguments, counting)
        result = checked(mends if arguments.diff else ()) if mends else result
    lines = explain_lines(arguments, targets, {one.source.name for one in result.checked}, inputs.add_facts)
    result = result._replace(lines=lines, site=arguments.site, namespace=inputs.namespace if inputs.old is not None else "")
    if arguments.upgrade_to is not None:

        def of_line(line: Line) -> Result:
            return checked(by=lambda file: _upgraded(settings(file), line))

        result = add_later_lines(result, list_steps(usual.line, arguments.upgrade_to), of_line)
    if inputs.sight is not None and inputs.sight.unreachable:
        result = result._replace(unreachable=[inputs.sight.unreachable])
    if known is not None:
        result = _leave_out_known(arguments, _hold(arguments, result, known, choice, usual.line))
    result = result._replace(findings=merge_duplicates(result.findings))
    code = exit_code(result, arguments.fail_on, require_facts=arguments.require_facts, allow_empty=arguments.allow_empty)
    if arguments.diff:
        return _count_rest(arguments, result, worst_code((fixed, code)))
    if any(one.form in DRAWN for one in asked):
        from .pictures import draw_graphs

        pictures, undrawn = draw_graphs(arguments, result, targets, inputs.add_facts)
        result = result._replace(pictures=pictures, undrawn=undrawn)
    return write_reports(arguments, asked, result, worst_code((fixed, code)))


def _upgraded(known: Settings, line: Line) -> Settings:
    """The settings after an upgrade to a line."""
    return known._replace(facts=facts_of_line(known.facts, max(line, known.line)), before=known.line)


def _change(arguments: argparse.Namespace, result: Result) -> tuple[list[Mended], int]:
    """The files as `--fix` or `--add-ignores` changes them, which are written or shown as a diff, and the exit code."""
    from ...rewrite.unified_diff import format_diff
    from .fix import fix_files, ignore_findings, write

    mends, code = fix_files(result.findings) if arguments.fix else ignore_findings(result.findings, arguments.add_ignores.strip())
    if not arguments.diff:
        return mends, worst_code((code, write(mends, "fixed" if arguments.fix else "ignored")))
    write_document("".join(format_diff(one.source.name, one.source.text, one.text) for one in mends))
    return mends, worst_code((code, REFUSED if mends else OK))


def _count_rest(arguments: argparse.Namespace, result: Result, code: int) -> int:
    """Prints how many findings the changes would leave, and what could not be looked at; returns the exit code."""
    excuse(result, code, quiet=arguments.quiet)
    if result.findings and not arguments.quiet:
        flag = "--fix" if arguments.fix else "--add-ignores"
        write_stderr(f"{flag} leaves {count_of(len(result.findings), 'finding')}; check without {flag} lists them")
    return code


def _hold(arguments: argparse.Namespace, result: Result, known: list[Entry], choice: Choice, line: Line) -> Held:
    """The result held against the baseline."""
    from .baseline import hold

    heard = Heard(line=line, schema=not arguments.no_schema)
    return hold(result, known, lambda entry: choice.at(entry.file).takes(entry.rule, entry.code), heard, learn=arguments.update_baseline)


def _leave_out_known(arguments: argparse.Namespace, held: Held) -> Result:
    """The result without the baseline's findings; reports outdated ones, or rewrites the baseline."""
    from .baseline import write

    if arguments.update_baseline:
        write(arguments.baseline, held.entries)
        said = [f"{arguments.baseline}: {len(held.entries)} known, {len(held.new)} new, {len(held.outdated)} removed"]
    else:
        more = "; --update-baseline removes it"
        said = [f"{arguments.baseline}: no longer found: {one.rule} in {one.about}{more}" for one in held.outdated]
    for sentence in () if arguments.quiet else said:
        write_stderr(escape_unprintable(sentence))
    return held.result
