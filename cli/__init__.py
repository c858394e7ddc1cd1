"""The command line: serve, check, explain, rules, review, version; YAML sources with positions, and reporters."""
