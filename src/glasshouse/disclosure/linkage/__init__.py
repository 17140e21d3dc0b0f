"""Record linkage: who can be found again in a release of changed records."""
