"""The name of the program, its commands, its version, and how wide its help is."""

import os
import sys
from typing import Final

PROGRAM: Final = "dynamo-webhooks"
# Name -> what the list of commands says; written here so that the list needs no imports. A test compares it with each module's HELP.
COMMANDS: Final = {
    "serve": "run the webhook server",
    "provision": "make and renew certificates, and write caBundles",
    "certs": "inspect, issue and rotate certificates, and write bundles",
    "reconcile": "create and maintain the workloads of graphs",
    "up": "try the operator: run server and reconciler for a cluster until Ctrl-C, then remove everything",
    "check": "check files as the API server and the webhooks do, and list all findings",
    "default": "show or write the defaults of the mutating webhooks",
    "diff": "show what changes between files, folders, Git revisions or a cluster, and the response to the update",
    "test": "run case files (allow, deny, default, convert) and compare with what they expect",
    "convert": "convert objects in files to another version; other documents stay byte for byte",
    "render": "print the child resources that the reconciler would apply",
    "explain": "explain a rule, a field, a kind, a fact or a pasted server message",
    "policy": "write, test and collect rules of your own, in Kubernetes' policy language",
    "rules": "list the rules and defaults",
    "config": "print the effective configuration and the source of each value",
    "review": "answer an AdmissionReview or ConversionReview from a file as the server does",
    "crds": "print the CustomResourceDefinitions",
    "facts": "collect facts about a cluster in a file to commit",
    "migrate": "move stored objects to another version, with a plan before and a proof after, and back",
    "doctor": "inspect an installation: conversion, trust, certificates, servers and dry-run requests",
    "lsp": "serve editors by the language server protocol: findings, fields, completion and fixes",
    "completion": "print a completion script for a shell, or for kubectl's plugin",
    "schema": "print JSON schemas of kinds, for editors, and of commands' JSON output",
    "version": "print versions as JSON",
}
MAX_HELP_COLUMNS: Final = 120  # where the terminal is not narrower
_MIN_HELP_COLUMNS: Final = 40


def help_width() -> int:
    """The width of help texts: that of COLUMNS or the terminal, at most MAX_HELP_COLUMNS."""
    given = os.environ.get("COLUMNS", "")
    try:
        columns = int(given) if given.isdecimal() else 0
        columns = columns or os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):  # no terminal
        return MAX_HELP_COLUMNS
    return max(_MIN_HELP_COLUMNS, min(MAX_HELP_COLUMNS, columns - 2)) if columns else MAX_HELP_COLUMNS


def installed_version() -> str:
    """The version of the installed distribution, `unknown` in a checkout that was not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dynamo-webhooks")
    except PackageNotFoundError:
        return "unknown"
