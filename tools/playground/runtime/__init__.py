"""Modules that exist in the playground alone; there they are named without this package."""
