"""Long requests are answered in processes of their own, one for each, with bounds of CPU and memory that the kernel holds."""
