#include <gtest/gtest.h>

#include "server/core/coordination/clusters.hpp"
#include "server/journal/fact_encoding.hpp"
#include "tests/coordination/fact_book.hpp"
#include "tests/journal/memory_store.hpp"

namespace muster::server::journal {
namespace coordination_facts_cases {

using namespace core::coordination;
using namespace std::chrono_literals;
using core::blob;

constexpr core::time_point at{std::chrono::seconds(1'700'000'000)};

fault_ptr some_fault() {
  auto f = std::make_shared<fault>();
  f->code = code::aborted;
  f->message = "\xff not UTF-8";
  f->coordination = false;
  f->source = 1;
  f->reported = true;
  f->barrier = {"step", 4};
  f->mismatch = core::incarnation{99};
  return f;
}

cluster_fact some_cluster() {
  cluster_fact c;
  c.spec = {.name = "train",
            .jobs = {{"worker", 3, true}, {"ps", 1, false}},
            .heartbeat_timeout = 7s,
            .connection_grace = 2s,
            .errors = core::coordination::error_delivery::heartbeat,
            .agents = core::coordination::agent_wire::tls,
            .register_timeout = 3min,
            .shutdown_timeout = 4s,
            .register_barrier = false,
            .recoverable = true,
            .allow_reconnect = true,
            .renew = false,
            .stuck_after = 5s,
            .torch_port = 29'500,
            .torch = core::coordination::torch_era::b,
            .stateful_jobs = {{"ps"}}};
  c.next = c.spec;
  c.next->stateful_jobs = {};
  c.next->jobs[0].tasks = 9;
  c.generation = 3;
  c.incarnation = core::incarnation{~std::uint64_t{0}};
  c.started = at;
  c.ended = at + 1s;
  c.failed = true;
  c.cause = {"worker:1", "ipv4:1.2.3.4:5", "it died", at + 2s};
  c.cause_task = 1;
  c.victims = {1, 2};
  c.broadcast = some_fault();
  c.port = 40'001;
  c.anew = true;
  return c;
}

std::vector<fact> some_facts() {
  std::vector<fact> all = {{"train", some_cluster()}};
  all.push_back({"train", task_fact{2, agent_state::error, true, true, true, core::incarnation{7},
                                    some_fault(), at, at + 3s, true}});
  all.push_back(
      {"train",
       task_fact{
           0, agent_state::connected, false, false, true, core::incarnation{8}, nullptr, at, {}}});
  all.push_back({"train", key_fact{"a/b", blob("{}"), at}});
  all.push_back(
      {"train", key_fact{"a/c", blob(std::string("\0\xff", 2), core::encoding::bytes), at + 1s}});
  barrier_fact b{.id = "step/1"};
  b.counter = 4;
  b.who = std::vector<task_index>{0, 2};
  b.result = some_fault();
  b.result_before = some_fault();
  b.ended = at;
  all.push_back({"train", b});
  all.push_back({"train", barrier_fact{.id = std::string("odd\0id", 6)}});
  return all;
}

restored_cluster written_and_read(std::vector<fact> const& facts, memory_store& s) {
  std::vector<change> batch;
  encode(facts, batch);
  EXPECT_TRUE(s.write(batch).ok());
  auto const all = load_clusters(s);
  EXPECT_TRUE(all.has_value()) << all.error().message;
  EXPECT_EQ(all->size(), 1u);
  return all->at(0);
}

TEST(coordination_facts, are_restored_unchanged) {
  memory_store s;
  auto const facts = some_facts();
  auto const back = written_and_read(facts, s);
  auto const was = some_cluster();
  EXPECT_EQ(back.cluster.spec, was.spec);
  EXPECT_EQ(back.cluster.next, was.next);
  EXPECT_EQ(back.cluster.cause, was.cause);
  EXPECT_EQ(*back.cluster.broadcast, *was.broadcast);
  EXPECT_EQ(back.cluster.port, was.port);
  ASSERT_EQ(back.barriers.size(), 2u);
  EXPECT_EQ(*back.barriers[1].result_before, *some_fault());
  EXPECT_EQ(back.keys[1].value->encoding(), core::encoding::bytes);

  fact_book before, after;
  before.add(facts);
  after.add({{"train", back.cluster}});
  for (auto const& t : back.tasks) after.add({{"train", t}});
  for (auto const& k : back.keys) after.add({{"train", k}});
  for (auto const& b : back.barriers) after.add({{"train", b}});
  EXPECT_EQ(before.text(), after.text());
}

TEST(coordination_facts, last_fact_wins) {
  memory_store s;
  auto facts = some_facts();
  facts.push_back({"train", key_fact{"a/b", {}, at}});
  facts.push_back({"train", barrier_fact{.id = "step/1", .forgotten = true}});
  auto back = written_and_read(facts, s);
  EXPECT_EQ(back.keys.size(), 1u);
  EXPECT_EQ(back.barriers.size(), 1u);
  auto anew = some_cluster();
  anew.generation = 4;
  back = written_and_read({{"train", anew}}, s);
  EXPECT_EQ(back.cluster.generation, 4u);
  EXPECT_EQ(back.keys.size() + back.tasks.size() + back.barriers.size(), 0u);
}

TEST(coordination_facts, clusters_with_a_common_name_prefix_are_separate) {
  memory_store s;
  auto longer = some_cluster();
  longer.spec.name = "train2";
  std::vector<change> batch;
  encode({{"train2", longer}, {"train2", key_fact{"k", blob("v"), at}}}, batch);
  encode(some_facts(), batch);
  encode({{"train", cluster_record_removed{}}}, batch);
  ASSERT_TRUE(s.write(batch).ok());
  auto const all = load_clusters(s);
  ASSERT_TRUE(all.has_value());
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->at(0).cluster.spec.name, "train2");
  EXPECT_EQ(all->at(0).keys.size(), 1u);
}

TEST(coordination_facts, entries_that_make_no_sense_are_named) {
  using namespace std::string_literals;
  for (auto const& [key, value] : {std::pair{"c\0train\0"s, "\xff\xff"s},
                                   {"t\0train\0"s + "00000000", "\xff\xff"s},
                                   {"t\0train\0"s + "00000099", ""s},
                                   {"t\0train\0"s + "1", ""s},
                                   {"t\0train\0"s + "00000001 ", ""s},
                                   {"k\0train\0k"s, "\xff\xff"s},
                                   {"b\0train\0b"s, "\xff\xff"s}}) {
    memory_store s;
    std::vector<change> batch;
    encode(some_facts(), batch);
    batch.push_back({change::kind::put, key, value});
    ASSERT_TRUE(s.write(batch).ok());
    auto const all = load_clusters(s);
    ASSERT_FALSE(all.has_value()) << key;
    EXPECT_NE(all.error().message.find("train"), std::string::npos);
  }
}

TEST(coordination_facts, cluster_with_the_key_of_another_cluster_is_rejected) {
  using namespace std::string_literals;
  memory_store s;
  std::vector<change> batch;
  encode({{"train", some_cluster()}}, batch);
  for (auto& c : batch)
    if (c.key == "c\0train\0"s) c.key = "c\0other\x01\0"s;
  ASSERT_TRUE(s.write(batch).ok());
  auto const all = load_clusters(s);
  ASSERT_FALSE(all.has_value());
  EXPECT_EQ(all.error().message, "cluster 'other\\x01' cannot be read");
}

}  // namespace coordination_facts_cases
}  // namespace muster::server::journal
