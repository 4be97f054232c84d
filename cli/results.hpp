// Prints the results of a job, and its error in full.
#pragma once

#include <string>

#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {

enum class result_format {
  values,
  table,
  json,  // lines from the server: {"index":…,"state":…,"value":…}
};
void add_result_option(CLI::App& verb, result_format& format);

/// Prints results to stdout, and errors of the `values` format to stderr.
class result_printer {
 public:
  explicit result_printer(result_format format)
      : format_(format), rows_({right("INDEX"), "STATE", "VALUE"}) {}

  void print(std::string_view line);
  /// Prints a line on stderr if there were several values and all were null.
  void finish();

 private:
  void print_value(json::value const& value);

  result_format format_;
  table rows_;
  std::uint64_t nulls_ = 0;  // nulls that are not printed unless a value follows
  bool has_value_ = false;
};

void print_results(rest& server, std::string const& job, result_format format);

/// Returns 0 for SUCCEEDED; otherwise prints the error to stderr and returns 1.
int report_end(json::value const& job);

}  // namespace muster::cli
