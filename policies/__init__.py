"""Rules and defaults, one file a theme; evaluator, facts, answer and catalogue; pure."""
