// A program of two ranks on a worker that the test controls.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/core/programs/controller.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {

using namespace std::chrono_literals;

/// A worker that accepts ranks, records requests, and answers when the test says so.
struct rank_worker : server::hub_worker {
  void on_rank_orders(core::rank_orders const&) override {}
  void on_log_query(server::rank_log_query const& q) override { queries.push_back(q); }
  void on_lines_query(server::last_lines_query const& q) override { lines.push_back(q); }
  std::vector<server::rank_log_query> queries;
  void on_stacks_query(server::stacks_query const& q) override { stacks.push_back(q); }
  std::vector<server::last_lines_query> lines;
  std::vector<server::stacks_query> stacks;
};

struct program_fixture : web_fixture {
  rank_worker w;
  std::string path;
  core::program_id id{};

  /// @param more Further members of the request, each followed by a comma.
  void start_with_ranks(web_options options = {}, std::string const& more = {}) {
    start(options);
    core_engine().run([this](server::hub& h) {
      w.stream = h.attach(w);
      core::worker_attached e{w.stream, {}};
      e.spec.functions = {"f"};
      e.spec.incarnation = core::incarnation{7};
      e.spec.host = "host-a";
      e.spec.resources = {{"gpu", 2}};
      e.programs = core::programs_offer{20'000, 20'099, 60s, "host-a", {}};
      h.apply(e);
    });
    path =
        "/api/v1/programs/" +
        text_at(
            post_json(
                "/api/v1/programs",
                "{" + more +
                    R"("command":["true"],"tasks":{"worker":{"count":2,"resources":{"gpu":1}}}})",
                201),
            "/id");
    id = core_engine().run(
        [](server::hub& h) { return h.state().programs().list({}, 1, {}).at(0).id; });
  }
  void report(std::vector<core::rank_reports::start> started, std::vector<core::rank_end> ended) {
    core_engine().run([&](server::hub& h) {
      h.apply(core::rank_reports{w.stream, std::move(started), std::move(ended), 0});
    });
  }
  core::rank_name rank(std::uint32_t n) const { return {id, 1, n}; }
  /// Waits until n queries are pending at the worker, and returns them.
  std::vector<server::rank_log_query> await_queries(std::size_t n) {
    for (;;) {
      auto all = core_engine().run([this](server::hub&) { return w.queries; });
      if (all.size() >= n) return all;
    }
  }
  std::vector<server::last_lines_query> lines_queries() {
    return core_engine().run([this](server::hub&) { return w.lines; });
  }
  std::vector<server::last_lines_query> await_lines_queries(std::size_t n) {
    for (;;)
      if (auto all = lines_queries(); all.size() >= n) return all;
  }
  void say_last_lines(std::vector<server::last_lines_answer::line> lines) {
    core_engine().run([&](server::hub& h) {
      h.workers().lines().deliver(w.stream, {id, 1, std::move(lines)});
    });
  }
};

}  // namespace muster::web::test
