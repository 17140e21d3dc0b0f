"""How a column can be made from the columns before it: one file per method, each a function from a task to a step."""
