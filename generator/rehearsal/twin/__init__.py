"""A cluster without machines, on loopback: a real control plane, Kueue and Volcano, and nodes that KWOK plays."""
