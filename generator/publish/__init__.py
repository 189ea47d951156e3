"""A change on its way to others: the commit that tells what it does, the push, the pull request."""
