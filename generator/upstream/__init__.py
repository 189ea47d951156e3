"""What comes from outside: charts, manifests and images, fetched, locked and inflated."""
