// Other tests of the core do not check the text.
#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

#include "server/core/texts/explanation_texts.hpp"

namespace muster::core {
namespace explanation_words_cases {

using namespace std::chrono_literals;

explanation queued(closure_reason why, duration lasted = {}) {
  explanation e;
  e.state = closure_state::queued;
  e.why = why;
  e.lasted = lasted;
  return e;
}

explanation on_worker(closure_state s, std::string worker, duration lasted, std::uint32_t attempt) {
  explanation e;
  e.state = s;
  e.why = s == closure_state::running ? closure_reason::running : reason_of(s);
  e.worker = std::move(worker);
  e.lasted = lasted;
  e.attempt = attempt;
  return e;
}

explanation ended_with(closure_state s, failure_kind kind, std::string worker,
                       std::string message) {
  auto e = on_worker(s, worker, {}, 1);
  failure f;
  f.kind = kind;
  f.message = std::move(message);
  f.worker = std::move(worker);
  e.error = std::move(f);
  return e;
}

explanation lost(explanation e, std::string worker, duration ago, attempt_outcome how) {
  e.lost_attempt = 1;
  e.lost_worker = std::move(worker);
  e.lost_ago = ago;
  e.lost = std::move(how);
  return e;
}

worker_shortage lack(closure_reason why) {
  worker_shortage l;
  l.why = why;
  l.function = "f";
  return l;
}

TEST(explanation_words, short_times_are_exact) {
  EXPECT_EQ(text(queued(closure_reason::server_stops, 9'999ms)).substr(0, 20),
            "QUEUED for 9999 ms: ");
  EXPECT_EQ(text(queued(closure_reason::server_stops, 11'500ms)).substr(0, 17),
            "QUEUED for 11 s: ");
}

TEST(explanation_words, describe_a_lack_of_workers) {
  auto unseen = lack(closure_reason::no_worker);
  unseen.ever_had = false;
  auto absent = lack(closure_reason::function_absent);
  absent.connected = 1;
  auto closed = lack(closure_reason::workers_closed);
  closed.cordoned = 1;
  auto held_back = lack(closure_reason::workers_held_back);
  held_back.cordoned = 1;
  held_back.cordoned_task = "worker:0";
  std::vector<std::pair<worker_shortage, std::string>> const all = {
      {lack(closure_reason::no_worker), "no worker is connected; start one that provides 'f'."},
      {unseen, "no worker is connected; start one that provides 'f'."},
      {lack(closure_reason::function_unseen),
       "no connected worker provides 'f'; run 'muster functions' to list the functions that "
       "workers provide."},
      {absent,
       "no connected worker provides 'f'; run 'muster functions' to list the functions that "
       "workers provide; "
       "workers that provided it have left."},
      {lack(closure_reason::server_stops), "the server is shutting down."},
      {closed, "no worker with 'f' accepts closures: 1 is cordoned."},
      {held_back,
       "all workers that could run it are unavailable: 1 is cordoned, such as "
       "worker:0; run "
       "'muster uncordon worker:0'."},
  };
  for (auto const& [l, said] : all) {
    auto e = queued(l.why);
    e.lack = l;
    EXPECT_EQ(text(e), "QUEUED for 0 ms: " + said);
    EXPECT_EQ(cause(e), said);
  }
}

TEST(explanation_words, name_the_command_that_starts_a_worker_for_a_missing_function) {
  std::vector<std::tuple<std::string, std::string, std::string>> const all = {
      {"python:3.11", "no Python 3.11 worker is connected; ",
       "start one with 'python3.11 -m muster worker'"},
      {"muster.exec", "no connected worker provides 'muster.exec'; ",
       "start one with 'muster worker --allow-exec'"},
  };
  for (auto const& [function, missing, remedy] : all) {
    auto l = lack(closure_reason::function_unseen);
    l.function = function;
    EXPECT_EQ(text(l), missing + remedy);
    l.why = closure_reason::no_worker;
    EXPECT_EQ(text(l), "no worker is connected; " + remedy);
  }
  auto l = lack(closure_reason::no_worker);
  l.function = "muster.echo";
  EXPECT_EQ(text(l), "no worker is connected; start one with 'muster worker'");
  l.function = "python:tools";  // not a version of Python
  EXPECT_EQ(text(l), "no worker is connected; start one that provides 'python:tools'");
}

TEST(explanation_words, describe_needs_that_no_worker_meets) {
  using kind = unmet_need::kind;
  std::vector<std::pair<unmet_need, std::string>> const all = {
      {{kind::task, "worker:1", {}, 0, 1}, "of 1 worker with 'f', none is task worker:1"},
      {{kind::label, "disk", "ssd", 0, 1}, "of 1 worker with 'f', none has the label disk=ssd"},
      {{kind::free, "gpu", {}, 1, 2}, "of 2 workers with 'f', none has gpu=1 free"},
      {{kind::resource, "gpu", {}, 3, 1}, "of 1 worker with 'f', none has gpu=3"},
      {{kind::per_worker, "pw_1", {}, 0, 1}, "of 1 worker with 'f', none has built pw_1 yet"},
      {{kind::per_worker, "pw_1", "ps is away", 0, 1},
       "of 1 worker with 'f', none has built pw_1 yet; it will be built again after a pause: ps is "
       "away"},
  };
  for (auto const& [need, said] : all) {
    auto l = lack(closure_reason::unsatisfiable);
    l.need = need;
    EXPECT_EQ(text(l), said);
  }
}

TEST(explanation_words, describe_an_input_that_is_recomputed_or_stored_elsewhere) {
  explanation e;
  e.state = closure_state::blocked;
  e.why = closure_reason::input_made_again;
  e.inputs = e.inputs_missing = 1;
  e.input = closure_id{1};
  e.place = input_place{5'000, false, {"worker:0"}, closure_id{2}, 1'500ms};
  auto const again =
      "cl_0000000000000001, whose value of 5,000 bytes in the memory of worker:0 was lost: "
      "cl_0000000000000002 has been recomputing it for 1500 ms";
  EXPECT_EQ(cause(e), std::string("it is waiting for 1 of 1 input, including ") + again + ".");
  auto r = on_worker(closure_state::running, "worker:3", 4s, 1);
  std::string const runs =
      "RUNNING on worker:3 for 4000 ms, attempt 1, waiting for a value; its slot is free for other "
      "closures";
  r.waits.emplace();
  EXPECT_EQ(text(r), runs + ".");
  r.why = e.why;
  r.input = e.input;
  r.place = e.place;
  EXPECT_EQ(text(r), runs + "; " + again + ".");
  r.why = closure_reason::input_elsewhere;
  r.place = input_place{5'000, false, {"worker:0", "worker:1", "worker:2"}};
  EXPECT_EQ(text(r),
            runs +
                "; its input cl_0000000000000001, 5,000 bytes, is in the memory of "
                "worker:0, worker:1 and worker:2, not of the worker that runs the closure.");
  r.place = input_place{};
  EXPECT_EQ(text(r), runs +
                         "; its input cl_0000000000000001 is currently not available: it was in "
                         "the memory of a worker.");
}

TEST(explanation_words, describe_a_gang) {
  EXPECT_EQ(
      text(gang_wait{"g", 3, 3, false}),
      "the connected workers have no room for the 3 closures of gang 'g' at the same time, even "
      "when idle");
  EXPECT_EQ(
      text(gang_wait{"g", 2, 2, true}),
      "the 2 closures of gang 'g' are waiting until that many slots are idle at the same time");
  EXPECT_EQ(text(gang_wait{"g", 2, 1, true}),
            "1 of the 2 closures of gang 'g' is not ready to start yet");
}

TEST(explanation_words, describe_a_closure_behind_others) {
  auto e = queued(closure_reason::busy);
  e.function = "f";
  e.function_workers = 2;
  e.function_queued = 3;
  e.function_running = 2;
  EXPECT_EQ(
      text(e),
      "QUEUED for 0 ms: 2 workers with 'f' are busy or about to receive work; the function has "
      "3 closures queued and 2 running.");
  e.function_workers = 1;
  EXPECT_EQ(
      text(e),
      "QUEUED for 0 ms: 1 worker with 'f' is busy or about to receive work; the function has 3 "
      "closures queued and 2 running.");
}

TEST(explanation_words, describe_a_closure_that_waits_for_a_delay_or_an_input) {
  auto later = queued(closure_reason::delay);
  later.starts_in = 5s;
  EXPECT_EQ(text(later), "QUEUED, starts in 5000 ms: it was scheduled with a delay.");
  auto blocked = queued(closure_reason::input_not_ready, 2s);
  blocked.state = closure_state::blocked;
  blocked.inputs = blocked.inputs_missing = 1;
  blocked.input = closure_id{7};
  blocked.input_state = closure_state::queued;
  EXPECT_EQ(
      text(blocked),
      "BLOCKED for 2000 ms: it is waiting for 1 of 1 input, including cl_0000000000000007, which "
      "is QUEUED.");
}

TEST(explanation_words, describe_a_closure_that_runs_alone) {
  auto e = queued(closure_reason::exclusive, 1s);
  EXPECT_EQ(text(e), "QUEUED for 1000 ms: it is waiting for a worker that runs no other closures.");
  e.workers_lost = 3;
  e.draining_worker = "worker:0";
  e.draining_closures = 2;
  EXPECT_EQ(
      text(e),
      "QUEUED for 1000 ms: it is waiting for a worker that runs no other closures; worker:0 is "
      "being emptied for it and still has 2 closures. It lost its worker 3 times, so it runs "
      "alone on its worker.");
}

TEST(explanation_words, describe_a_running_closure) {
  auto e = on_worker(closure_state::running, "worker:0", 70ms, 1);
  EXPECT_EQ(text(e), "RUNNING on worker:0 for 70 ms, attempt 1.");
  auto asked = e;
  asked.stop_requested = true;
  EXPECT_EQ(text(asked),
            "RUNNING on worker:0 for 70 ms, attempt 1; it was asked to stop and has not answered.");
  e.away_for = 0ms;
  e.requeue_in = 2s;
  EXPECT_EQ(text(e),
            "RUNNING on worker:0 for 70 ms, attempt 1. The worker's connection broke 0 ms ago; "
            "unless it reconnects within 2000 ms, the closure is requeued.");
}

TEST(explanation_words, describe_a_requeued_closure) {
  attempt_outcome const cut{attempt_end::worker_lost, "cut"};
  auto waits = queued(closure_reason::no_worker, 2s);
  waits.lack = lack(closure_reason::no_worker);
  EXPECT_EQ(
      text(lost(waits, "worker:0", 2s, cut)),
      "QUEUED for 2000 ms: no worker is connected; start one that provides 'f'. It was requeued "
      "2000 ms ago from worker:0 (worker lost: cut).");
  auto exclusive = on_worker(closure_state::running, "worker:0", 3s, 4);
  exclusive.workers_lost = 3;
  EXPECT_EQ(text(lost(exclusive, "worker:9", 3s, {attempt_end::worker_lost, "killed"})),
            "RUNNING on worker:0 for 3000 ms, attempt 4. It lost its worker 3 times, so it runs "
            "alone on its worker. It was requeued 3000 ms ago from "
            "worker:9 (worker lost: killed).");
  EXPECT_EQ(
      text(lost(on_worker(closure_state::succeeded, "worker:1", 5ms, 2), "worker:0", 2'005ms, cut)),
      "SUCCEEDED on worker:1 after 5 ms, attempt 2. It was requeued 2005 ms ago from "
      "worker:0 (worker lost: cut).");
}

TEST(explanation_words, describe_an_ended_closure) {
  auto const failed =
      ended_with(closure_state::failed, failure_kind::user, "worker:0", "no such file");
  EXPECT_EQ(text(failed), "FAILED (USER) on worker:0: no such file.");
  EXPECT_EQ(text(ended_with(closure_state::cancelled, failure_kind::cancelled, "",
                            "an earlier closure of job_0000000000000001 failed")),
            "CANCELLED (CANCELLED): an earlier closure of job_0000000000000001 failed.");
  auto row = failed;
  row.is_row = true;
  EXPECT_EQ(
      text(row),
      "FAILED (USER) on worker:0: no such file. Its session keeps no further details about it.");
  row = on_worker(closure_state::succeeded, "worker:0", 1s, 1);
  row.is_row = true;
  EXPECT_EQ(text(row),
            "SUCCEEDED on worker:0 after 1000 ms, attempt 1. Its session keeps no further details "
            "about it.");
}

}  // namespace explanation_words_cases
}  // namespace muster::core
