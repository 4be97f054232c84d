// A worker that runs ranks of programs, and a scripted server.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <future>

#include "client/programs/program_options.hpp"
#include "tests/client/fake_server.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {

using namespace std::chrono_literals;

inline bool alive(pid_t pid) {
  auto const stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  auto const behind = stat.rfind(") ");
  return behind != std::string::npos && stat[behind + 2] != 'Z' && stat[behind + 2] != 'X';
}

inline v1::ServerMessage start(int ranks, std::string const& script, std::uint32_t attempt = 1) {
  v1::ServerMessage m;
  auto& s = *m.mutable_ranks()->add_start();
  s.set_program(7);
  s.set_attempt(attempt);
  s.set_name("train");
  s.set_own_service("127.0.0.1:20001");
  s.set_grace_ms(10'000);
  auto& type = *s.add_task();
  type.set_type("worker");
  for (int i = 0; i < ranks; ++i) {
    type.add_address("127.0.0.1:" + std::to_string(20'010 + i));
    auto& r = *s.add_rank();
    r.set_rank(static_cast<std::uint32_t>(i));
    r.set_type("worker");
    r.set_index(static_cast<std::uint32_t>(i));
    for (auto const* word : {"/bin/sh", "-c"}) r.add_command(word);
    r.add_command(script);
  }
  return m;
}

inline v1::ServerMessage stop(std::uint32_t grace_ms) {
  v1::ServerMessage m;
  auto& s = *m.mutable_ranks()->add_stop();
  s.set_program(7);
  s.set_attempt(1);
  s.set_grace_ms(grace_ms);
  return m;
}

inline bool there(std::string const& file) {
  auto const until = std::chrono::steady_clock::now() + 30s;
  while (!std::filesystem::exists(file))
    if (std::chrono::steady_clock::now() > until) return false;
  return true;
}

/// The reports about ranks on one stream.
struct heard {
  explicit heard(worker_stream* s) : stream(s) {}
  /// Reads until this many ranks have begun and ended. Returns false when the stream ends.
  bool until(std::size_t began, std::size_t over) {
    while (pids.size() < began || ends.size() < over)
      if (!next()) return false;
    return true;
  }
  bool next() {
    v1::WorkerMessage m;
    if (!stream->Read(&m)) return false;
    for (auto const& s : m.ranks().started()) pids[s.name().rank()] = static_cast<pid_t>(s.pid());
    for (auto const& e : m.ranks().ended()) {
      ++said[e.name().rank()];
      ends[e.name().rank()] = e;
    }
    for (auto const& l : m.ranks().log()) logs.push_back(l);
    for (auto const& l : m.ranks().last_lines()) last_lines.push_back(l);
    for (auto const& all : m.ranks().stacks()) stacks.push_back(all);
    for (auto const& all : m.ranks().last_stacks()) last_stacks.push_back(all);
    if (m.ranks().lease() != 0) {
      ++leases;
      v1::ServerMessage answer;
      answer.mutable_ranks()->set_lease(m.ranks().lease());
      if (answers) stream->Write(answer);
    }
    return true;
  }

  worker_stream* stream;
  std::map<std::uint32_t, pid_t> pids;
  std::map<std::uint32_t, v1::RankEnded> ends;
  std::map<std::uint32_t, int> said;
  std::vector<v1::RankLog> logs;
  std::vector<v1::LastLines> last_lines;
  std::vector<v1::RankStacks> stacks;
  std::vector<v1::LastStacks> last_stacks;
  int leases = 0;
  bool answers = true;
};

struct ranks_of_a_worker : testing::Test {
  /// Runs a worker against `streams`, one per connection, until the last has returned.
  void serve(std::vector<std::function<void(worker_stream*, v1::WorkerMessage const&)>> streams,
             program_options o = {}) {
    std::promise<void> done;
    std::atomic<std::size_t> number = 0;
    server.on_attach = [&](worker_stream* s) {
      auto const mine = number++;
      if (mine >= streams.size()) return grpc::Status::OK;
      auto const hello = greet(s);
      streams[mine](s, hello);
      if (mine + 1 == streams.size()) done.set_value();
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "over");
    };
    o.launcher = {RANK_LAUNCHER};
    o.stack_reader = {STACK_READER};
    if (o.directory.empty()) o.directory = directory.path();
    auto w = options_for(server.address());
    w.resources = o.resources;
    worker_thread worker(w, [&](muster::worker& made) {
      made.take_programs(make_rank_side(o, {server.address()}));
    });
    done.get_future().wait();
    worker.stop();
  }
  std::string file(std::string const& name) const { return (directory / name).string(); }

  temporary_directory directory;
  fake_server server;
};

}  // namespace muster::test
