#include <gtest/gtest.h>

#include <cstring>

#include "server/journal/fact_encoding.hpp"
#include "tests/journal/memory_store.hpp"

namespace muster::server::journal {
namespace closure_facts_cases {

using namespace core;
using namespace std::chrono_literals;

constexpr time_point at{std::chrono::seconds(1'700'000'000)};

core::failure some_failure() {
  return {failure_kind::dependency_lost,
          "Error",
          "\xff no UTF-8",
          "line 1\nline 2",
          "worker:3",
          4,
          {"ps:1", "ps:2"},
          std::string("\x80\x05\0", 3)};
}

job_fact some_job() {
  job_fact f;
  f.id = session_id{7};
  auto& s = f.spec;
  s.name = "name";
  s.on_error = on_error::continue_all;
  s.open = true;
  s.queue_capacity = 5;
  s.max_worker_failures = 6;
  s.unlimited_worker_failures = true;
  s.weight = 9;
  s.deadline = 8s;
  s.idempotency_key = "key";
  s.request_digest = "\xfe digest";
  s.metadata = "{}";
  s.retry_of = session_id{3};
  s.require_function = true;
  s.num_workers = 3;
  s.durable = true;
  f.state = job_state::failed;
  f.sealed = f.stopping = f.user_cancelled = true;
  f.first_error = some_failure();
  f.created = at;
  f.finished = at + 1s;
  return f;
}

accepted_fact some_closures() {
  auto x = std::make_shared<closure_extras>();
  auto& o = x->options;
  o.priority = -4;
  o.delay = 1s;
  o.deadline = 2s;
  o.max_retries = 3;
  o.retry_initial = 4s;
  o.retry_max = 5s;
  o.gang = "gang";
  o.task_job = "ps";
  o.task_index = 6;
  o.labels = {{"zone", "a"}, {"disk", "ssd"}};
  o.resources = {{"gpu", 2}};
  x->inputs = {{closure_id{1ull << 32 | 5}, 0, 7}};
  x->per_worker = {per_worker_id{11}};
  accepted_fact f{session_id{7}, 0, at, {"f", "g"}, {}};
  f.closures = {{closure_id{1ull << 32 | 1}, 1, blob("[1]"), x},
                {closure_id{~0ull << 32 | 2}, 0, blob("\xff", encoding::bytes), nullptr},
                {closure_id{1ull << 32 | 3}, 0, blob("[1]"), x, 0, false, true}};
  f.callables = {{}, {"train.step", std::string(callable_hash_bytes, '\xfc')}};
  return f;
}

closure_fact ended_as(std::uint32_t order, closure_state state) {
  closure_fact f;
  f.job = session_id{7};
  f.order = order;
  f.state = state;
  return f;
}

closure_fact ended_well() {
  auto f = ended_as(0, closure_state::succeeded);
  f.value = blob("\xfe", encoding::bytes);
  f.attempt = 3;
  f.worker_failures = 2;
  f.retries = 1;
  f.workers_lost = 2;
  f.processes_ended = 1;
  f.exclusive = true;
  f.started = at + 1s;
  f.finished = at + 2s;
  f.lost = {{1,
             "worker:1",
             incarnation{~0ull},
             "host",
             at,
             at + 1s,
             {attempt_end::worker_lost, "it broke"},
             blame::process},
            {2,
             "worker:1",
             incarnation{~0ull},
             "host",
             at,
             at + 1s,
             {attempt_end::value_lost, {}, closure_id{77}}},
            {3,
             "worker:1",
             incarnation{~0ull},
             "host",
             at,
             at + 1s,
             {attempt_end::earlier, "as an earlier version wrote it"}}};
  f.newest = attempt_view{3, "worker:2", incarnation{5}, "there", at, at + 2s, {}, blame::none};
  return f;
}

closure_fact ended_badly() {
  auto f = ended_as(1, closure_state::failed);
  f.failure = some_failure();
  return f;
}

closure_fact dropped() {
  auto f = ended_as(2, closure_state::succeeded);
  f.value = blob("");
  f.dropped = release_reason::age;
  return f;
}

job_fact some_session() {
  job_fact f;
  f.id = session_id{8};
  f.spec.delivery = delivery::unary;
  f.spec.durable = true;
  f.spec.grace = 5s;
  f.spec.detached = true;
  f.closed = true;
  f.generation = 3;
  f.raised = some_failure();
  f.raised_generation = 2;
  f.client = "ipv4:10.0.0.1:5";
  f.created = at;
  return f;
}

accepted_fact some_request(std::uint32_t first, time_point created, std::uint64_t id) {
  accepted_fact f{session_id{8}, first, created, {"f"}, {}};
  for (std::uint64_t k = 0; k < 2; ++k)
    f.closures.push_back({closure_id{1ull << 32 | (id + k)}, 0, blob("[1]"), nullptr, id + k});
  return f;
}

memory_store stored(std::vector<fact> const& facts) {
  memory_store s;
  std::vector<change> batch;
  encode("train", facts, batch);
  EXPECT_TRUE(s.write(batch).ok());
  return s;
}

TEST(closure_facts, survive_the_store_field_by_field) {
  auto const s = stored({some_job(), some_closures(), ended_well(), ended_badly(), dropped()});
  auto const jobs = load_jobs(s);
  ASSERT_TRUE(jobs.has_value()) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->at(0).cluster, "train");
  auto const& job = jobs->at(0).job;
  EXPECT_EQ(job.job, some_job());
  ASSERT_EQ(job.accepted.size(), 1u);
  EXPECT_EQ(job.accepted[0], some_closures());
  EXPECT_EQ(job.accepted[0].closures[0].extras, job.accepted[0].closures[2].extras) << "shared";
  EXPECT_EQ(job.closures, (std::vector<closure_fact>{ended_well(), ended_badly(), dropped()}));
}

// Protobuf rejects a whole message because of one invalid text field; the server could not start.
TEST(closure_facts, invalid_utf8_text_is_read_with_replacement_characters) {
  auto job = some_job();
  job.spec.name = "caf\xe9";
  auto closures = some_closures();
  closures.functions[0] = "f\xff";
  auto const jobs = load_jobs(stored({job, closures}));
  ASSERT_TRUE(jobs.has_value()) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ(jobs->at(0).job.job.spec.name, "caf\ufffd");
  ASSERT_EQ(jobs->at(0).job.accepted.size(), 1u);
  EXPECT_EQ(jobs->at(0).job.accepted[0].functions[0], "f\ufffd");
  EXPECT_EQ(jobs->at(0).job.accepted[0].closures, closures.closures);
}

TEST(closure_facts, facts_of_a_session_survive_the_store) {
  per_worker_fact const value{
      session_id{8}, per_worker_id{~0ull}, "v", "f", blob("\xfd", encoding::bytes), 9, true, at,
      "ci-0a1b"};
  auto const later = some_request(0, at + 1s, 30);  // positions restarted from 0
  auto const earlier = some_request(~0u - 5, at, 20);
  auto running = ended_as(1, closure_state::queued);
  running.job = session_id{8};
  running.released = true;
  auto const s = stored(
      {some_session(), value, later, earlier, running, closure_removed{session_id{8}, ~0u - 5}});
  auto const jobs = load_jobs(s);
  ASSERT_TRUE(jobs.has_value()) << jobs.error().message;
  auto const& job = jobs->at(0).job;
  EXPECT_EQ(job.job, some_session());
  EXPECT_EQ(job.per_worker, std::vector{value});
  auto gone = earlier;
  gone.closures[0].forgotten = true;
  EXPECT_EQ(job.accepted, (std::vector{later, gone}));
  EXPECT_EQ(job.closures, std::vector{running});
}

TEST(closure_facts, removed_request_removes_its_closures_and_values_are_removed_alone) {
  per_worker_fact const value{session_id{8}, per_worker_id{5}, "v", "f", {}, 9, false, at, {}};
  auto ended = ended_as(1, closure_state::succeeded);
  ended.job = session_id{8};
  auto s = stored(
      {some_session(), value, some_request(0, at, 20), ended, closure_removed{session_id{8}, 0}});
  std::vector<change> batch;
  encode("train",
         {request_removed{session_id{8}, 0, 2}, per_worker_removed{session_id{8}, value.id}},
         batch);
  EXPECT_TRUE(s.write(batch).ok());
  std::size_t left = 0;
  EXPECT_TRUE(s.read("", [&](std::string_view key, std::string_view) {
                 EXPECT_EQ(key[0], 'j');
                 return ++left > 0;
               }).ok());
  EXPECT_EQ(left, 1u);
}

TEST(closure_facts, slot_of_a_removed_closure_can_be_reused) {
  auto second = some_request(2, at + 1s, 40);
  second.closures[0].id = closure_id{2ull << 32 | 20};
  std::vector<fact> all{some_session(), some_request(0, at, 20), second};
  EXPECT_FALSE(load_jobs(stored(all)).has_value()) << "two closures have it";
  all.push_back(closure_removed{session_id{8}, 0});
  EXPECT_TRUE(load_jobs(stored(all)).has_value());
}

TEST(closure_facts, later_facts_replace_earlier_ones_and_a_removed_job_removes_all) {
  auto back = ended_well();
  back.state = closure_state::queued;
  back.value = {};
  back.newest = {};
  auto other = some_job();
  other.id = session_id{8};
  auto s = stored({some_job(), some_closures(), back, ended_well(), other});
  EXPECT_EQ(load_jobs(s)->at(0).job.closures, std::vector<closure_fact>{ended_well()});
  std::vector<change> batch;
  encode("train", {job_removed{session_id{7}}}, batch);
  EXPECT_TRUE(s.write(batch).ok());
  auto const left = load_jobs(s);
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ(left->at(0).job.job.id, session_id{8});
}

TEST(closure_facts, inconsistent_facts_are_rejected) {
  auto const refused = [](std::vector<fact> const& facts) {
    auto const jobs = load_jobs(stored(facts));
    return jobs ? std::string() : jobs.error().message;
  };
  EXPECT_NE(refused({some_closures()}).find("accepted \""), std::string::npos) << "without a job";
  EXPECT_NE(refused({some_job(), ended_well()}).find("closure \""), std::string::npos)
      << "without a closure";
  auto gap = some_closures();
  gap.first = 1;
  EXPECT_NE(refused({some_job(), gap}), "") << "closures before it are missing";
  auto again = some_closures();
  again.first = 3;
  EXPECT_NE(refused({some_job(), some_closures(), again}), "") << "duplicate ids";
  auto unnamed = some_closures();
  unnamed.functions.pop_back();
  EXPECT_NE(refused({some_job(), unnamed}), "");
  auto uncalled = some_closures();
  uncalled.callables.pop_back();
  EXPECT_NE(refused({some_job(), uncalled}), "") << "one for each function, or none";
  auto no_reason = ended_badly();
  no_reason.failure = {};
  EXPECT_NE(refused({some_job(), some_closures(), no_reason}), "");
  auto running = ended_badly();
  running.state = closure_state::running;
  running.failure = {};
  EXPECT_NE(refused({some_job(), some_closures(), running}), "") << "where?";
  running.newest = ended_well().newest;
  EXPECT_EQ(refused({some_job(), some_closures(), running}), "");
  auto weightless = some_job();
  weightless.spec.weight = 0;
  EXPECT_NE(refused({weightless}), "");
}

TEST(closure_facts, foreign_bytes_are_rejected_with_the_entry_name) {
  memory_store s;
  EXPECT_TRUE(s.write({{change::kind::put,
                        std::string("j\0"
                                    "0000000000000001",
                                    18),
                        "\xff\xff"}})
                  .ok());
  auto const jobs = load_jobs(s);
  ASSERT_FALSE(jobs.has_value());
  EXPECT_EQ(jobs.error().message,
            "job \"0000000000000001\" cannot be read, or contradicts other entries");
}

TEST(closure_facts, keys_with_other_numbers_than_written_are_rejected) {
  using namespace std::string_literals;
  auto const s = stored({some_job(), some_closures(), ended_well()});
  ASSERT_TRUE(load_jobs(s).has_value());
  auto const refused = [&s](std::string const& key, std::string const& of) {
    auto with = s;
    std::string value;
    EXPECT_TRUE(s.read(of, [&](auto, std::string_view v) { return value = v, false; }).ok());
    EXPECT_TRUE(with.write({{change::kind::put, key, value}}).ok());
    auto const jobs = load_jobs(with);
    return jobs ? std::string("accepted") : jobs.error().message;
  };
  EXPECT_EQ(refused("j\0"s + "000000000000000A", "j\0"s),
            "job \"000000000000000A\" cannot be read, or contradicts other entries");
  EXPECT_NE(refused("j\0"s + "000000000000000\x07", "j\0"s).find("\\x07"), std::string::npos);
  for (auto const* const key : {"j\0"
                                "0000000000000008 ",
                                "j\0"
                                "+000000000000008",
                                "j\0"
                                "0x00000000000008"})
    EXPECT_NE(refused(std::string(key, 2 + std::strlen(key + 2)), "j\0"s), "accepted") << key + 2;
  auto const job = "0000000000000007\0"s;
  for (auto const* const position : {"0000000003x", "4294967299", "3", "-000000003", "0000000003 "})
    EXPECT_NE(refused("a\0"s + job + position, "a\0"s), "accepted") << position;
  // 2^32 is not position 0.
  for (auto const* const position : {"4294967296", "0", "00000000000", ""})
    EXPECT_NE(refused("e\0"s + job + position, "e\0"s), "accepted") << position;
}

}  // namespace closure_facts_cases
}  // namespace muster::server::journal
