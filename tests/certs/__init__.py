"""Tests of certificates: profile, files, the reloading context."""
