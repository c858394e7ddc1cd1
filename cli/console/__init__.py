"""Parts that every command shares: exit codes, streams, flags, and the wording of hints and errors."""
