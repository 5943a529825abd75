"""Published leaderboards in the package, and their sources."""
