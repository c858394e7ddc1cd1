"""What runners of CI take for a command, apart from the code that avoids it.

Of actions/runner (ActionCommand.cs, both forms), azure-pipelines-agent (Command.cs), TeamCity's service messages and GitLab's sections.
"""

OURS = ("::error ", "::warning ", "::notice ")  # annotations of `check -o github`
ANYWHERE = ("##[", "##vso[", "##teamcity[", "section_start:1", "section_end:1")


def obeyed(line: str) -> bool:
    """Whether a runner obeys a line of a log that is not an annotation of ours."""
    return (line.lstrip().startswith("::") and not line.startswith(OURS)) or any(sign in line for sign in ANYWHERE)
