// Converts the cores' state changes to store entries and back; see journal/v1/records.proto. The
// load functions return INTERNAL with the name of an unreadable or inconsistent entry.
#pragma once

#include <vector>

#include "server/core/access/token.hpp"
#include "server/core/api/attempt_record.hpp"
#include "server/core/api/facts.hpp"
#include "server/core/api/program_facts.hpp"
#include "server/core/coordination/api/coordination_facts.hpp"
#include "server/journal/store.hpp"

namespace muster::server::journal {

// Each function appends the changes for these facts to `into`, in order.
void encode(std::string const& cluster, std::vector<core::fact> const& facts,
            std::vector<change>& into);
void encode(std::string const& cluster, std::vector<core::programs::fact> const& facts,
            std::vector<change>& into);
void encode(std::vector<core::coordination::fact> const& facts, std::vector<change>& into);
void encode(core::token_change const& f, std::vector<change>& into);
/// Deletes the attempt's record if `what` is null.
void encode(core::program_id program, std::uint32_t attempt, core::attempt_record const* what,
            std::vector<change>& into);

struct stored_job {
  std::string cluster;
  core::restored_job job;
};
/// Loads all jobs in order of their numbers. Values without a session come first.
muster::result<std::vector<stored_job>> load_jobs(store const& s);
struct stored_program {
  std::string cluster;
  core::programs::restored_program program;
};
muster::result<std::vector<stored_program>> load_programs(store const& s);
struct stored_record {
  core::program_id program{};
  std::uint32_t attempt = 0;
  core::attempt_record what;
};
/// Skips unreadable records and records of unknown programs.
muster::result<std::vector<stored_record>> load_records(store const& s);
muster::result<std::vector<core::coordination::restored_cluster>> load_clusters(store const& s);
muster::result<std::vector<core::token>> load_tokens(store const& s);

}  // namespace muster::server::journal
