// Prints what came out of a job: its values as they stand in the NDJSON answer of the server, and
// the error it ended with, in full.
#pragma once

#include <string>

#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {

enum class result_format {
  values,  // one value a line, as JSON
  table,   // index, state, value or error
  json,    // the server's own lines: {"index":…,"state":…,"value":…}
};
/// Adds --output values|table|json.
void add_result_option(CLI::App& verb, result_format& format);

/// Prints the lines of a job's results to stdout, errors in the `values` format to stderr.
class result_printer {
 public:
  explicit result_printer(result_format format)
      : format_(format), rows_({right("INDEX"), "STATE", "VALUE"}) {}

  /// One line as the server tells it.
  void print(std::string_view line);
  /// Nothing follows: a table is printed now. Several values that are all null are a line on
  /// stderr.
  void finish();

 private:
  void print_value(json::value const& value);

  result_format format_;
  table rows_;
  std::uint64_t nulls_ = 0;  // the first results, held back until one has a value
  bool has_value_ = false;
};

/// What there is, in schedule order.
void print_results(rest& server, std::string const& job, result_format format);

/// 0 for SUCCEEDED; else the job's error on stderr and 1.
int report_end(json::value const& job);

}  // namespace muster::cli
