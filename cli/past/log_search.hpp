// muster logs search: which lines have a text, of closures or of a program's ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/past/moments.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

struct log_search {
  time_range when;
  std::string program, job, cluster;
  std::optional<std::uint32_t> rank, attempt;
  bool ignore_case = false;
  std::size_t limit = 1'000;
};

/// Adds its flags to those of `logs`.
void add_log_search(CLI::App& verb, log_search& s);

/// `words`: "search" and the text. Prints; the exit status, 1 when no line has it.
int search_logs(server_options const& o, log_search const& s,
                std::vector<std::string> const& words);

}  // namespace muster::cli
