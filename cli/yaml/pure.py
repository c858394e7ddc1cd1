"""The event parser for a Python whose PyYAML was built without libyaml."""

import re
from typing import Any, Final, cast

import yaml
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class PureParser(Reader, Scanner, Parser):
    """PyYAML's own reader, scanner and parser in one, as its loaders combine them."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def get_event(self) -> Any:
        """The next event, None behind the last; refuses what libyaml refuses and PyYAML lets through."""
        event = cast("Any", super()).get_event()
        if isinstance(event, yaml.ScalarEvent) and _SURROGATE.search(event.value):
            # an event's mark may be the C parser's for the stubs; this class is the pure parser, whose marks are the right ones
            raise yaml.MarkedYAMLError(problem="invalid Unicode character escape", problem_mark=event.start_mark)  # type: ignore[arg-type]
        return event
