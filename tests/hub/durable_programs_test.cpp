#include "server/core/programs/controller.hpp"
#include "tests/hub/durable_jobs.hpp"

namespace muster::server {
namespace durable_cases {

using namespace std::chrono_literals;

struct rank_worker : hub_worker {
  core::stream_id attach(hub& h, std::uint64_t incarnation,
                         std::vector<core::held_rank> held = {}) {
    stream = h.attach(*this);
    core::worker_attached e{stream, {}};
    e.spec.functions = {"f"};
    e.spec.incarnation = core::incarnation{incarnation};
    e.programs = core::programs_offer{20'000, 20'099, 60s, "host-a", std::move(held)};
    e.programs->tunnel_key = "0123456789abcdef";
    h.apply(e);
    return stream;
  }
  void on_rank_orders(core::rank_orders const& o) override {
    for (auto const& s : o.starts) started += s.ranks.size();
    stopped += o.stops.size();
    forgotten += o.forget.size();
    if (o.lease > 0) lease = o.lease;
  }
  std::size_t started = 0, stopped = 0, forgotten = 0;
  std::uint64_t lease = 0;
};

struct durable_programs : durable_jobs {
  rank_worker w;
  std::vector<core::programs::fact> said;
  // Program facts written before each declaration.
  std::vector<std::size_t> declared_after;
  coordination_hub coordination{{.journalled = true},
                                1,
                                {.now = [] { return at; },
                                 .arm = [](core::time_point) {},
                                 .tell = [](log_event const&) {},
                                 .write_down =
                                     [this](auto const&) {
                                       declared_after.push_back(said.size());
                                       commits.wrote(++written);
                                     },
                                 .commits = &commits,
                                 .journal_refusal = [] { return muster::status{}; },
                                 .store = [] { return store_view{}; }}};
  std::vector<std::string> removed;
  program_clusters clusters{coordination,
                            {.tell = [](log_event const&) {},
                             .remove = [this](std::string name) { removed.push_back(name); }}};

  durable_programs() { h = make_with_programs(); }
  std::unique_ptr<hub> make_with_programs() {
    core::config c;
    c.durable = true;
    hub_dependencies e{[] { return at; }, [](core::time_point) {}};
    e.journal.write = [this](auto const&) { commits.wrote(++written); };
    e.programs.write = [this](std::vector<core::programs::fact> const& f) {
      said.insert(said.end(), f.begin(), f.end());
      commits.wrote(++written);
    };
    e.journal.commits = &commits;
    e.programs.clusters = &clusters;
    e.journal.refusal = [this] { return full ? no_room("d", "0 MiB") : muster::status{}; };
    return std::make_unique<hub>(c, e);
  }
  core::program_id submit(std::string const& key = {}) {
    core::submit_program e;
    e.spec.command = {"true"};
    e.spec.idempotency_key = key;
    e.spec.tasks.push_back({.min = 2, .max = 2});
    core::program_id id{};
    h->ask(std::move(e),
           [this](core::reply const& r) { log += r.status.ok() ? "taken " : "refused "; });
    if (auto const all = h->state().programs().list({}, 1, {}); !all.empty()) id = all[0].id;
    return id;
  }
  void disk_has_all(muster::status const& failed = {}) {
    commits.on_durable(failed.ok() ? written : 0, failed, at);
  }
};

TEST_F(durable_programs, lost_program_is_not_returned_for_its_key) {
  submit("once");
  submit("once");
  EXPECT_EQ(log, "");
  disk_has_all({code::internal, "no space"});
  EXPECT_EQ(log, "refused refused ");
}

TEST_F(durable_programs, are_found_by_their_key_although_the_disk_is_full) {
  submit("once");
  disk_has_all();
  full = true;
  submit("once");
  submit("other");
  EXPECT_EQ(log, "taken taken refused ");
}

TEST_F(durable_programs, are_placed_on_the_disk_before_a_rank_is_started) {
  w.attach(*h, 7);
  auto const p = submit();
  EXPECT_EQ(log, "");
  EXPECT_EQ(w.started, 0u);
  core::rank_reports alive;
  alive.stream = w.stream;
  alive.lease = 1;
  h->apply(alive);
  EXPECT_EQ(w.lease, 1u) << "a lease never waits";
  disk_has_all();
  EXPECT_EQ(log, "taken ");
  EXPECT_EQ(w.started, 2u);

  core::rank_reports ended;
  ended.stream = w.stream;
  ended.ended.push_back({.name = {p, 1, 0}});
  h->apply(ended);
  EXPECT_EQ(w.forgotten, 0u) << "its worker must keep it until it is stored";
  disk_has_all();
  EXPECT_EQ(w.forgotten, 1u);
}

// A server killed between the two would restart with an attempt whose ranks may be running, and
// with the keys of the previous attempt.
TEST_F(durable_programs, have_their_cluster_on_the_disk_before_the_attempt) {
  submit();
  auto const before = said.size();
  w.attach(*h, 7);
  ASSERT_EQ(declared_after.size(), 1u);
  EXPECT_EQ(declared_after[0], before);
  EXPECT_GT(said.size(), before);
}

TEST_F(durable_programs, restart_of_a_rank_after_a_server_restart_keeps_the_cluster) {
  w.attach(*h, 7);
  auto const p = submit();
  ASSERT_EQ(declared_after.size(), 1u);
  program_clusters next{coordination, {.tell = [](log_event const&) {}, .remove = [](auto) {}}};
  next.restored(p, 1, true, false);
  EXPECT_TRUE(next.serves(p, 1));
  core::attempt_sheet sheet;
  core::program_spec spec;
  spec.tasks.emplace_back();
  sheet.spec = std::make_shared<core::program_spec const>(std::move(spec));
  sheet.program = p;
  sheet.attempt = 1;
  sheet.tasks.push_back({});
  sheet.tunnels = true;
  next.begin(sheet);
  EXPECT_EQ(declared_after.size(), 1u) << "a new generation would end its ranks' registrations";
  sheet.attempt = 2;
  next.begin(sheet);
  EXPECT_EQ(declared_after.size(), 2u);
}

TEST_F(durable_programs, hangs_are_stored_until_the_ranks_make_progress) {
  w.attach(*h, 7);
  auto const p = submit();
  h->apply(core::rank_reports{w.stream, {{{p, 1, 0}, 100, {}}, {{p, 1, 1}, 101, {}}}, {}, 0});
  auto const last_hang = [&] {
    std::optional<core::hang> found;
    for (auto const& f : said)
      if (auto const* c = std::get_if<core::programs::course_fact>(&f)) found = c->hang;
    return found;
  };
  core::hang what;
  what.rank = 1;
  what.since = at;
  h->apply(core::program_hangs{p, 1, what});
  EXPECT_EQ(last_hang(), what);
  EXPECT_EQ(h->state().programs().find(p)->hang, what);
  h->apply(core::program_hangs{.program = p, .attempt = 1, .over = true});
  EXPECT_EQ(last_hang(), std::nullopt);
  EXPECT_EQ(h->state().programs().find(p)->hang, std::nullopt);
}

TEST_F(durable_programs, are_removed_with_their_pool_and_so_are_their_clusters) {
  w.attach(*h, 7);
  auto const p = submit();
  EXPECT_NE(clusters.of(p), "");
  h->close("gone");
  EXPECT_EQ(removed, std::vector{core::text(p)});
  EXPECT_TRUE(std::holds_alternative<core::programs::program_removed>(said.back()));
}

TEST_F(durable_programs, are_not_started_on_a_disk_that_has_failed_and_can_be_stopped) {
  w.attach(*h, 7);
  auto const p = submit();
  disk_has_all({code::internal, "no space"});
  EXPECT_EQ(log, "refused ");
  EXPECT_EQ(w.started, 0u);
  core::change_program e{{}, p, core::program_command::cancel};
  h->ask(e, [](auto const&) {});
  EXPECT_EQ(w.stopped, 1u);
}

TEST_F(durable_programs, are_refused_while_nothing_new_can_be_written) {
  full = true;
  submit();
  EXPECT_EQ(log, "refused ");
  EXPECT_TRUE(said.empty());
}

TEST_F(durable_programs, rank_end_in_a_hello_is_forgotten_once_it_is_stored) {
  w.attach(*h, 7);
  auto const p = submit();
  disk_has_all();
  rank_worker again;
  again.attach(*h, 7, {{{p, 1, 0}, 5, core::rank_end{.name = {p, 1, 0}}}, {{p, 1, 1}, 6, {}}});
  EXPECT_EQ(again.forgotten, 0u);
  disk_has_all();
  EXPECT_EQ(again.forgotten, 1u);
}

}  // namespace durable_cases
}  // namespace muster::server
