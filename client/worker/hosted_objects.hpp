// Objects that live in a worker, each with threads of its own, and what its functions and methods
// ask of others.
//
//   ordered ──made──► ready ──dropped, or not kept by the first word of a stream──► gone
//      └── the constructor threw, or there is no such class ──► failed
//
// Calls of one caller are executed in their order, each once: the server sends again what it has no
// answer to when a stream breaks, and is given the answer that is kept. Filled by the user's thread
// before begin(); then all but what is said otherwise is of the engine thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/objects/object_calls.hpp"
#include "muster/context.hpp"
#include "muster/object_class.hpp"
#include "muster/v1/worker.pb.h"

namespace muster {

class hosted_objects {
 public:
  /// Callers of one object whose last number is known; the one that has not called for longest
  /// goes.
  static constexpr std::size_t callers_max = 4096;
  /// Objects that could not be made, of which it is known.
  static constexpr std::size_t failed_max = 1000;
  static constexpr std::size_t answers_per_message_max = 1000;
  static constexpr std::size_t bytes_per_message_max = std::size_t{256} << 10;

  hosted_objects() : calls_(std::make_shared<detail::object_calls>(std::string())) {}
  /// REQUIRES: end() was called, or never begin().
  ~hosted_objects() = default;
  hosted_objects(hosted_objects const&) = delete;

  /// Errors: std::invalid_argument (name taken, empty or too long; nothing makes its objects;
  /// concurrency 0).
  void add(detail::class_entry c);

  /// As object_calls::begin.
  void begin(
      std::function<void()> wake,
      std::function<void(std::chrono::milliseconds)> later = [](auto) {});
  /// The place of the worker on the stream that begins.
  void welcomed(std::shared_ptr<worker_identity const> me);
  void take(v1::ObjectOrders& orders);
  /// There is something to send.
  bool reports();
  /// Adds it to a message that has nothing else, as much as one takes.
  void report(v1::WorkerMessage& to);
  /// Any object is here.
  bool holds_any() const { return !objects_.empty(); }
  /// Who calls for functions and methods.
  std::shared_ptr<detail::object_calls> const& calls() const { return calls_; }
  /// Asks methods to stop and returns when all have returned. By the user's thread, after the last
  /// stream.
  void end();

 private:
  using caller = std::pair<std::uint64_t, bool>;  // its number, whether it is a worker
  struct order {
    detail::call_name name;
    std::string method;
    value args;
  };
  struct hosted {
    std::uint64_t id = 0;
    v1::BuildObject build;
    detail::class_entry const* of = nullptr;
    std::shared_ptr<void> instance;  // of its threads, once made
    std::stop_source stop;
    // The mutex protects all below.
    bool made = false, gone = false;
    std::deque<order> orders;  // at most what the server lets callers have unanswered
    std::condition_variable wake;
    std::uint32_t threads = 0, idle = 0;
    // Engine thread: the last number of each caller, and when it came.
    std::map<caller, std::pair<std::uint64_t, std::uint64_t>> last;
    std::uint64_t clock = 0;
  };
  struct answer {
    std::uint64_t object = 0;
    detail::call_name name;
    bool ok = false;
    value result;
    failure why;

    std::size_t size() const {
      return result.bytes.size() + why.message.size() + why.traceback.size() + why.type.size() + 40;
    }
  };
  using key = std::pair<std::uint64_t, detail::call_name>;

  void build(v1::BuildObject& b);
  void take_calls(v1::ObjectOrders& orders);
  void drop(std::uint64_t id);
  static bool is_new(hosted& o, detail::call_name const& name);
  /// False: the system gives none. REQUIRES: the mutex.
  bool start_thread(std::shared_ptr<hosted> const& o, bool makes);
  void join_over();
  /// Adds what functions and methods ask of others.
  void ask(v1::WorkerMessage& to);

  // Threads of an object.
  void run(std::shared_ptr<hosted> const& o, bool makes);
  /// False: it has failed.
  bool make(hosted& o);
  answer call(hosted& o, order const& next);
  /// Any thread; take the mutex.
  void tell_built(std::uint64_t id, failure const* why);
  void put(std::shared_ptr<answer const> a);
  void wake_stream();

  std::vector<detail::class_entry> classes_;
  std::shared_ptr<detail::object_calls> const calls_;
  std::function<void()> wake_;

  // Engine thread.
  std::map<std::uint64_t, std::shared_ptr<hosted>> objects_;
  bool calls_turn_ = false;  // calls go in a message of their own, before more answers

  mutable std::mutex mutex_;  // protects all below
  std::shared_ptr<worker_identity const> me_;
  std::map<std::uint64_t, failure> failed_;  // at most failed_max
  std::set<std::uint64_t> built_;            // to be told, also those that have failed
  /// To be sent. They and those that are kept: what the server has no answer to, which it limits.
  std::deque<std::shared_ptr<answer const>> out_;
  std::uint64_t sent_ = 0;  // answers of this process, over all streams
  struct sent_answer {
    std::uint64_t number = 0;
    std::shared_ptr<answer const> of{};
  };
  std::map<key, sent_answer> kept_;  // not known to be taken
  std::map<std::uint64_t, key> kept_by_number_;
  std::list<std::thread> threads_;
  std::list<std::thread> over_;  // that have nothing left to do
  std::condition_variable none_left_;
  bool told_ = false;  // the stream knows that there is something
};

}  // namespace muster
