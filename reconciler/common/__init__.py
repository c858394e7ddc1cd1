"""What all parts of the reconciler share: keys, resources, labels, conditions, problems. Pure."""
