"""A cluster as `gen` rendered it, without machines: real control plane, Kueue and Volcano, and nodes that KWOK plays.

Use it by `pytest_plugins = ["twin.fixtures"]`. All runs on loopback, as root: Kueue's webhook listens on the address
of its own Service, port 443, which is why the range of Services is a part of 127.0.0.0/8.
"""
