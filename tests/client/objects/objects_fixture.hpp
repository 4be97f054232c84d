// A server, a worker ps:0 with classes, and a coordinator that creates objects of them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/cluster_coordinator.hpp"
#include "muster/function_error.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {

using std::chrono::milliseconds;

struct counter {
  explicit counter(int from) : n(from) {
    if (from < 0) throw function_error("it begins at 0", "ValueError");
  }
  int add(int by) { return n += by; }
  int value() const { return n; }
  void raise(std::string const& what) { throw function_error(what, "ValueError"); }
  std::string big(std::size_t bytes) { return std::string(bytes, 'x'); }
  int n;
};

struct rising {
  void next(int n) { good = good && n == std::exchange(last, n) + 1; }
  bool is_rising() const { return good; }
  int last = 0;
  bool good = true;
};

/// Blocks its methods until the test opens the gate, and counts living instances.
struct meeting {
  static inline gate* at = nullptr;
  static inline std::atomic<int> alive = 0;
  meeting() { ++alive; }
  ~meeting() { --alive; }
  int pass(context& c) {
    at->pass(&c);
    return 1;
  }
};

struct caller {
  int add_to(remote_object const& to, int by) { return to.call<int>("add", by).fetch(); }
  /// Calls back and forth between two objects, `times` times.
  int ask(remote_object const& other, remote_object const& self, int times) {
    return times == 0 ? 0 : other.call<int>("ask", self, other, times - 1).fetch();
  }
};

inline void add_classes(worker& w) {
  w.object(object_class<counter>("Counter")
               .constructor<int>({"from"})
               .method("add", &counter::add, {"by"})
               .method("value", &counter::value)
               .method("raise", &counter::raise)
               .method("big", &counter::big)
               .method("job", [](counter&, context& c) { return c.job(); }));
  w.object(object_class<rising>("Rising")
               .method("next", &rising::next)
               .method("is_rising", &rising::is_rising));
  w.object(object_class<meeting>("Meeting").method("pass", &meeting::pass).concurrency(4));
  w.object(
      object_class<caller>("Caller").method("add_to", &caller::add_to).method("ask", &caller::ask));
}

inline worker_options ps_at(std::string const& address, std::uint32_t index = 0) {
  auto o = options_for(address);
  o.job = "ps";
  o.index = index;
  return o;
}

inline test_server_options server_with_grace(milliseconds grace = milliseconds(10'000)) {
  test_server_options o;
  o.core.reconnect_grace = grace;
  return o;
}

template <class Error, class F>
Error thrown_by(F f) {
  try {
    f();
  } catch (Error const& e) {
    return e;
  }
  throw std::logic_error("nothing was thrown");
}

struct objects : testing::Test {
  test_server server;
  gate g;
  std::optional<worker_thread> ps;
  std::optional<cluster_coordinator> c;

  explicit objects(test_server_options o = server_with_grace()) : server(std::move(o)) {
    meeting::at = &g;
    ps.emplace(ps_at(server.address()), add_classes);
    c.emplace(coordinator_options{.server = server.address()});
  }
  ~objects() override { g.open(); }
};

}  // namespace muster::test
