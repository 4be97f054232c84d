// A worker's objects, each with its own threads, and the calls that functions and methods make to
// other objects. States of an object:
//
//     ordered ──made──► ready ──dropped, or not in `kept` of a new stream──► gone
//        └── the constructor threw, or there is no such class ──► failed
//
// Calls from one caller are executed in order, each once. After a broken stream, the server resends
// unanswered calls; an executed call is answered with its stored answer. The user's thread adds
// classes before begin(). After that, members are used on the engine thread unless stated
// otherwise.
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
  /// Maximum number of callers per object whose last number is stored. At this limit, the caller
  /// with the oldest call is dropped.
  static constexpr std::size_t callers_max = 4096;
  /// Maximum number of stored construction failures.
  static constexpr std::size_t failed_max = 1000;
  static constexpr std::size_t answers_per_message_max = 1000;
  static constexpr std::size_t bytes_per_message_max = std::size_t{256} << 10;

  hosted_objects() : calls_(std::make_shared<detail::object_calls>(std::string())) {}
  /// @pre begin() has not been called, or end() has been called.
  ~hosted_objects() = default;
  hosted_objects(hosted_objects const&) = delete;

  /// @throws std::invalid_argument if the name is taken, empty or too long, there is no
  ///   constructor, or concurrency is 0
  void add(detail::class_entry c);

  /// See object_calls::begin.
  void begin(
      std::function<void()> wake,
      std::function<void(std::chrono::milliseconds)> later = [](auto) {});
  /// Called on each new stream.
  void welcomed(std::shared_ptr<worker_identity const> me);
  void take(v1::ObjectOrders& orders);
  bool reports();
  /// Adds as many pending reports as possible to an otherwise empty message.
  void report(v1::WorkerMessage& to);
  bool holds_any() const { return !objects_.empty(); }
  std::shared_ptr<detail::object_calls> const& calls() const { return calls_; }
  /// Asks methods to stop and waits until all have returned. Called on the user's thread, after the
  /// last stream.
  void end();

 private:
  using caller = std::pair<std::uint64_t, bool>;  // caller's number, and whether it is a worker
  struct order {
    detail::call_name name;
    std::string method;
    value args;
  };
  struct hosted {
    std::uint64_t id = 0;
    v1::BuildObject build;
    detail::class_entry const* of = nullptr;
    std::shared_ptr<void> instance;  // user's object, used only by the object's threads
    std::stop_source stop;
    // The following members are protected by mutex_.
    bool made = false, gone = false;
    std::deque<order> orders;  // unprocessed orders; the server limits their number
    std::condition_variable wake;
    std::uint32_t threads = 0, idle = 0;
    // Each caller's last number, and the time when it was used. Used only on the engine thread.
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
  /// Returns false if the system cannot create another thread.
  /// @pre mutex_ is locked.
  bool start_thread(std::shared_ptr<hosted> const& o, bool makes);
  void join_over();
  void ask(v1::WorkerMessage& to);

  // The following members run on the object's threads.
  void run(std::shared_ptr<hosted> const& o, bool makes);
  bool make(hosted& o);
  answer call(hosted& o, order const& next);
  /// The following members may be called from any thread and lock mutex_.
  void report_built(std::uint64_t id, failure const* why);
  void put(std::shared_ptr<answer const> a);
  void wake_stream();

  std::vector<detail::class_entry> classes_;
  std::shared_ptr<detail::object_calls> const calls_;
  std::function<void()> wake_;

  // Used only on the engine thread.
  std::map<std::uint64_t, std::shared_ptr<hosted>> objects_;
  bool send_calls_next_ = false;  // whether the next message contains calls, not answers

  mutable std::mutex mutex_;  // protects the following members
  std::shared_ptr<worker_identity const> me_;
  std::map<std::uint64_t, failure> failed_;
  std::set<std::uint64_t> built_;  // objects to report as constructed or failed
  /// Answers to send. Together with kept_, limited by the number of unanswered calls on the server.
  std::deque<std::shared_ptr<answer const>> out_;
  std::uint64_t sent_ = 0;
  struct sent_answer {
    std::uint64_t number = 0;
    std::shared_ptr<answer const> of{};
  };
  std::map<key, sent_answer> kept_;
  std::map<std::uint64_t, key> kept_by_number_;
  std::list<std::thread> threads_;
  std::list<std::thread> finished_threads_;
  std::condition_variable none_left_;
  bool stream_woken_ = false;
};

}  // namespace muster
