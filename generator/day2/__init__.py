"""What runs on a cluster day by day: its workflows, what was lost brought back, Secrets turned, the use of its GPUs."""
