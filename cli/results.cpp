#include "cli/results.hpp"

#include <iostream>

#include "base/text.hpp"
#include "cli/neutral_text.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

constexpr std::size_t cell_width_max = 100;

}  // namespace

void result_printer::print(std::string_view line) {
  if (format_ == result_format::json) {
    std::cout << neutral_text(line, text_layout::lines) << '\n';
    return;
  }
  auto const result = json::parse(json::string_view(line.data(), line.size()));
  auto const state = text_of(result, "state");
  auto const& value = field_of(result, "value");
  if (format_ == result_format::values) {
    if (state == "SUCCEEDED")
      print_value(value);
    else
      std::cerr << "#" << text_of(result, "index") << " " << in_short(field_of(result, "error"))
                << '\n';
    return;
  }
  rows_.add({text_of(result, "index"), state,
             for_terminal(state == "SUCCEEDED" ? json::serialize(value)
                                               : in_short(field_of(result, "error")),
                          cell_width_max)});
}

// Hides null results, because functions without a result would fill the screen with "null".
void result_printer::print_value(json::value const& value) {
  if (!has_value_ && value.is_null()) {
    ++nulls_;
    return;
  }
  has_value_ = true;
  for (; nulls_ > 0; --nulls_) std::cout << "null\n";
  std::cout << neutral_text(json::serialize(value), text_layout::lines) << '\n';
}

void result_printer::finish() {
  if (nulls_ == 1) std::cout << "null\n";
  if (nulls_ > 1)
    std::cerr << with_thousands(nulls_) << " closures succeeded, but none returned a value\n";
  if (format_ == result_format::table) rows_.print(std::cout);
  std::cout.flush();
}

void add_result_option(CLI::App& verb, result_format& format) {
  add_choice(verb, "--output", format,
             {{"values", result_format::values},
              {"table", result_format::table},
              {"json", result_format::json}},
             "values: one JSON value per line; table: values with index and state; json: one "
             "object with all fields per line");
}

void print_results(rest& server, std::string const& job, result_format format) {
  result_printer printer(format);
  server.stream("/api/v1/jobs/" + percent_encoded(job) + "/results", [&](std::string_view line) {
    if (!line.empty()) printer.print(line);
    return std::cout.good();  // false if the reader of our output has exited
  });
  printer.finish();
}

int report_end(json::value const& job) {
  auto const state = text_of(job, "state");
  if (state == "SUCCEEDED") return exit_ok;
  std::string line = "job " + text_of(job, "id") + " " + state;
  auto const& error = field_of(job, "error");
  if (!error.is_null()) line += ": " + in_full(error);
  std::cerr << line << '\n';
  return exit_failed;
}

}  // namespace muster::cli
