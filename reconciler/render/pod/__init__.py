"""The pod of a component: defaults, overridden by the user's template."""
