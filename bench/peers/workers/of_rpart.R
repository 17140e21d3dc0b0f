# rpart: a class tree and a tree of numbers with leaves as small as a synthesiser's, fitted on the release and asked about
# the original. `extras`: with what rpart does if it is not told otherwise, cross-validation and surrogate splits.

source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "harness.R"))

grow <- function(given, target, method, options) {
  limits <- rpart::rpart.control(
    minsplit = options$minsplit, minbucket = options$minbucket, cp = options$cp, maxdepth = options$maxdepth,
    xval = if (options$extras) 10 else 0, maxsurrogate = if (options$extras) 5 else 0,
    maxcompete = if (options$extras) 4 else 0
  )
  rpart::rpart(reformulate(".", as.name(target)), data = given$learn, method = method, control = limits)
}

trees <- function(tables, options) {
  given <- coded(tables$released, tables$original)
  classes <- grow(given, options$target, "class", options)
  numbers <- grow(given, options$number, "anova", options)
  answers <- scored(predict(classes, given$ask, type = "prob"), given$ask[[options$target]])
  gaps <- predict(numbers, given$ask) - given$ask[[options$number]]
  list(
    own = answers$own, rapid = answers$rapid, error = sqrt(mean(gaps^2)),
    class_leaves = length(unique(classes$where)), number_leaves = length(unique(numbers$where)),
    class_grouping = grouping(classes$where), number_grouping = grouping(numbers$where)
  )
}

serve(list(trees = trees))
