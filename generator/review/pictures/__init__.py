"""Pictures, drawn as SVG: pure functions from data to markup, each as wide as a narrow screen at most."""
