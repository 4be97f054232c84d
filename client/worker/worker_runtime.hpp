// What a muster::worker is made of: its functions, its threads, and the loop that keeps it
// attached. Made, filled and run by the user's thread; the loop lives on the engine thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "client/worker/worker_stream.hpp"
#include "muster/worker.hpp"

namespace muster {

class worker::runtime {
 public:
  explicit runtime(worker_options options);
  ~runtime();
  runtime(runtime const&) = delete;

  void add(registered_function f);
  int run();
  void stop() noexcept;

 private:
  [[nodiscard]] coro::task<void> stay_attached();
  /// True: try again after a pause.
  bool hold(stream_end const& end);
  void drop_void();
  /// Logs how the stream ended.
  bool comes_back(stream_end const& end, std::string const& server);
  void tell_unreached(std::string const& server, std::string const& reason);
  void heed_stops();
  void take_finished();
  void take_reports();
  void wake_caller() noexcept;

  worker_options options_;
  v1::Hello hello_;
  std::vector<registered_function> functions_;
  per_worker_store values_;  // outlives the streams and the threads
  int wake_fd_ = -1;         // an eventfd: the caller of run() sleeps on it

  // any thread
  report_buffer reports_;
  std::atomic<int> stops_ = 0;
  std::atomic<bool> done_ = false;

  // engine thread while run() runs
  std::shared_ptr<client_engine> engine_;
  std::unique_ptr<executor> threads_;
  std::vector<std::shared_ptr<job>> finished_;
  held_closures held_;
  worker_stream* current_ = nullptr;
  coro::timer* pause_ = nullptr;
  coro::timer* void_timer_ = nullptr;
  std::chrono::steady_clock::time_point void_at_{};  // what is held and not attached is void then
  /// Servers that have not welcomed this worker since it last dialled them; as many as the options
  /// name.
  struct unreached {
    unsigned tries = 0;
    std::string reason;
    std::chrono::steady_clock::time_point told{};
  };
  std::map<std::string, unreached> unreached_;
  backoff backoff_;
  backoff quick_;  // for the first try after a connection broke while something ran
  bool was_welcome_ = false;
  int exit_status_ = 0;
};

}  // namespace muster
