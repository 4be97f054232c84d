// muster logs search: searches the logs of closures or of a program's ranks.
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

void add_log_search(CLI::App& verb, log_search& s);

int search_logs(server_options const& o, log_search const& s,
                std::vector<std::string> const& words);

}  // namespace muster::cli
