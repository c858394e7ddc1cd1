"""Child resources of a graph or a component, as pure functions on plain dicts: no clock, no cluster, the same bytes every time."""
