"""The pages of the workbench: what each shows, and what can be done on it."""
