"""From results to threats to one verdict, and what to do about it."""
