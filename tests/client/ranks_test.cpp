#include "tests/client/ranks_fixture.hpp"

namespace muster::test {
namespace {

TEST_F(ranks_of_a_worker, start_end_and_are_forgotten) {
  program_options o;
  o.resources = {{"gpu", 3}};
  serve({[](worker_stream* s, v1::WorkerMessage const& m) {
           auto const& offer = m.hello().programs();
           EXPECT_EQ(offer.first_port(), 20'000u);
           EXPECT_EQ(offer.last_port(), 29'999u);
           EXPECT_EQ(offer.lease_ms(), 60'000u);
           EXPECT_EQ(offer.address(), "127.0.0.1");
           EXPECT_EQ(offer.held_size(), 0);
           auto order = start(2,
                              "echo $MUSTER_TASK_INDEX of $WORLD_SIZE on [$CUDA_VISIBLE_DEVICES]; "
                              "echo oops >&2; exit $RANK");
           (*order.mutable_ranks()->mutable_start(0)->mutable_rank(1)->mutable_resource())["gpu"] =
               2;
           s->Write(order);
           heard h(s);
           ASSERT_TRUE(h.until(2, 2));
           EXPECT_EQ(h.ends[0].exit_status(), 0u);
           EXPECT_EQ(h.ends[1].exit_status(), 1u);
           EXPECT_FALSE(h.ends[1].stopped());
           ASSERT_EQ(h.ends[1].stderr_size(), 1);
           EXPECT_EQ(h.ends[1].stderr(0), "oops");
           v1::ServerMessage read;
           for (std::uint32_t rank : {0u, 1u, 9u}) {
             auto& q = *read.mutable_ranks()->add_read();
             q.set_query(rank + 1);
             q.mutable_name()->set_program(7);
             q.mutable_name()->set_attempt(1);
             q.mutable_name()->set_rank(rank);
             q.set_bytes_max(1000);
           }
           s->Write(read);
           while (h.logs.size() < 3) ASSERT_TRUE(h.next());
           EXPECT_EQ(h.logs[0].data(), "0 of 2 on []\noops\n");
           EXPECT_EQ(h.logs[1].data(), "1 of 2 on [0,1]\noops\n");
           EXPECT_TRUE(h.logs[1].complete());
           EXPECT_FALSE(h.logs[2].known());
           // A repeated order starts no ranks. The worker reports their ends again.
           s->Write(order);
           while (h.said[0] < 2 || h.said[1] < 2) ASSERT_TRUE(h.next());
           v1::ServerMessage forget;
           for (std::uint32_t rank : {0u, 1u}) {
             auto& name = *forget.mutable_ranks()->add_forget();
             name.set_program(7);
             name.set_attempt(1);
             name.set_rank(rank);
           }
           s->Write(forget);
         },
         [](worker_stream*, v1::WorkerMessage const& m) {
           EXPECT_EQ(m.hello().programs().held_size(), 0);
         }},
        o);
}

TEST_F(ranks_of_a_worker, changed_last_lines_are_reported) {
  serve({[](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(3,
                   "case $RANK in "
                   "0) printf 'one\\n  two \\n\\n' ;; "
                   "1) printf 'bar 10%%\\rbar 20%%\\r' ;; "
                   "2) : ;; esac"));
    heard h(s);
    ASSERT_TRUE(h.until(3, 3));
    v1::ServerMessage ask;
    auto& q = *ask.mutable_ranks()->add_last_lines();
    q.set_program(7);
    q.set_attempt(1);
    for (std::uint32_t rank : {0u, 1u, 2u, 9u}) {
      q.add_rank(rank);
      q.add_size(0);
    }
    s->Write(ask);
    while (h.last_lines.empty()) ASSERT_TRUE(h.next());
    auto const& told = h.last_lines[0];
    EXPECT_EQ(told.program(), 7u);
    EXPECT_EQ(told.attempt(), 1u);
    ASSERT_EQ(told.line_size(), 2);
    EXPECT_EQ(told.line(0).rank(), 0u);
    EXPECT_EQ(told.line(0).text(), "  two");
    EXPECT_EQ(told.line(1).rank(), 1u);
    EXPECT_EQ(told.line(1).text(), "bar 20%");
    q.set_size(0, told.line(0).size());
    s->Write(ask);
    while (h.last_lines.size() < 2) ASSERT_TRUE(h.next());
    ASSERT_EQ(h.last_lines[1].line_size(), 1);
    EXPECT_EQ(h.last_lines[1].line(0).rank(), 1u);
  }});
}

TEST_F(ranks_of_a_worker, excess_log_requests_are_answered_as_busy) {
  serve({[](worker_stream* s, v1::WorkerMessage const&) {
    v1::ServerMessage read;
    for (std::uint64_t number = 1; number <= 20; ++number)
      read.mutable_ranks()->add_read()->set_query(number);
    s->Write(read);
    heard h(s);
    while (h.logs.size() < 20) ASSERT_TRUE(h.next());
    auto const busy =
        std::count_if(h.logs.begin(), h.logs.end(), [](v1::RankLog const& l) { return l.busy(); });
    EXPECT_GE(busy, 1);
    EXPECT_LE(busy, 4) << "sixteen are read at one time";
  }});
}

TEST_F(ranks_of_a_worker, are_stopped_with_their_grace_period) {
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(2, "trap 'exit 9' TERM; [ $RANK = 0 ] || trap '' TERM; : > " + file("up") +
                          "$RANK; while :; do sleep 0.05; done"));
    heard h(s);
    ASSERT_TRUE(h.until(2, 0));
    while (!std::filesystem::exists(file("up0")) || !std::filesystem::exists(file("up1")))
      std::this_thread::yield();
    s->Write(stop(200));
    ASSERT_TRUE(h.until(2, 2));
    EXPECT_EQ(h.ends[0].exit_status(), 9u);
    EXPECT_TRUE(h.ends[0].stopped());
    EXPECT_EQ(h.ends[1].signal(), static_cast<std::uint32_t>(SIGKILL));
  }});
}

TEST_F(ranks_of_a_worker, ranks_stopped_before_they_start_end_too) {
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    s->Write(start(1, "sleep 15"));
    s->Write(stop(200));  // while their directories are created
    heard h(s);
    ASSERT_TRUE(h.until(0, 1));
    EXPECT_TRUE(h.ends[0].stopped()) << h.ends[0].ShortDebugString();
  }});
}

TEST_F(ranks_of_a_worker, survive_a_broken_stream_if_the_server_keeps_them) {
  std::map<std::uint32_t, pid_t> pids;
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
           s->Write(start(2, "sleep 1000"));
           heard h(s);
           ASSERT_TRUE(h.until(2, 0));
           pids = h.pids;
         },
         [&](worker_stream* s, v1::WorkerMessage const& m) {
           auto const& held = m.hello().programs().held();
           ASSERT_EQ(held.size(), 2);
           for (int i : {0, 1}) {
             EXPECT_EQ(static_cast<pid_t>(held[i].pid()), pids[static_cast<std::uint32_t>(i)]);
             EXPECT_FALSE(held[i].has_ended());
           }
           heard h(s);  // the fake server's welcome keeps no ranks
           ASSERT_TRUE(h.until(0, 2));
           EXPECT_TRUE(h.ends[0].stopped());
         },
         [&](worker_stream*, v1::WorkerMessage const& m) {
           ASSERT_EQ(m.hello().programs().held_size(), 2) << "the server has not dropped the ranks";
           EXPECT_TRUE(m.hello().programs().held(0).has_ended());
         }});
  for (auto const& [rank, pid] : pids) EXPECT_FALSE(alive(pid));
}

TEST_F(ranks_of_a_worker, are_killed_when_the_server_is_silent_for_the_lease) {
  program_options o;
  o.lease = 1'000ms;
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
          s->Write(start(1, "sleep 1000"));
          heard h(s);
          while (h.leases < 6) ASSERT_TRUE(h.next());  // longer than the lease
          EXPECT_TRUE(h.ends.empty());
          h.answers = false;
          ASSERT_TRUE(h.until(1, 1));
          EXPECT_TRUE(h.ends[0].lease_ran_out());
          EXPECT_FALSE(alive(h.pids[0]));
          // An order is refused while the lease has expired.
          s->Write(start(1, "sleep 1000", 2));
          h.ends.clear();
          ASSERT_TRUE(h.until(0, 1));
          EXPECT_NE(h.ends[0].not_started(), "");
          EXPECT_TRUE(h.ends[0].lease_ran_out());
        }},
        o);
}

/// Runs a rank that executes `on_term` at SIGTERM, drains its worker, and checks that the rank ends
/// with status 9 before the worker does.
void drain_with_a_rank(ranks_of_a_worker& t, worker_options const& w, std::string const& on_term) {
  std::promise<void> up;
  std::map<std::uint32_t, v1::RankEnded> ends;
  t.server.on_attach = [&](worker_stream* s) {
    greet(s);
    s->Write(start(
        1, "trap '" + on_term + "' TERM; : > " + t.file("up") + "; while :; do sleep 0.05; done"));
    heard h(s);
    EXPECT_TRUE(h.until(1, 0));
    EXPECT_TRUE(there(t.file("up")));
    up.set_value();
    v1::ServerMessage drain;
    drain.set_drain(true);
    s->Write(drain);
    while (h.next()) {
    }
    ends = h.ends;
    return grpc::Status::OK;
  };
  program_options o;
  o.launcher = {RANK_LAUNCHER};
  worker_thread worker(w, [&](muster::worker& made) {
    made.take_programs(make_rank_side(o, {t.server.address()}));
  });
  up.get_future().wait();
  EXPECT_EQ(worker.join(), 0);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].exit_status(), 9u);
}

TEST_F(ranks_of_a_worker, are_stopped_and_reported_before_the_worker_leaves) {
  drain_with_a_rank(*this, options_for(server.address()), "exit 9");
}

TEST_F(ranks_of_a_worker, have_their_grace_period_beyond_the_drain_timeout) {
  auto w = options_for(server.address());
  w.drain_timeout = 20ms;
  drain_with_a_rank(*this, w, "sleep 1; exit 9");
}

TEST_F(ranks_of_a_worker, have_their_grace_period_without_a_connected_server) {
  std::atomic<int> streams = 0;
  std::promise<void> again;
  server.on_attach = [&](worker_stream* s) {
    auto const number = ++streams;
    if (number == 2) again.set_value();
    if (number > 1)
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "another server is the leader");
    greet(s);
    s->Write(start(1, "trap 'sleep 0.5; : > " + file("saved") + "; exit 0' TERM; : > " +
                          file("up") + "; while :; do sleep 0.05; done"));
    heard h(s);
    EXPECT_TRUE(h.until(1, 0));
    EXPECT_TRUE(there(file("up")));
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "over");
  };
  program_options o;
  o.launcher = {RANK_LAUNCHER};
  worker_thread worker(options_for(server.address()), [&](muster::worker& made) {
    made.take_programs(make_rank_side(o, {server.address()}));
  });
  again.get_future().wait();
  worker.stop();
  EXPECT_TRUE(std::filesystem::exists(file("saved")));
}

TEST_F(ranks_of_a_worker, failed_start_is_reported_with_its_reason) {
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
    auto order = start(1, "true");
    order.mutable_ranks()->mutable_start(0)->mutable_rank(0)->set_command(0, "/no/such/command");
    s->Write(order);
    heard h(s);
    ASSERT_TRUE(h.until(0, 1));
    EXPECT_EQ(h.ends[0].not_started(), "'/no/such/command': no such command");
    EXPECT_EQ(h.ends[0].exit_status(), 127u);
  }});
}

}  // namespace
}  // namespace muster::test
