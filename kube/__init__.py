"""The only room that speaks to an API server; empty until cluster facts land."""
