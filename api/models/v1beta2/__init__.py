"""Models of nvidia.com/v1beta2, which only line 1.7 has."""
