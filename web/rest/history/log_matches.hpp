// Parameters and results of a log search.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/history/store/records.hpp"
#include "web/json/members.hpp"
#include "web/rest/history/history_reading.hpp"

namespace muster::web {

struct wanted_text {
  std::string text;
  bool ignore_case = false;  // whether to ignore the case of ASCII letters

  bool is_in(std::string_view line) const;
};

struct found_line {
  std::string cluster;
  core::session_id job{};
  server::log_line line;
};
void members(member_list const& m, found_line const& l);

struct found_rank_line {
  std::uint32_t rank = 0, attempt = 0;
  std::uint64_t offset = 0;  // byte offset of the line in the rank's output
  std::string task, text;
};
void members(member_list const& m, found_rank_line const& l);

struct log_matches {
  std::vector<found_line> lines;
  std::vector<found_rank_line> rank_lines;
  std::vector<std::string> unread;
  std::string next;  // page token; empty if the search is complete
};
void members(member_list const& m, log_matches const& found);

coro::task<response> search_ranks(web_context& context, exchange& ex, wanted_text wanted);

}  // namespace muster::web
