"""Addresses in the documentation, where people have given the address of theirs. There is no default one."""

import re
from typing import Final

URL: Final = re.compile(
    r"https?://[!#-;=?-_a-z~]{1,200}"
)  # without blanks, quotes and brackets: it is printed in messages, pages and reports


def rule_address(site: str, rule: str) -> str:
    """The address of the page of a rule; empty without a site, and for rules of the users, which it has no page for."""
    return f"{site.rstrip('/')}/rules/{rule}/" if site and "/" not in rule else ""
