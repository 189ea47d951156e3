"""Where everything goes: from components to a tree of files."""
