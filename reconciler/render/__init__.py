"""Child resources of a graph or a component, as pure functions on plain dicts, without clock or cluster."""
