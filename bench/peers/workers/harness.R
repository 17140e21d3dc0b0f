# What every worker in R does: read the jobs (an R expression), run each after a small warm-up, write a line of JSON per
# job with time, memory and figures. harness.py does the same for Python. R as it comes, without a package for JSON.

quoted <- function(text) encodeString(gsub("[[:cntrl:]]", " ", text), quote = "\"")

as_json <- function(value) {
  if (is.list(value)) {
    parts <- vapply(value, as_json, "")
    return(paste0("{", paste0(quoted(names(value)), ": ", parts, collapse = ", "), "}"))
  }
  if (is.character(value)) return(quoted(value))
  if (is.finite(value)) sprintf("%.17g", value) else quoted(as.character(value))
}

# CPU seconds of this process and its children that ended
used <- function() sum(proc.time()[c("user.self", "sys.self", "user.child", "sys.child")])

# Largest memory of this process in MiB, and the load of the machine; where the system does not tell, the word NA
peak <- function() {
  told <- if (file.exists("/proc/self/status")) grep("^VmHWM", readLines("/proc/self/status"), value = TRUE)
  if (length(told)) as.numeric(gsub("[^0-9]", "", told)) / 1024 else NA_real_
}
load_now <- function() {
  if (file.exists("/proc/loadavg")) as.numeric(strsplit(readLines("/proc/loadavg"), " ")[[1]][1]) else NA_real_
}

one <- function(job, questions) {
  ask <- questions[[job$question]]
  if (is.null(ask)) stop("no question ", job$question)
  tables <- lapply(job$tables, read.csv, stringsAsFactors = FALSE, check.names = FALSE)
  warmed <- NULL
  if (job$warm > 0) {
    warmed <- ask(lapply(tables, head, job$warm), modifyList(job$options, job$warm_options))
  }
  cpu <- used()
  wall <- proc.time()[["elapsed"]]
  figures <- ask(tables, job$options)
  found <- list(cpu = used() - cpu, wall = proc.time()[["elapsed"]] - wall, peak = peak(), load = load_now())
  c(found, list(figures = figures), if (!is.null(warmed)) list(warmed = warmed))
}

serve <- function(questions) {
  told <- commandArgs(trailingOnly = TRUE)
  jobs <- source(told[1], encoding = "UTF-8")$value
  answers <- file(told[2], open = "w", encoding = "UTF-8")
  for (job in jobs) {
    answer <- tryCatch(one(job, questions), error = function(problem) {
      list(failed = substr(conditionMessage(problem), 1, 300))
    })
    writeLines(as_json(answer), answers)
    flush(answers)
  }
  close(answers)
}

# -- tables ------------------------------------------------------------------------------------------------------------

# The columns of two tables as R's models want them: labels as factors over the levels of both, in the order of their
# code points (a level that is in one table only would otherwise shift the codes of all that come after it).
coded <- function(learn, ask) {
  for (name in names(learn)) {
    if (is.character(learn[[name]])) {
      levels <- sort(unique(c(learn[[name]], ask[[name]])), method = "radix")
      learn[[name]] <- factor(learn[[name]], levels)
      ask[[name]] <- factor(ask[[name]], levels)
    }
  }
  list(learn = learn, ask = ask)
}

# Of the class probabilities of some records: the mean of that of the true class, the share of best guesses that are
# right, and the share of records whose gain over the share of their class is above 0.3 (RAPID).
scored <- function(probabilities, truth) {
  own <- probabilities[cbind(seq_along(truth), match(truth, colnames(probabilities)))]
  share <- (table(truth) / length(truth))[as.character(truth)]
  right <- colnames(probabilities)[max.col(probabilities, ties.method = "first")] == truth
  list(own = mean(own), accuracy = mean(right), rapid = mean((own - share) / (1 - share) > 0.3))
}

# One word for which records are together: the same for the same grouping, whatever the groups are called.
grouping <- function(group) {
  path <- tempfile()
  on.exit(unlink(path))
  writeLines(as.character(match(group, unique(group))), path)
  unname(tools::md5sum(path))
}
