"""Child resources from a graph: the pure render, and the loop that applies it."""
