"""The command `check`: its flags, and the start of a run."""

import argparse
import gc

from ...console import flags
from ...validation.levels import IGNORE, STRICT, WARN

HELP = "check files as the API server and the webhooks do, and list all findings"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    from . import inputs, outputs

    inputs.configure(parser)
    request = parser.add_argument_group("request")
    request.add_argument(
        "--op", choices=("auto", "create", "update", "delete"), default="auto", help="auto: an update if --old or --against has the object"
    )
    request.add_argument("--as", dest="user", default="", metavar="USER", help="user name of the request")
    flags.facts(parser)
    flags.upgrade(parser, "also check with each later operator release up to this one; each finding names the release that adds it")
    rules = parser.add_argument_group("rules")
    rules.add_argument("--select", action="append", default=[], metavar="WORD", help="only these rules: names, codes or prefixes")
    rules.add_argument("--ignore", action="append", default=[], metavar="WORD", help="without these rules")
    rules.add_argument("--no-schema", action="store_true", help="skip schema defaults, schema and CEL rules")
    rules.add_argument("--no-defaults", action="store_true", help="skip the defaults of the mutating webhooks")
    strictness = parser.add_argument_group("strictness")
    strictness.add_argument(
        "--fail-on", choices=("error", "warning", "never"), default="error", help="findings that make the exit code 1 (default %(default)s)"
    )
    others = {"true": STRICT, "false": IGNORE}  # kubectl's other words
    text = "how to treat unknown fields, as in kubectl apply (default strict; objects of a cluster: warn)"
    strictness.add_argument("--validate", type=lambda word: others.get(word, word), choices=(STRICT, WARN, IGNORE), help=text)
    strictness.add_argument("--require-facts", action="store_true", help="exit code 5 if something could not be evaluated")
    strictness.add_argument("--allow-empty", action="store_true", help=flags.ALLOW_EMPTY)
    # of earlier versions: scripts of pipelines go on
    strictness.add_argument("--strict", action="store_const", dest="validate", const=STRICT, help=argparse.SUPPRESS)
    strictness.add_argument("--exit-zero", action="store_const", dest="fail_on", const="never", help=argparse.SUPPRESS)
    suppression = parser.add_argument_group("suppression")
    suppression.add_argument("--baseline", metavar="FILE", help="file of known findings, which do not count")
    suppression.add_argument("--update-baseline", action="store_true", help="write current findings to that file")
    suppression.add_argument(
        "--add-ignores", metavar="REASON", help="add comments with this reason to the files, so that no finding counts"
    )
    project = parser.add_argument_group("project")
    flags.project(project)
    project.add_argument("--show-config", action="store_true", help="print the effective settings and their sources, and check nothing")
    outputs.configure(parser)


def run(arguments: argparse.Namespace) -> int:
    """Checks everything, prints the report and returns the exit code."""
    from ....policies.raised import silently
    from .steps import check

    # nothing here makes cycles, and collecting garbage would be a tenth of the time of a small run
    gc.disable()
    try:
        # a rule that raises is a finding; its traceback is for those who asked with -v
        with silently(not arguments.verbose):
            return check(arguments)
    finally:
        gc.freeze()  # or the first collection afterwards, and the one at exit, would look at all of it
        gc.enable()
