# ranger: the random forest behind RAPID, fitted on the release and asked about the original.

source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "harness.R"))

forest <- function(tables, options) {
  keys <- setdiff(names(tables$original), options$target)
  given <- coded(tables$released, tables$original)
  grown <- ranger::ranger(
    x = given$learn[keys], y = given$learn[[options$target]], num.trees = options$trees, probability = TRUE,
    num.threads = 1, seed = options$seed, verbose = FALSE
  )
  answers <- predict(grown, given$ask[keys], num.threads = 1, verbose = FALSE)
  scored(answers$predictions, given$ask[[options$target]])
}

serve(list(forest = forest))
