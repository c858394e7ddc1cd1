"""The programs of a control plane, built from pinned Go modules."""
