"""Facts that rules need: from files and flags, or gathered from a cluster."""
