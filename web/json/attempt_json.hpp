// REST JSON of a program attempt and its record. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/core/api/attempt_record.hpp"
#include "server/core/api/program_views.hpp"
#include "web/json/members.hpp"

namespace muster::web {

struct stacked_rank {
  std::uint32_t rank = 0;
  std::string task, worker, host;
  std::string process;
};
void members(member_list const& m, stacked_rank const& r);

struct stack_group {
  core::stack_state state{};
  std::string stack;
  std::vector<stacked_rank> ranks;
};
void members(member_list const& m, stack_group const& g);

struct attempt_detail {
  core::program_attempt_view about;
  core::attempt_record record;
  std::map<std::string, std::uint32_t, std::less<>> ranks{};  // number of ranks, keyed by task
};
void members(member_list const& m, attempt_detail const& a);

}  // namespace muster::web
