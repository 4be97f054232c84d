#include "tests/conformance/coordinator/fixture.hpp"

#include "server/core/queries/session_queries.hpp"
#include "tests/conformance/coordinator/datasets.hpp"

namespace muster::test {

conformance::conformance(int n, coordinator_options o) {
  for (int i = 0; i < n; ++i) start_worker();
  o.server = server.address();
  c.emplace(std::move(o));
}

conformance::~conformance() {
  held.open();
  c.reset();
}

void conformance::start_worker() {
  workers.push_back(
      std::make_unique<worker_thread>(options_for(server.address()), [this](worker& w) {
        w.function("step", [this](int n) { return steps += n, n; });
        w.function("fail", [](std::string const& why) -> int {
          throw function_error(why, "InvalidArgumentError");
        });
        w.function("hold", held.function());
        w.function("hold_on", [this](context& at, std::uint32_t index) {
          if (at.index() == index) held.pass(&at);
          return at.index();
        });
        add_datasets(w);
        // Fails after it was asked to stop.
        w.function("hold_then_fail", [this](std::string const& why) -> int {
          held.pass();
          throw function_error(why, "InvalidArgumentError");
        });
        w.function("put_back_once", [](context& at) {
          if (at.attempt() == 1) throw function_error(failure_kind::stale_handle, "not here");
          return 1;
        });
        w.function("nested", [] {
          return std::tuple{1, std::vector<double>{2.5, 3}, std::map<std::string, int>{{"k", 4}}};
        });
      }));
}

void conformance::wait_stopping() {
  EXPECT_TRUE(server.eventually([](auto& core) {
    auto const s = core.sessions().list({}, 1).items.at(0);
    return s.stopping || s.generation > 1;
  }));
}

std::uint64_t conformance::running() {
  return server.on_engine(
      [](server::hub& h) { return h.state().overview(h.now()).closures.running; });
}

}  // namespace muster::test
