"""The formats that a run of `check` reports in: each module makes one text of a result. Where it goes, cli/check/outputs.py decides."""
