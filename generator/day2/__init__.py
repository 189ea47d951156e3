"""What runs on a cluster day by day: its workflows, bringing back what was lost, the use of its GPUs."""
