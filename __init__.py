"""Lets tools that follow relative imports by path see the rooms as packages side by side; nothing imports it."""
