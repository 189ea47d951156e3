"""What `gen` renders, built and ready to be judged: reference clusters, variations of them, and broken copies."""
