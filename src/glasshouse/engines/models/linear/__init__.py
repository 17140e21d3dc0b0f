"""Linear models: least squares, logistic, multinomial, lasso."""
