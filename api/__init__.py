"""Kinds, versions, models, structural schemas, field paths and quantities of objects; no I/O but reading our own data files."""
