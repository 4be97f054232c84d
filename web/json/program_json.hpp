// REST JSON of programs: requests and views. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/core/api/program_views.hpp"
#include "server/hub/programs/rank_logs.hpp"
#include "web/json/json_in.hpp"
#include "web/json/members.hpp"

namespace muster::web {

struct program_request {
  std::string cluster;
  core::program_spec spec;
  /// If not set, the program uses the server's TCPStore of the cluster, or else a store on rank 0.
  std::optional<core::store_place> store{};
};

program_request read_program(json_check& check, json_ref const& body);
schema::named program_schema();

struct stop_request {
  std::optional<std::uint64_t> at_step;  // 0 selects the next step
};
stop_request read_stop(json_check& check, json_ref const& body);
schema::named stop_schema();

void members(member_list const& m, core::program_view const& p);
void members(member_list const& m, core::rank_view const& r);
void members(member_list const& m, core::program_attempt_view const& a);
void members(member_list const& m, server::rank_log const& l);

}  // namespace muster::web
