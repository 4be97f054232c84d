// What the cores have to have written down, as entries of a store, and back; see
// journal/v1/records.proto. What is loaded: INTERNAL names an entry that cannot be read, or says
// what others it does not fit.
#pragma once

#include <vector>

#include "server/core/access/token.hpp"
#include "server/core/api/attempt_record.hpp"
#include "server/core/api/facts.hpp"
#include "server/core/api/program_facts.hpp"
#include "server/core/coordination/api/coordination_facts.hpp"
#include "server/journal/store.hpp"

namespace muster::server::journal {

// Each appends what has to be written for these facts, in their order.
/// `cluster`: whose jobs they are.
void encode(std::string const& cluster, std::vector<core::fact> const& facts,
            std::vector<change>& into);
void encode(std::string const& cluster, std::vector<core::programs::fact> const& facts,
            std::vector<change>& into);
void encode(std::vector<core::coordination::fact> const& facts, std::vector<change>& into);
void encode(core::token_fact const& f, std::vector<change>& into);
/// Null: it goes.
void encode(core::program_id program, std::uint32_t attempt, core::attempt_record const* what,
            std::vector<change>& into);

struct stored_job {
  std::string cluster;
  core::restored_job job;
};
/// All jobs of a store, in order of their numbers, before them the values of nobody by cluster.
muster::result<std::vector<stored_job>> load_jobs(store const& s);
struct stored_program {
  std::string cluster;
  core::programs::restored_program program;
};
/// All programs, in order of their numbers.
muster::result<std::vector<stored_program>> load_programs(store const& s);
struct stored_record {
  core::program_id program{};
  std::uint32_t attempt = 0;
  core::attempt_record what;
};
/// All records of attempts, in order of their programs; what cannot be read is passed over, and so
/// is what it may say of programs that nobody knows.
muster::result<std::vector<stored_record>> load_records(store const& s);
/// All clusters, in order of names.
muster::result<std::vector<core::coordination::restored_cluster>> load_clusters(store const& s);
/// All tokens, in order of ids.
muster::result<std::vector<core::token>> load_tokens(store const& s);

}  // namespace muster::server::journal
