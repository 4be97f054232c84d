#include <gtest/gtest.h>

#include "server/torch/tcp_store.hpp"
#include "tests/torch/torch_clients.hpp"

namespace muster::torch {
namespace {

using namespace std::chrono_literals;

std::string address_of(int rank) {
  return "/default_pg/0//cpu//0/" + std::to_string(rank);
}

connection_id begin(clients& s, std::uint32_t pid, std::string const& peer = "10.0.0.1:1000") {
  auto const c = s.open(peer);
  s.send(c, say::validate() + say::ping(pid) + say::add("init/", 1));
  s.read(c);
  return c;
}

TEST(torch_tcp_store, a_rank_that_is_missing_is_named) {
  clients s;
  auto const zero = begin(s, 100), one = begin(s, 101, "10.0.0.2:2000");
  s.send(zero, say::set(address_of(0), "a"));
  s.send(one, say::set(address_of(1), "b") + say::wait({address_of(2)}));
  s.now += 5s;
  auto const v = s.tcp_store.view(100);
  EXPECT_EQ(v.missing, std::vector<std::uint32_t>{2});
  ASSERT_EQ(v.waits.size(), 1u);
  EXPECT_EQ(v.waits[0].rank, 2u);
  EXPECT_EQ(v.waits[0].connections, std::vector<std::uint64_t>{one});
  EXPECT_EQ(s.now - v.waits[0].since, 5s);
  ASSERT_EQ(v.ranks.size(), 2u);
  EXPECT_EQ(v.ranks[1].peer, "10.0.0.2:2000");
  EXPECT_EQ(v.ranks[1].pid, 101u);
  EXPECT_TRUE(v.ranks[1].connected);
  ASSERT_EQ(v.shown.size(), 2u);
  EXPECT_EQ(v.shown[0].rank, 0u);
  EXPECT_EQ(v.shown[1].waits_for, 1u);
}

TEST(torch_tcp_store, barrier_on_a_ranks_key_reports_no_missing_rank) {
  clients s;
  auto const c = begin(s, 100);
  s.send(c, byte(18) + text(address_of(2)) + u64(2));
  auto const v = s.tcp_store.view(100);
  ASSERT_EQ(v.waits.size(), 1u);
  EXPECT_TRUE(v.waits[0].barrier);
  EXPECT_FALSE(v.waits[0].rank);
  EXPECT_EQ(v.missing, std::vector<std::uint32_t>{});
}

TEST(torch_tcp_store, waiting_client_is_answered_when_the_keys_are_set) {
  clients s;
  auto const a = begin(s, 1), b = begin(s, 2);
  s.send(a, say::wait({"/x", "/y"}));
  s.send(b, say::set("/x", "1"));
  EXPECT_EQ(s.read(a), "");
  s.send(b, say::set("/y", "2"));
  EXPECT_EQ(s.read(a), byte(0));
}

TEST(torch_tcp_store, next_command_withdraws_a_wait) {
  clients s;
  auto const a = begin(s, 1), b = begin(s, 2);
  s.send(a, say::wait({"/x"}));
  s.send(a, say::cancel_wait());
  EXPECT_EQ(s.read(a), byte(1));
  s.send(a, say::wait({"/x"}) + say::get("/z"));
  s.send(b, say::set("/x", "1"));
  EXPECT_EQ(s.read(a), u64(0));
}

TEST(torch_tcp_store, store_is_empty_after_all_clients_have_left) {
  clients s;
  auto const a = begin(s, 1);
  s.send(a, say::set("/k", "old"));
  s.close(a);
  EXPECT_EQ(s.tcp_store.keys(1, "", "", 10)->size(), 2u);  // the keys remain visible
  auto const b = begin(s, 2);
  s.send(b, say::get("/k"));
  EXPECT_EQ(s.read(b), u64(0));
  auto const v = s.tcp_store.view(10);
  ASSERT_EQ(v.attempts.size(), 2u);
  EXPECT_EQ(v.attempts[0].number, 2u);
  EXPECT_EQ(v.attempts[0].cause, attempt_cause::all_left);
  EXPECT_EQ(s.tcp_store.keys(1, "/", "", 10)->front().key, "/k");
  EXPECT_FALSE(s.tcp_store.keys(7, "", "", 10));
}

TEST(torch_tcp_store, requested_attempt_does_not_affect_old_clients) {
  clients s;
  auto const old = begin(s, 1);
  s.send(old, say::set("/k", "old"));
  EXPECT_EQ(s.tcp_store.begin_attempt(attempt_cause::asked, s.now), 2u);
  auto const fresh = begin(s, 2);
  s.send(fresh, say::get("/k"));
  s.send(old, say::get("/k"));
  EXPECT_EQ(s.read(fresh), u64(0));
  EXPECT_EQ(s.read(old), text("old"));
}

TEST(torch_tcp_store, restarted_rank_begins_an_attempt_and_the_others_follow) {
  clients s;
  auto const old0 = begin(s, 10), old1 = begin(s, 11);
  s.send(old0, say::set(address_of(0), "old0"));
  s.send(old1, say::set(address_of(1), "old1"));
  s.close(old0);
  // All ranks have reconnected. One identifies itself late, and one old rank is still alive.
  auto const zero = begin(s, 20), one = begin(s, 21), two = begin(s, 22);
  s.send(one, say::set(address_of(1), "new1") + say::wait({address_of(0)}));
  s.send(zero, say::set(address_of(0), "new0"));
  s.send(two, say::wait({address_of(0)}) + say::get(address_of(0)));
  EXPECT_EQ(s.read(one), byte(0));
  EXPECT_EQ(s.read(two), byte(0) + text("new0"));
  s.send(old1, say::get(address_of(0)));
  EXPECT_EQ(s.read(old1), text("old0"));
  auto const v = s.tcp_store.view(10);
  EXPECT_EQ(v.attempts[0].number, 2u);
  EXPECT_EQ(v.attempts[0].cause, attempt_cause::rank_restarted);
  EXPECT_EQ(v.attempts[0].connections, 3u);
  EXPECT_EQ(s.tcp_store.invalid(), "");
}

// With NCCL, all ranks except 0 only read.
TEST(torch_tcp_store, ranks_named_by_their_launcher_are_known_and_others_are_missing) {
  clients s;
  s.tcp_store.begin_attempt(attempt_cause::launched, s.now);
  s.tcp_store.expect(4);
  EXPECT_TRUE(s.tcp_store.view(10).missing.empty())
      << "no rank has connected yet, so none is missing";
  auto const one = s.open("10.0.0.1:1", 1);
  s.open("10.0.0.1:2", 1);
  auto const three = s.open("10.0.0.2:3", 3);
  s.send(one, say::validate() + say::ping(71) + say::wait({"/nccl"}));
  auto const v = s.tcp_store.view(10);
  EXPECT_EQ(v.attempts[0].cause, attempt_cause::launched);
  EXPECT_EQ(v.expected, 4u);
  EXPECT_EQ(v.missing, (std::vector<std::uint32_t>{0, 2}));
  ASSERT_EQ(v.ranks.size(), 2u);
  EXPECT_EQ(v.ranks[0].rank, 1u);
  EXPECT_EQ(v.ranks[0].pid, 71u);
  EXPECT_EQ(v.shown[1].rank, 1u) << "its second connection";
  EXPECT_EQ(v.ranks[1].peer, "10.0.0.2:3");
  s.close(three);
  EXPECT_FALSE(s.tcp_store.view(10).ranks[1].connected);
  EXPECT_EQ(s.tcp_store.view(10).missing, (std::vector<std::uint32_t>{0, 2})) << "it was connected";
  ASSERT_EQ(s.told.size(), 1u) << "the program reports attempts; this is the only other event";
  EXPECT_EQ(s.told[0].text, "rank 3 (10.0.0.2:3) has closed its connection");
  s.tcp_store.begin_attempt(attempt_cause::launched, s.now);
  auto const next = s.open("10.0.0.1:4", 1);
  s.send(next, say::validate() + say::get("/nccl"));
  EXPECT_EQ(s.read(next), u64(0));
  EXPECT_EQ(s.tcp_store.view(10).missing, (std::vector<std::uint32_t>{0, 2, 3}));
  EXPECT_EQ(s.tcp_store.invalid(), "");
}

TEST(torch_tcp_store, second_connection_of_a_live_rank_is_no_restart) {
  clients s;
  auto const first = s.open("10.0.0.1:1", 0), second = s.open("10.0.0.1:2", 0);
  s.send(first, say::validate() + say::set(address_of(0), "a"));
  s.send(second, say::validate() + say::set(address_of(0), "b"));
  EXPECT_EQ(s.tcp_store.view(10).attempts[0].number, 1u);
  s.close(first);
  s.close(second);
  s.open("10.0.0.1:3", 1);  // otherwise all clients would have left
  auto const again = s.open("10.0.0.1:4", 0);
  s.send(again, say::validate() + say::set(address_of(0), "c"));
  EXPECT_EQ(s.tcp_store.view(10).attempts[0].cause, attempt_cause::all_left);
}

// A new process cannot be distinguished from an old process whose rank had not written yet.
// docs/pytorch.md documents the alternative.
TEST(torch_tcp_store, new_rank_during_an_incomplete_start_joins_that_attempt) {
  clients s;
  auto const old = begin(s, 100);
  s.send(old, say::set(address_of(0), "a"));
  auto const one = begin(s, 201), zero = begin(s, 200);
  s.send(one, say::set(address_of(1), "new"));
  s.send(zero, say::set(address_of(0), "new") + say::wait({address_of(1)}));
  EXPECT_EQ(s.read(zero), "");
  EXPECT_EQ(s.tcp_store.view(100).missing, std::vector<std::uint32_t>{1});
}

TEST(torch_tcp_store, a_second_connection_of_the_same_process_is_no_restart) {
  clients s;
  auto const first = begin(s, 10), second = begin(s, 10);
  s.send(first, say::set(address_of(0), "a"));
  s.send(second, say::set(address_of(0), "b"));
  EXPECT_EQ(s.tcp_store.view(10).attempts.size(), 1u);
  s.close(first);
  auto const again = begin(s, 10);
  s.send(second, say::set("/x", ""));
  s.send(again, say::set(address_of(0), "c"));
  EXPECT_EQ(s.tcp_store.view(10).attempts[0].number, 1u)
      << "the connection of the second one, which is alive";
}

TEST(torch_tcp_store, disconnected_rank_is_reported_with_the_keys_it_waited_for) {
  clients s;
  auto const a = begin(s, 77, "10.0.0.9:5");
  s.send(a, say::set(address_of(4), "a") + say::wait({"/x"}));
  s.now += 3s;
  s.close(a);
  ASSERT_EQ(s.told.size(), 1u);
  EXPECT_EQ(s.told[0].what, incident::kind::rank_left_waiting);
  EXPECT_EQ(
      s.told[0].text,
      "rank 4 (10.0.0.9:5, pid 77) has closed its connection while it waited for /x (for 3 s)");
}

TEST(torch_tcp_store, client_that_sends_an_invalid_command_is_refused_and_logged) {
  clients s;
  auto const web = s.open("10.0.0.9:5");
  s.send(web, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(s.is_refused(web));
  ASSERT_EQ(s.told.size(), 1u);
  EXPECT_EQ(
      s.told[0].text,
      "a client (10.0.0.9:5): a command: number: 71 is not a command in protocol numbering A");
  auto const number = begin(s, 1);
  s.send(number, say::set("/n", "no number") + say::add("/n", 1));
  EXPECT_TRUE(s.is_refused(number));
  s.close(web);
  s.close(number);
}

TEST(torch_tcp_store, keys_are_limited_and_old_ones_are_evicted) {
  limits l;
  l.keys = 3;
  clients s(numbering::a, l);
  auto const a = begin(s, 1);
  s.send(a, say::set("/1", "") + say::set("/2", ""));
  s.close(a);
  auto const b = begin(s, 2);
  s.send(b, say::set("/1", "") + say::set("/2", ""));
  EXPECT_FALSE(s.is_refused(b));
  EXPECT_FALSE(s.tcp_store.keys(1, "", "", 10)) << "it was removed";
  s.send(b, say::set("/3", ""));
  EXPECT_EQ(s.tcp_store.refusal(b),
            "keys and values: the limit is reached: 3 keys and 1073741824 bytes");
}

TEST(torch_tcp_store, bytes_have_a_limit) {
  limits l;
  l.bytes = 1000;
  clients s(numbering::a, l);
  auto const a = begin(s, 1);
  s.send(a, say::set("/1", std::string(900, 'x')));
  EXPECT_TRUE(s.is_refused(a));
}

TEST(torch_tcp_store, answer_size_is_limited) {
  limits l;
  l.answer_bytes = 50;
  clients s(numbering::a, l);
  auto const a = begin(s, 1);
  s.send(a, say::set("/1", std::string(40, 'x')) + say::keys(10, {"/1", "/1"}));
  EXPECT_EQ(s.tcp_store.refusal(a), "MULTI_GET: an answer of 96 bytes, the limit is 50");
}

TEST(torch_tcp_store, awaited_keys_are_limited) {
  limits l;
  l.awaited_keys = 3;
  clients s(numbering::a, l);
  auto const a = begin(s, 1), b = begin(s, 2);
  s.send(a, say::wait({"/1", "/2"}));
  s.send(b, say::wait({"/1", "/2"}));
  EXPECT_FALSE(s.is_refused(a));
  EXPECT_TRUE(s.is_refused(b));
}

TEST(torch_tcp_store, incomplete_requests_are_limited) {
  limits l;
  l.unfinished_bytes = 10'000;
  clients s(numbering::a, l);
  auto const a = begin(s, 1), b = begin(s, 2);
  auto const part = byte(1) + text("/k") + u64(100'000) + std::string(6'000, 'x');
  s.send(a, part);
  s.send(b, part);
  EXPECT_FALSE(s.is_refused(a));
  EXPECT_TRUE(s.is_refused(b));
  s.close(a);
  s.close(b);
  EXPECT_EQ(s.tcp_store.invalid(), "");
}

TEST(torch_tcp_store, client_that_does_not_read_gets_no_more_answers) {
  limits l;
  l.unread_bytes = 5 << 20;
  clients s(numbering::a, l);
  auto const a = begin(s, 1);
  s.send(a, say::set("/k", std::string(600'000, 'x')));
  std::string much;
  for (int i = 0; i < 10; ++i) much += say::get("/k");
  EXPECT_TRUE(s.tcp_store.receive(a, much, s.now));
  auto const first = s.tcp_store.take_unsent(a);
  EXPECT_EQ(first.size(), 2 * 600'008u);
  s.tcp_store.note_unread(a, first.size());
  EXPECT_TRUE(s.tcp_store.go_on(a, s.now));
  EXPECT_EQ(s.tcp_store.take_unsent(a), "");
  s.tcp_store.note_unread(a, 0);
  EXPECT_TRUE(s.tcp_store.go_on(a, s.now));
  EXPECT_EQ(s.tcp_store.take_unsent(a).size(), 2 * 600'008u);
  s.tcp_store.note_unread(a, 6 << 20);
  EXPECT_TRUE(s.is_refused(a));
}

TEST(torch_tcp_store, connections_are_limited) {
  limits l;
  l.connections = 2;
  clients s(numbering::a, l);
  s.open();
  EXPECT_TRUE(s.tcp_store.has_room());
  auto const last = s.open();
  EXPECT_FALSE(s.tcp_store.has_room());
  s.close(last);
  EXPECT_TRUE(s.tcp_store.has_room());
}

}  // namespace
}  // namespace muster::torch
