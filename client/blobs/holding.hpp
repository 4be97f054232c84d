// Tells the server what this process holds, over one stream (Hold), and hears what is to be put
// there, or needed no more. When the stream breaks it is opened again, with all that is held. A
// server that has no such call is asked again once in a while; until then nothing is held.
//
// Owned by shared_values; keeps itself until its stream has ended. Any thread but where a member
// says otherwise; what was not said yet is at most what is held.
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

class holding final : public std::enable_shared_from_this<holding>, stream_side {
 public:
  /// Something that is held. `copy`: another process has made it.
  struct named {
    std::string name;
    std::uint64_t size = 0;
    bool copy = false;
  };
  /// Engine thread, until wait_ended() has returned.
  struct callbacks {
    std::function<std::vector<named>()> held;
    std::function<void(std::string const&name)> on_wanted, on_unneeded;
    std::function<void(std::string const& name)> on_unlisted;  // a copy that nobody is told of
  };

  /// `task`: of the worker whose outputs these are, "worker:0"; empty: they are arguments.
  /// `peers`: gives them to other hosts; may be null. Both outlive wait_ended().
  holding(std::shared_ptr<client_engine> const& engine, blobs_options const& o,
          std::string socket_name, std::string task, peer_giver* peers, callbacks on);

  /// Once.
  void start();
  void close();
  /// After close(). Not the engine thread.
  void wait_ended();

  /// Whether more may be held: a server has been told of all, and knows it. Waits for the first
  /// answer of the first server so long. Not the engine thread unless `patience` is 0.
  bool ready(std::chrono::milliseconds patience);
  /// Outputs may stay with their worker. False where the server must have them.
  bool outputs_stay() const;
  /// The server could take it, should somebody not reach this process.
  bool may_hold(std::uint64_t size) const;
  /// The number that puts of what is held show.
  std::uint64_t holder() const;

  /// It is given from now on. Again after dropped(): an output that the server may have found
  /// unneeded too early.
  void announce(named const& what);
  void dropped(std::string const& name);
  /// From other processes of this host, and of another.
  void taken(std::uint64_t size);
  void copied(std::uint64_t size);

 private:
  [[nodiscard]] coro::task<void> run(std::shared_ptr<holding> self);

  // stream_side
  void connected() override;
  next next_message(grpc::ByteBuffer& to) override;
  std::string take(grpc::ByteBuffer& message) override;

  void lost();
  /// What was not said yet.
  struct news {
    named what;
    bool dropped = false;
  };
  void say(news n);
  void hear_of_peers();
  void wake();
  void say_refused_again();

  client_engine& engine_;
  std::weak_ptr<client_engine> const engine_there_;
  blobs_options const options_;
  std::string const socket_name_, task_;
  peer_giver* const peers_;
  callbacks const on_;
  // Engine thread.
  std::unique_ptr<server_stream> stream_;
  coro::timer pause_;
  backoff backoff_;
  v1::HoldResponse heard_;
  bool closing_ = false;
  bool first_said_ = false;

  mutable std::mutex mutex_;  // protects all below
  std::condition_variable changed_;
  bool ended_ = false;
  bool settled_ = false;  // a server has answered, or was not there
  bool streaming_ = false;
  bool outputs_stay_ = false;
  std::uint64_t holder_ = 0, former_ = 0;
  std::uint64_t bytes_max_ = 0;
  std::deque<news> news_;
  std::vector<std::string> refused_;
  std::uint64_t taken_ = 0, copied_ = 0;
};

}  // namespace muster::detail
