"""Models of the version v1alpha1."""
