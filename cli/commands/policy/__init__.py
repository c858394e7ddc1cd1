"""The command `policy`: writes, tests and collects users' own rules."""
