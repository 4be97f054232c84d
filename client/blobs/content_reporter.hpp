// Reports to the server, over a stream (Hold), the values that this process holds. The server
// replies with the values to upload and the values that are no longer needed. After a broken
// stream, all values are reported again. If the server does not support the call, the process holds
// no values, and the call is retried periodically.
//
// The shared_values object owns this object, which also keeps itself alive until its stream has
// ended. Thread-safe unless documented otherwise.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "client/blobs/peer_giving.hpp"
#include "client/link/server_stream.hpp"
#include "coro/timer_queue.hpp"
#include "muster/blobs.hpp"
#include "muster/v1/blobs.pb.h"

namespace muster::detail {

class content_reporter final : public std::enable_shared_from_this<content_reporter>, stream_side {
 public:
  /// If `copy` is true, another process created the value.
  struct named {
    std::string name;
    std::uint64_t size = 0;
    bool copy = false;
  };
  /// Called on the engine thread, until wait_ended() has returned.
  struct callbacks {
    std::function<std::vector<named>()> held;
    std::function<void(std::string const&name)> on_upload_requested, on_released;
    std::function<void(std::string const& name)>
        on_unlisted;  // called with a copy that the server no longer lists
  };

  /// `task` is the worker whose outputs this process holds, for example "worker:0"; empty for
  /// arguments. `peers` serves the values to other hosts and can be null. `o` and `peers` must
  /// exist until wait_ended() has returned.
  content_reporter(std::shared_ptr<client_engine> const& engine, blobs_options const& o,
                   std::string socket_name, std::string task, peer_value_server* peers,
                   callbacks on);

  /// Must be called once.
  void start();
  void close();
  /// Waits until the stream has ended. Must be called after close(), and not on the engine thread.
  void wait_ended();

  /// Returns true if this process can hold values, because the server has acknowledged all values
  /// so far. Waits for a server's first answer for up to `patience`, which must be 0 on the engine
  /// thread.
  bool ready(std::chrono::milliseconds patience);
  /// Returns false if outputs must be stored on the server.
  bool outputs_stay() const;
  /// Returns true if the server could store a value of this size for processes that cannot reach
  /// this process.
  bool may_hold(std::uint64_t size) const;
  /// Returns the holder number, or 0 if there is no stream.
  std::uint64_t holder() const;

  /// Must be called again after dropped() for an output that the server may have declared unneeded
  /// too early.
  void announce(named const& what);
  void dropped(std::string const& name);
  /// Both functions count bytes fetched from other processes: on this host (taken), or on other
  /// hosts (copied).
  void taken(std::uint64_t size);
  void copied(std::uint64_t size);

 private:
  [[nodiscard]] coro::task<void> run(std::shared_ptr<content_reporter> self);

  void connected() override;
  next next_message(grpc::ByteBuffer& to) override;
  std::string take(grpc::ByteBuffer& message) override;

  void lost();
  struct news {
    named what;
    bool dropped = false;
  };
  void say(news n);
  void process_peer_settings();
  void wake();
  void report_refused_again();

  client_engine& engine_;
  std::weak_ptr<client_engine> const engine_there_;
  blobs_options const options_;
  std::string const socket_name_, task_;
  peer_value_server* const peers_;
  callbacks const on_;
  // Used only on the engine thread.
  std::unique_ptr<server_stream> stream_;
  coro::timer pause_;
  backoff backoff_;
  v1::HoldResponse response_;
  bool closing_ = false;
  bool first_said_ = false;

  mutable std::mutex mutex_;  // protects the following members
  std::condition_variable changed_;
  bool ended_ = false;
  bool has_answer_ = false;  // whether a server has answered, or was found to be unreachable
  bool streaming_ = false;
  bool outputs_stay_ = false;
  std::uint64_t holder_ = 0, former_ = 0;
  std::uint64_t bytes_max_ = 0;
  std::deque<news> reports_;
  std::vector<std::string> refused_;
  std::uint64_t taken_ = 0, copied_ = 0;
};

}  // namespace muster::detail
