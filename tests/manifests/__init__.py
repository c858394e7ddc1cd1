"""Tests of what a cluster admin applies, without a cluster: structure, words and numbers, and the image that is run."""
