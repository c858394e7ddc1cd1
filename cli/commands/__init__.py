"""One module a sub-command, each with HELP, configure(parser) and run(arguments); imported only when chosen."""
