"""Hostile connections beside victims: generator.py sends, victims.py measures, storm.py runs both; `python -m tests.hostile.storm`."""
