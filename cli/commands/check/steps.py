"""The steps of a run, each a function of values: plan, judge, change, weigh, deliver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ....api.wording import count_of, escape_unprintable
from ...console.exits import OK, REFUSED, worst_code
from ...console.output import write_document, write_stderr, write_stdout
from ...facts.load import fill_line
from ...project import keys
from ...project.apply import apply_project, load_own_rules
from ...project.facts import read_project_facts
from ...validation.finding import merge_duplicates
from ...validation.pipeline import ValidationSettings
from ...yaml.load import Source
from .inputs import gather_inputs, refuse_changes
from .lines import add_later_lines, explain_line
from .outputs import list_reports, refuse_overwriting, report_unread, write_reports
from .result import CheckResult, exit_code
from .run import CheckRun
from .selection import make_rule_context, select_rules
from .suppress import RuleCoverage

if TYPE_CHECKING:
    from ....api.line import Line
    from ....policies.facts import Facts
    from ...project.reports import ReportRequest
    from ...userrules.load import UserRules
    from .baseline import BaselineEntry
    from .fix import FixedFile
    from .inputs import CheckInputs
    from .options import Options
    from .selection import RuleSelection


class CheckPlan(NamedTuple):
    """The plan of a run: its options with the project file's values, its inputs, and by what they are judged."""

    options: Options
    reports: tuple[ReportRequest, ...]
    baseline: list[BaselineEntry] | None  # findings of the baseline
    facts: Facts  # that flags and the project file give
    selection: RuleSelection
    inputs: CheckInputs
    settings: ValidationSettings
    own_rules: int | None  # how many rules of users there are; None without rules-from


def check(options: Options) -> int:
    """Checks everything, delivers the reports, and returns the exit code. Raises: UsageError."""
    options = apply_project(options, [*keys.BY_NAME], options.paths)
    rules = load_own_rules(options.project, options.kubernetes)
    if options.show_config:
        from .settings import format_settings

        write_stdout(format_settings(options))
        return OK
    plan = make_plan(options, rules)
    for warning in rules.warnings(plan.settings.line) if rules is not None and not options.quiet else ():
        write_stderr(f"warning: {warning}")
    result = judge(plan)
    refuse_overwriting(plan.reports, result)
    result, changed = change(plan, result)
    result = weigh(plan, result)
    return deliver(plan, result, changed)


def make_plan(options: Options, rules: UserRules | None) -> CheckPlan:
    """Reads what decides about a run, mistakes that cost no time first. Raises: UsageError."""
    refuse_changes(options)
    reports, known = list_reports(options), None
    if options.baseline is not None:
        from .baseline import load

        known = load(options.baseline, missing=options.update_baseline)
    facts = read_project_facts(options.facts, options.project)
    selection = select_rules(options.project, options.select, options.ignore, validated=options.validate is not None)
    inputs = gather_inputs(options)
    settings = ValidationSettings(
        inputs.add_facts(facts),
        options.user,
        not options.no_schema,
        not options.no_defaults,
        options.validate or inputs.default_validation,
        selection.needs_rules,
        phases=inputs.phases,
        namespace=options.namespace or inputs.namespace,
        groups=(*options.as_group, "system:authenticated") if options.as_group else (),
        user_rules=make_rule_context(rules, inputs.files, inputs.live),
    )
    return CheckPlan(options, reports, known, facts, selection, inputs, settings, None if rules is None else len(rules.policies))


def judge(plan: CheckPlan, mends: Sequence[FixedFile] = (), upgraded: Line | None = None) -> CheckResult:
    """The result with files as they would be mended, or as they are now; on an operator that was `upgraded`, if so."""
    options, inputs, settings = plan.options, plan.inputs, plan.settings
    if upgraded is not None:
        settings = settings._replace(facts=fill_line(settings.facts, upgraded), before=settings.line)
    running = CheckRun(settings, plan.selection, options.op, inputs.old, answering=options.answer, lenient=options.allow_empty)
    mended = {mend.source.name: Source(mend.source.name, mend.text) for mend in mends}
    files = [mended.get(file, file) if isinstance(file, str) else file for file in inputs.files]
    return running.check_files(files, options.stdin_name, tell=options.verbose)


def change(plan: CheckPlan, result: CheckResult) -> tuple[CheckResult, int]:
    """Changes files as `--fix` asks, or shows the changes; the result of changed files, and the exit code."""
    options = plan.options
    if not options.fix:
        return result, OK
    from ...rewrite.unified_diff import format_diff
    from .fix import fix_files, write

    mends, code = fix_files(result.findings)
    if options.diff:
        write_document("".join(format_diff(mend.source.name, mend.source.text, mend.text) for mend in mends))
        code = worst_code((code, REFUSED if mends else OK))
    else:
        code = worst_code((code, write(mends)))
    return judge(plan, mends if options.diff else ()) if mends else result, code


def weigh(plan: CheckPlan, result: CheckResult) -> CheckResult:
    """The result with findings of later lines, and without those that the baseline knows."""
    options, inputs = plan.options, plan.inputs
    line = explain_line(options, plan.facts, plan.settings.facts)
    if inputs.snapshot is not None and inputs.snapshot.later:
        line = line._replace(origin=f"{line.origin}; {inputs.snapshot.later}")
    site, namespace = options.project.value("site") or "", inputs.namespace if inputs.old is not None else ""
    result = result._replace(lines=[line], site=site, namespace=namespace)
    if plan.own_rules is not None:
        result = result._replace(own_rules=(len(plan.settings.user_rules.took_part) if plan.settings.user_rules else 0, plan.own_rules))
    if options.upgrade_to is not None:
        result = add_later_lines(result, plan.settings.line, options.upgrade_to, lambda line: judge(plan, upgraded=line))
    if inputs.snapshot is not None and inputs.snapshot.unreachable:
        result = result._replace(unreachable=[inputs.snapshot.unreachable])
    if plan.baseline is not None:
        result = _leave_out_known(plan, result, plan.baseline)
    return result._replace(findings=merge_duplicates(result.findings))


def deliver(plan: CheckPlan, result: CheckResult, changed: int) -> int:
    """Writes the reports, or how many findings the shown changes would leave; returns the exit code, `changed` counted."""
    options = plan.options
    code = exit_code(result, options.fail_on, require_facts=options.require_facts, allow_empty=options.allow_empty)
    code = worst_code((changed, code))
    if options.diff:
        report_unread(result, code, quiet=options.quiet)
        if result.findings and not options.quiet:
            write_stderr(f"--fix leaves {count_of(len(result.findings), 'finding')}; check without --fix lists them")
        return code
    return write_reports(options, plan.reports, result, code)


def _leave_out_known(plan: CheckPlan, result: CheckResult, known: list[BaselineEntry]) -> CheckResult:
    """The result without the baseline's findings; reports outdated ones, or rewrites the baseline."""
    from .baseline import apply_baseline, write

    options, selection = plan.options, plan.selection
    coverage = RuleCoverage(line=plan.settings.line, schema=not options.no_schema)
    checked = apply_baseline(
        result, known, lambda entry: selection.includes(entry.rule, entry.code), coverage, learn=options.update_baseline
    )
    file = options.baseline or ""
    if options.update_baseline:
        write(file, checked.entries)
        sentences = [f"{file}: {len(checked.entries)} known, {len(checked.new)} new, {len(checked.outdated)} removed"]
    else:
        more = "; --update-baseline removes it"
        sentences = [f"{file}: no longer found: {entry.rule} in {entry.about}{more}" for entry in checked.outdated]
    for sentence in () if options.quiet else sentences:
        write_stderr(escape_unprintable(sentence))
    return checked.result
