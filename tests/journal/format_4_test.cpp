#include "tests/journal/format_4.hpp"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "server/core/api/id_text.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/journal/fact_encoding.hpp"
#include "tests/journal/format_4_world.hpp"

namespace muster::server::journal {
namespace {

std::string at(core::time_point t) {
  if (t == core::never) return "never";
  return t == core::time_point{} ? "-" : std::to_string((t - core::start).count());
}

std::string said(std::optional<core::failure> const& f) {
  if (!f) return "-";
  return std::string(name(f->kind)) + " " + f->type + ": " + f->message + " | " +
         absl::CEscape(f->traceback) + " | " + f->worker + " " + std::to_string(f->attempt) + " " +
         absl::CEscape(f->exception);
}

std::string said(core::blob const& b) {
  return (b.encoding() == core::encoding::bytes ? "bytes " : "") +
         absl::CEscape(std::string(b.view()));
}

void describe(core::closure_view const& c, std::ostream& out) {
  out << "  " << c.index << " " << text(c.id) << " " << c.function << " '" << c.display_name << "' "
      << name(c.state) << " created " << at(c.created) << " finished " << at(c.finished) << "\n    "
      << said(c.args) << " -> " << said(c.data) << " error " << said(c.error) << " retries "
      << c.retries << " start_at " << at(c.start_at) << " deadline " << at(c.deadline) << "\n    "
      << "priority " << c.options.priority << " gang '" << c.options.gang << "' task "
      << c.options.task_job << ":" << c.options.task_index << " labels " << c.options.labels.size()
      << " resources " << c.options.resources.size() << " inputs";
  for (auto const i : c.inputs) out << " " << text(i);
  out << " per_worker";
  for (auto const v : c.per_worker) out << " " << raw(v);
  out << "\n";
  for (auto const& a : c.attempts)
    out << "    attempt " << a.attempt << " " << a.worker << " " << a.host << " "
        << raw(a.incarnation) << " " << at(a.started) << ".." << at(a.ended) << " "
        << static_cast<int>(a.outcome.how) << " " << a.outcome.detail << "\n";
}

std::string described(core::coordinator const& c, std::vector<stored_job> const& known) {
  std::ostringstream out;
  for (auto const& k : known) {
    if (k.job.job.id == core::session_id{}) continue;
    auto const j = c.sessions().find(k.job.job.id).value();
    out << text(j.id) << " '" << j.name << "' " << name(j.state) << (j.open ? " open" : "")
        << (j.resumable ? " holding" : "") << (j.detached ? " detached" : "") << " generation "
        << j.generation << " error " << said(j.error) << " created " << at(j.created)
        << " finished " << at(j.finished) << "\n  metadata '" << j.metadata << "' by '"
        << j.submitted_by << "' client '" << j.client << "' retry_of " << raw(j.retry_of)
        << " weight " << j.weight << " deadline " << at(j.deadline) << " not_kept " << j.not_kept
        << " held " << j.held << " durable " << j.durable << "\n";
    for (auto const& request : k.job.accepted)
      for (auto const& closure : request.closures) {
        if (closure.forgotten) continue;
        describe(c.closures().find(closure.id).value(), out);
        if (closure.token != 0 && j.resumable)
          out << "    token " << closure.token << " is of "
              << text(c.closure_of(j.id, closure.token)) << "\n";
      }
  }
  for (auto const& v : c.per_worker().list({}, 100).items)
    out << "per_worker " << raw(v.id) << " " << v.name << " " << v.function << " " << said(v.args)
        << " of " << raw(v.owner) << " by '" << v.submitted_by << "' released " << v.released
        << " users " << v.users << "\n";
  return out.str();
}

memory_store stored(std::vector<change> const& entries) {
  memory_store s;
  EXPECT_TRUE(s.write(entries).ok());
  return s;
}

// Returns the state after loading; `dice` shuffles the order of the facts.
std::string opened_again(std::vector<change> const& entries, std::mt19937* dice = nullptr) {
  auto const s = stored(entries);
  auto const jobs = load_jobs(s);
  EXPECT_TRUE(jobs.has_value()) << (jobs ? "" : jobs.error().message);
  if (!jobs) return {};
  core::config durable;
  durable.durable = true;
  core::cluster c(durable);
  core::restore_jobs all;
  for (auto const& j : *jobs) {
    EXPECT_EQ(j.cluster, "train");
    all.jobs.push_back(j.job);
  }
  auto const shuffle = [&](auto& list) {
    if (dice) std::shuffle(list.begin(), list.end(), *dice);
  };
  shuffle(all.jobs);
  for (auto& j : all.jobs) shuffle(j.accepted), shuffle(j.closures), shuffle(j.per_worker);
  c.wait(std::chrono::minutes(1));
  c.restore(std::move(all));
  EXPECT_TRUE(c.fx().facts.empty()) << "loaded state is written again";
  EXPECT_EQ(c.core.violated_invariant(), "");
  return described(c.core, *jobs);
}

TEST(format_4, is_restored_unchanged) {
  std::ostringstream expected;
  expected << std::ifstream(format_4_file("comes_back")).rdbuf();
  auto const back = opened_again(format_4_entries());
  EXPECT_EQ(back, expected.str());
}

TEST(format_4, is_restored_from_entries_in_any_order) {
  std::mt19937 dice(4);
  auto entries = format_4_entries();
  auto const back = opened_again(entries);
  for (int i = 0; i < 50; ++i) {
    std::shuffle(entries.begin(), entries.end(), dice);
    ASSERT_EQ(opened_again(entries, &dice), back) << i;
  }
}

TEST(format_4, restores_clusters_and_tokens) {
  auto const s = stored(format_4_entries());
  auto const clusters = load_clusters(s);
  ASSERT_TRUE(clusters.has_value()) << clusters.error().message;
  ASSERT_EQ(clusters->size(), 1u);
  auto const& c = clusters->at(0);
  EXPECT_EQ(c.cluster.spec.name, "train");
  EXPECT_EQ(c.cluster.spec.jobs.at(0).tasks, 2u);
  ASSERT_TRUE(c.cluster.next.has_value());
  EXPECT_EQ(c.cluster.next->jobs.at(0).tasks, 4u);
  EXPECT_TRUE(c.cluster.failed);
  EXPECT_EQ(c.cluster.cause_task, 1u);
  ASSERT_EQ(c.tasks.size(), 3u);
  EXPECT_EQ(c.tasks[1].state, core::coordination::agent_state::error);
  EXPECT_EQ(c.tasks[1].error->message, "out of memory");
  EXPECT_EQ(c.tasks[2].incarnation, core::incarnation{102});
  ASSERT_EQ(c.keys.size(), 2u);
  EXPECT_EQ(c.keys[0].key, "a/b");
  EXPECT_EQ(c.keys[0].value->view(), "{}");
  EXPECT_EQ(c.barriers.size(), 3u);
  auto const tokens = load_tokens(s);
  ASSERT_TRUE(tokens.has_value()) << tokens.error().message;
  ASSERT_EQ(tokens->size(), 1u);
  EXPECT_EQ(tokens->at(0).id, "ci-0a1b");
  EXPECT_EQ(tokens->at(0).role, core::role::submitter);
  EXPECT_EQ(tokens->at(0).digest, "\xff digest");
}

TEST(format_4, is_written_by_this_server) {
  std::vector<change> all;
  format_4_world world;
  EXPECT_TRUE(world.written()
                  .read("",
                        [&](auto key, auto value) {
                          all.push_back({change::kind::put, std::string(key), std::string(value)});
                          return true;
                        })
                  .ok());
  auto const known = format_4_entries();
  ASSERT_EQ(all.size(), known.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i], known[i]) << absl::CEscape(known[i].key) << "\n"
                                << absl::CEscape(known[i].value) << "\nnow\n"
                                << absl::CEscape(all[i].value);
}

}  // namespace
}  // namespace muster::server::journal
