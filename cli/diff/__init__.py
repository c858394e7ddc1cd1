"""What really changes between two sets of objects: after conversion to one version and defaulting, without the noise of spelling."""
