// REST JSON of waiting closures, gangs and programs. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/core/api/program_views.hpp"
#include "server/core/api/waiting_views.hpp"
#include "web/json/members.hpp"

namespace muster::web {

/// A row of the queue: a program if `program` is set, otherwise closures.
struct queue_row {
  std::optional<core::waiting_program_view> program{};
  core::queue_entry closures{};
  std::uint64_t position = 0;  // 0 if no connected worker can run the row
};

struct queue_page {
  std::vector<queue_row> rows;
  core::queue_view totals;  // without items
  std::uint64_t programs = 0;
  bool complete = true;
  std::string next_page_token{};  // empty on the last page
};

template <>
inline constexpr std::string_view schema_name<queue_row> = "QueueEntry";

void members(member_list const& m, queue_row const& r);
void members(member_list const& m, queue_page const& p);

}  // namespace muster::web
