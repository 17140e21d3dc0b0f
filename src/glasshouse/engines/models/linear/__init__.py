"""Linear models on coded keys or a dense design: least squares, logit, multinomial, lasso, Firth; one rank rule."""
