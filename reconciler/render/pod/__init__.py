"""The pod of a component: what its container gets by default, and how the user's template goes over it."""
