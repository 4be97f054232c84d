#include "tests/journal/goldens/scenes.hpp"

#include "muster/journal/v1/records.pb.h"
#include "server/journal/entries.hpp"

namespace muster::server::journal::goldens {
namespace scene_details {

// Adds an entry that the data directory writes; data_directory_test compares it.
void add_format(std::vector<scene>& all) {
  muster::journal::v1::Format full, empty;
  full.set_version(format_known);
  full.set_written_by("9.9");
  full.set_epoch(5'000'000'001);
  full.set_sessions(6'000'000'002);
  full.set_identity(0xf000'0000'0000'0003);
  for (auto const* f : {&full, &empty})
    all.push_back({f == &full ? "format" : "empty format",
                   {{change::kind::put, format_key, f->SerializeAsString()}}});
}

void encode_again(stored_job const& j, std::vector<change>& into) {
  std::vector<core::fact> facts;
  if (j.job.job.id != core::session_id{}) facts.push_back(j.job.job);
  for (auto const& v : j.job.per_worker) facts.push_back(v);
  for (auto const& a : j.job.accepted) {
    facts.push_back(a);
    for (std::uint32_t n = 0; n < a.closures.size(); ++n)
      if (a.closures[n].forgotten) facts.push_back(core::closure_removed{a.job, a.first + n});
  }
  for (auto const& c : j.job.closures) facts.push_back(c);
  encode(j.cluster, facts, into);
}

void encode_again(stored_program const& p, std::vector<change>& into) {
  std::vector<core::programs::fact> facts{p.program.submitted};
  for (auto const& a : p.program.attempts)
    facts.push_back(core::programs::attempt_fact{p.program.submitted.program, a});
  if (p.program.placement) facts.push_back(*p.program.placement);
  for (auto const& r : p.program.ended) facts.push_back(r);
  facts.push_back(p.program.course);
  encode(p.cluster, facts, into);
}

void encode_again(core::coordination::restored_cluster const& c, std::vector<change>& into) {
  auto const& name = c.cluster.spec.name;
  std::vector<core::coordination::fact> facts{{name, c.cluster}};
  for (auto const& t : c.tasks) facts.push_back({name, t});
  for (auto const& k : c.keys) facts.push_back({name, k});
  for (auto const& b : c.barriers) facts.push_back({name, b});
  encode(facts, into);
}

void encode_again(stored_record const& r, std::vector<change>& into) {
  encode(r.program, r.attempt, &r.what, into);
}

void encode_again(core::token const& t, std::vector<change>& into) {
  encode(core::token_change{t.id, std::make_shared<core::token const>(t)}, into);
}

// Does nothing after the first error.
template <class All>
void encode_again(muster::result<All> const& loaded, muster::status& failed,
                  std::vector<change>& into) {
  if (failed.ok() && !loaded) failed = loaded.error();
  if (!failed.ok()) return;
  for (auto const& one : *loaded) encode_again(one, into);
}

}  // namespace scene_details

std::vector<scene> all_scenes() {
  std::vector<scene> all;
  add_job_scenes(all);
  add_program_scenes(all);
  add_record_scenes(all);
  add_cluster_scenes(all);
  add_token_scenes(all);
  scene_details::add_format(all);
  return all;
}

muster::result<memory_store> reencoded(store const& s) {
  muster::status failed;
  std::vector<change> batch;
  scene_details::encode_again(load_jobs(s), failed, batch);
  scene_details::encode_again(load_programs(s), failed, batch);
  scene_details::encode_again(load_records(s), failed, batch);
  scene_details::encode_again(load_clusters(s), failed, batch);
  scene_details::encode_again(load_tokens(s), failed, batch);
  if (!failed.ok()) return failed;
  memory_store back;
  if (auto const written = back.write(batch); !written.ok()) return written;
  return back;
}

}  // namespace muster::server::journal::goldens
