"""Declared Secrets given other values, step by step, while what reads them goes on."""
