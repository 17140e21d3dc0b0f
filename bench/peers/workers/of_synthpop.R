# synthpop: a release of the original by trees, column after column in the order of the table.

source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "harness.R"))

synthesis <- function(tables, options) {
  suppressPackageStartupMessages(library(synthpop))
  original <- coded(tables$original, tables$original)$learn
  made <- syn(original, method = "cart", seed = options$seed, print.flag = FALSE)$syn
  rows <- function(table) do.call(paste, c(lapply(table, as.character), sep = "\r"))
  list(
    target = mean(as.character(made[[options$target]]) == levels(original[[options$target]])[1]),
    number = mean(made[[options$number]]), copied = mean(rows(made) %in% rows(original))
  )
}

serve(list(synthesis = synthesis))
