"""Relations between columns: tables, associations, whole distributions."""
