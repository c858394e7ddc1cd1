"""Pods of graphs after they are made: the label of their place, and restored ones that have lost their GPU memory."""
