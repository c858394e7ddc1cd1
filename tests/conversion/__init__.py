"""Tests of conversion: worked examples, the engine, the remainder's annotations, each declaration."""
