// A worker: functions with names, run for whoever schedules closures of them.
//
//   muster::worker w({.server = "127.0.0.1:8476", .slots = 4});
//   w.function("add", [](int a, int b) { return a + b; });
//   return w.run();
//
// Functions run on `slots` threads; quick functions on the stream's own thread, in between
// messages. Every closure is answered exactly once. When the connection breaks, running functions
// go on: the worker connects again with the same incarnation and says what it holds, and answers
// that the server may not have taken come with that. What the server does not take up again is
// asked to stop, and its results are dropped. Made and run by one thread; stop() comes from
// anywhere.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "muster/context.hpp"
#include "muster/function.hpp"
#include "muster/object_class.hpp"
#include "muster/worker_options.hpp"

namespace muster {

class rank_side;

class worker {
 public:
  /// Errors: std::invalid_argument names the option (no server, slots 0, credits below slots).
  explicit worker(worker_options options);
  /// REQUIRES: run() is not running.
  ~worker();
  worker(worker const&) = delete;
  worker& operator=(worker const&) = delete;

  /// Adds a function: any callable whose parameters boost::json can make (value_to) and whose
  /// result it can take (value_from; void gives null), with an optional first `context&`. Trailing
  /// std::optional parameters may be left out. `parameters` names them, in order, for callers that
  /// pass keyword arguments. Called by several threads at once when slots > 1.
  /// Exceptions become failures, see function_error.hpp. Errors of all four: std::invalid_argument
  /// (name taken, empty or longer than 256 bytes). REQUIRES: before run().
  template <class F>
  void function(std::string name, F f, std::vector<std::string> parameters = {}) {
    add(std::move(name), make_raw(std::move(f), std::move(parameters)), false, true);
  }
  /// The same, run on the stream's thread: no hop, but it must return within microseconds, since
  /// everything else of this worker waits.
  template <class F>
  void quick_function(std::string name, F f, std::vector<std::string> parameters = {}) {
    add(std::move(name), make_raw(std::move(f), std::move(parameters)), true, true);
  }
  /// Bytes in, bytes out.
  void raw_function(std::string name, muster::raw_function f) {
    add(std::move(name), std::move(f), false, false);
  }
  void quick_raw_function(std::string name, muster::raw_function f) {
    add(std::move(name), std::move(f), true, false);
  }

  /// Lets coordinators make objects of a class here; see object_class.hpp. Errors:
  /// std::invalid_argument (name taken, empty or longer than 256 bytes, no constructor). REQUIRES:
  /// before run().
  template <class T>
  void object(object_class<T> const& c) {
    add(c.entry());
  }

  /// Takes ranks of programs, too. For `muster worker`, which has who runs them
  /// (client/programs). REQUIRES: before run().
  void take_programs(std::unique_ptr<rank_side> ranks);

  /// Serves until stop(), the server's drain, or a status that forbids coming back. Returns 0 after
  /// an orderly end, 1 otherwise, with the reason in the log. Returns only when every function has
  /// returned. Once only.
  int run();

  /// Asks run() to finish what is held and return; a second call asks running functions to stop and
  /// leaves without waiting for the server. Any thread, also from a signal handler.
  void stop() noexcept;

 private:
  /// `typed`: made by make_raw.
  void add(std::string name, muster::raw_function f, bool quick, bool typed);
  void add(detail::class_entry c);

  class runtime;
  std::unique_ptr<runtime> runtime_;
};

}  // namespace muster
