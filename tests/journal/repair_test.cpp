#include "server/journal/repair.hpp"

#include "server/core/api/generations.hpp"
#include "server/core/api/id_text.hpp"
#include "server/journal/entries.hpp"
#include "tests/journal/directory.hpp"

namespace muster::server::journal {
namespace repair_cases {

namespace fs = std::filesystem;
using kind = change::kind;
using core::closure_id;
using core::session_id;

constexpr closure_id id_of(std::uint64_t generation, std::uint64_t slot) {
  return closure_id{generation << 32 | slot};
}

/// Returns a request whose last closure takes the inputs.
core::accepted_fact request_of(session_id job, std::vector<closure_id> const& ids,
                               std::vector<closure_id> const& inputs = {}) {
  core::accepted_fact f{job, 0, {}, {"f"}, {}};
  for (auto const id : ids) f.closures.push_back({id, 0, core::blob("[1]"), nullptr});
  if (inputs.empty()) return f;
  auto extras = std::make_shared<core::closure_extras>();
  for (auto const i : inputs) extras->inputs.push_back({i, 0});
  f.closures.back().extras = extras;
  return f;
}

core::closure_fact success(session_id job, std::uint32_t order, std::string value) {
  core::closure_fact f;
  f.job = job;
  f.order = order;
  f.state = core::closure_state::succeeded;
  f.value = core::blob(std::move(value));
  return f;
}

core::job_fact job_of(std::uint64_t number) {
  core::job_fact f;
  f.id = session_id{number};
  return f;
}

using all_entries = std::map<std::string, std::string>;

all_entries entries_of(fs::path const& at) {
  all_entries all;
  auto const view = rocks_view::open(at);
  EXPECT_TRUE(view) << view.error().message;
  EXPECT_TRUE(
      (*view)->read({}, [&](auto key, auto value) { return all.emplace(key, value), true; }).ok());
  return all;
}

muster::result<contents> checked(fs::path const& at) {
  auto const view = rocks_view::open(at);
  if (!view) return view.error();
  return inspect(**view);
}

class repair : public ::testing::Test {
 protected:
  fs::path at() const { return directory_ / "d"; }
  fs::path copy() const { return directory_ / "copy"; }

  void write(std::vector<core::fact> const& facts) {
    std::vector<change> batch;
    encode("train", facts, batch);
    write_raw(batch);
  }
  void write_raw(std::vector<change> const& batch) {
    auto const s = opened(at());
    if (!std::exchange(begun_, true)) {
      EXPECT_TRUE(s->write(some_entries(1)).ok());
    }
    EXPECT_TRUE(s->write(batch).ok());
  }
  repair_plan repaired(bool drop = false) {
    before_ = entries_of(at());
    auto const done = repair_store(at(), copy(), drop);
    EXPECT_TRUE(done) << done.error().message;
    if (!done) return {};
    EXPECT_EQ(entries_of(copy()), before_) << "the copy contains the original entries";
    auto const now = checked(at());
    EXPECT_TRUE(now) << now.error().message;
    return *done;
  }
  std::map<session_id, core::restored_job> jobs() {
    std::map<session_id, core::restored_job> all;
    auto loaded = load_jobs(*opened(at()));
    EXPECT_TRUE(loaded) << loaded.error().message;
    if (loaded)
      for (auto& j : *loaded) all[j.job.job.id] = std::move(j.job);
    return all;
  }
  std::string problem() const {
    auto const c = checked(at());
    return c ? std::string() : c.error().message;
  }

  test::temporary_directory directory_;
  all_entries before_;
  bool begun_ = false;
};

TEST_F(repair, changes_nothing_in_consistent_data) {
  write({job_of(7), request_of(session_id{7}, {id_of(1, 5)}), success(session_id{7}, 0, "41")});
  auto const before = entries_of(at());
  auto const done = repair_store(at(), copy(), false);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->changes.empty());
  EXPECT_EQ(entries_of(at()), before);
  EXPECT_FALSE(fs::exists(copy()));
}

TEST_F(repair, text_that_is_not_utf8_is_readable_and_stays) {
  auto job = job_of(7);
  job.spec.name = "name\xff";
  auto request = request_of(session_id{7}, {id_of(1, 5)});
  request.functions = {"f\xff"};
  write({job, request, success(session_id{7}, 0, "41")});
  auto const before = entries_of(at());
  auto const done = repair_store(at(), copy(), true);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->changes.empty());
  EXPECT_EQ(entries_of(at()), before);
}

// Caused by a new leader that did not see its predecessor's job.
TEST_F(repair, gives_closures_with_the_same_slot_separate_slots_and_keeps_both) {
  auto const older = session_id{7}, reader = session_id{8}, newer = session_id{9};
  auto const later = (1u << 20) + 1;
  write({job_of(7), request_of(older, {id_of(1, 5), id_of(1, 6)}), success(older, 0, "41"),
         success(older, 1, "42")});
  write({job_of(8), request_of(reader, {id_of(1, 7)}, {id_of(1, 5), id_of(1, 6)})});
  write({job_of(9), request_of(newer, {id_of(later, 5)}), success(newer, 0, "43")});
  EXPECT_NE(problem().find("its data is damaged (the closures " + core::text(id_of(1, 5)) + " of " +
                           core::text(older) + " and " + core::text(id_of(later, 5)) + " of " +
                           core::text(newer) + " have the same id"),
            std::string::npos)
      << problem();
  EXPECT_EQ(problem().find('\n'), std::string::npos);

  auto const done = repaired();
  EXPECT_EQ(done.moved, 1u);
  EXPECT_EQ(done.removed, 0u);
  auto all = jobs();
  EXPECT_EQ(all[newer].accepted[0].closures[0].id, id_of(later, 5)) << "the newest keeps its id";
  auto const& moved = all[older].accepted[0].closures;
  EXPECT_EQ(raw(moved[0].id) >> 32, core::generations_of(8).first) << "no server gave this id";
  EXPECT_EQ(raw(moved[0].id) & 0xffffffff, 4096u);
  EXPECT_EQ(moved[1].id, id_of(1, 6));
  EXPECT_EQ(all[older].closures[0].value.view(), "41");
  EXPECT_EQ(all[newer].closures[0].value.view(), "43");
  auto const& inputs = all[reader].accepted[0].closures[0].extras->inputs;
  EXPECT_EQ(inputs[0].closure, moved[0].id) << "references to it follow";
  EXPECT_EQ(inputs[1].closure, id_of(1, 6));
  EXPECT_EQ(checked(at())->epoch, 8u) << "the next server begins after the new ids";
  EXPECT_TRUE(repair_store(at(), directory_ / "again", false)->changes.empty());
}

TEST_F(repair, gives_a_closure_without_a_slot_one) {
  write({job_of(7), request_of(session_id{7}, {id_of(0, 5)}), success(session_id{7}, 0, "41")});
  EXPECT_NE(problem().find("the closure " + core::text(id_of(0, 5)) + " of " +
                           core::text(session_id{7}) + " has an invalid id"),
            std::string::npos)
      << problem();
  EXPECT_EQ(repaired().moved, 1u);
  EXPECT_EQ(jobs()[session_id{7}].closures[0].value.view(), "41");
}

// Caused by two servers with the same start number.
TEST_F(repair, does_not_guess_which_of_two_closures_with_one_id_is_meant) {
  auto const older = session_id{7}, reader = session_id{8}, newer = session_id{9};
  write({job_of(7), request_of(older, {id_of(1, 5), id_of(1, 6)}, {id_of(1, 5)})});
  write({job_of(8), request_of(reader, {id_of(1, 7)}, {id_of(1, 5)})});
  write({job_of(9), request_of(newer, {id_of(1, 5), id_of(1, 8)}, {id_of(1, 5)})});
  EXPECT_EQ(repaired().moved, 1u);
  auto all = jobs();
  auto const input_of = [&](session_id job) {
    return all[job].accepted[0].closures.back().extras->inputs[0].closure;
  };
  EXPECT_EQ(input_of(newer), id_of(1, 5));
  EXPECT_EQ(input_of(older), all[older].accepted[0].closures[0].id) << "its own";
  EXPECT_EQ(raw(input_of(reader)) >> 32, 0u)
      << "an unknown one: it fails instead of returning a wrong value";
}

TEST_F(repair, leaves_released_closures_without_a_slot) {
  auto const stream = session_id{7};
  auto of = job_of(7);
  of.spec.delivery = core::delivery::resumable;
  write({of, request_of(stream, {id_of(1, 5), id_of(1, 6)}), core::closure_removed{stream, 0}});
  write({job_of(9), request_of(session_id{9}, {id_of(2, 5)})});
  EXPECT_EQ(problem(), "");
  EXPECT_TRUE(repair_store(at(), copy(), false)->changes.empty());
}

// Caused by a leader that continued a released job.
TEST_F(repair, removes_states_and_values_without_an_owner) {
  write({job_of(7), request_of(session_id{7}, {id_of(1, 5)}), success(session_id{7}, 0, "41"),
         success(session_id{7}, 1, "of no request"), success(session_id{8}, 0, "of no job")});
  core::per_worker_fact value;
  value.job = session_id{8};
  value.id = core::per_worker_id{3};
  value.function = "f";
  write({value});
  EXPECT_NE(problem().find("contradicts other entries"), std::string::npos) << problem();
  auto const done = repaired();
  EXPECT_EQ(done.removed, 3u);
  EXPECT_EQ(done.moved, 0u);
  ASSERT_EQ(done.report.all, 3u);
  EXPECT_EQ(
      done.report.lines[0],
      "removes closure \"0000000000000007\" \"0000000001\": no request contains this closure");
  EXPECT_EQ(jobs()[session_id{7}].closures[0].value.view(), "41");
}

TEST_F(repair, removes_unreadable_entries_only_if_requested) {
  write({job_of(7), request_of(session_id{7}, {id_of(1, 5)}), success(session_id{7}, 0, "41")});
  auto orphan = request_of(session_id{8}, {id_of(1, 9)});  // a request whose job does not exist
  // The two positions before it are missing.
  auto gap = request_of(session_id{7}, {id_of(1, 10)});
  gap.first = 3;
  write({orphan, success(session_id{8}, 0, "42"), gap});
  write_raw({{kind::put, std::string("k\0train\0torn", 12), "\x0a\x05x"}});
  auto const before = entries_of(at());
  auto const refused = repair_store(at(), copy(), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, code::failed_precondition);
  EXPECT_NE(
      refused.error().message.find(
          "3 entries cannot be repaired, the first: key \"torn\" of cluster 'train': it cannot "
          "be read; 'muster data repair --drop' removes them"),
      std::string::npos)
      << refused.error().message;
  EXPECT_EQ(entries_of(at()), before) << "no partial result";
  EXPECT_FALSE(fs::exists(copy()));
  auto const done = repaired(true);
  EXPECT_EQ(done.removed, 4u) << "and the state of a closure of the request";
  EXPECT_EQ(jobs()[session_id{7}].closures[0].value.view(), "41");
}

TEST_F(repair, requests_with_the_same_positions_are_reported) {
  auto second = request_of(session_id{7}, {id_of(1, 7)});
  second.first = 1;
  write({job_of(7), request_of(session_id{7}, {id_of(1, 5), id_of(1, 6)}), second});
  auto const view = rocks_view::open(at());
  auto const plan = plan_repair(**view, false);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->unusable.all, 1u);
  EXPECT_EQ(plan->unusable.lines[0],
            "accepted \"0000000000000007\" \"0000000001\": the previous request has the same "
            "positions");
}

TEST_F(repair, reports_a_thousand_lines_at_most) {
  std::vector<core::fact> facts{job_of(7)};
  for (std::uint32_t i = 0; i < 1'002; ++i) facts.emplace_back(success(session_id{7}, i, "1"));
  write(facts);
  auto const done = repaired();
  EXPECT_EQ(done.removed, 1'002u);
  EXPECT_EQ(done.report.all, 1'002u);
  EXPECT_EQ(done.report.lines.size(), 1'000u);
}

TEST_F(repair, refuses_a_directory_in_use) {
  write({job_of(7), request_of(session_id{7}, {id_of(0, 5)})});
  auto const held = opened(at());
  auto const refused = repair_store(at(), copy(), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, code::failed_precondition) << refused.error().message;
  EXPECT_FALSE(fs::exists(copy()));
}

TEST_F(repair, refuses_a_copy_that_would_overwrite_something_and_changes_nothing) {
  write({job_of(7), request_of(session_id{7}, {id_of(0, 5)})});
  fs::create_directory(copy());
  std::ofstream(copy() / "something") << "else";
  auto const before = entries_of(at());
  auto const refused = repair_store(at(), copy(), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, code::failed_precondition) << refused.error().message;
  EXPECT_EQ(entries_of(at()), before);
}

TEST_F(repair, changes_nothing_that_it_cannot_repair) {
  write({job_of(7), request_of(session_id{7}, {id_of(0, 5)})});
  write_raw({{kind::put,
              std::string("t\0train\0"
                          "00000009",
                          16),
              ""}});  // the cluster has two workers
  auto const before = entries_of(at());
  auto const failed = repair_store(at(), copy(), false);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, code::internal) << failed.error().message;
  EXPECT_NE(failed.error().message.find("\"00000009\" of cluster 'train'"), std::string::npos)
      << failed.error().message;
  EXPECT_EQ(entries_of(at()), before);
}

}  // namespace repair_cases
}  // namespace muster::server::journal
