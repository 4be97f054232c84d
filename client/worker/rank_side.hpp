// Interface between a worker's streams and its program ranks (client/programs). The messages are
// defined in proto/muster/v1/programs.proto. Outlives all streams; used only on the engine thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "muster/v1/worker.pb.h"

namespace muster {

namespace coro {
class engine_context;
}

class rank_side {
 public:
  virtual ~rank_side() = default;

  /// Called once, before all other members. `wake` must be called when there is something to
  /// report.
  virtual void begin(coro::engine_context& engine, std::function<void()> wake) = 0;

  virtual void offer(v1::ProgramsOffer& to) = 0;
  /// `server` is "host:port".
  virtual void welcomed(v1::ProgramsWelcome const& answer, std::string const& server) = 0;
  virtual void take(v1::RankOrders const& orders) = 0;
  /// Adds reports, up to the message's size limit. Returns whether more reports are pending.
  virtual bool report(v1::WorkerMessage& to) = 0;
  virtual bool reports() const = 0;
  /// Returns the maximum time between messages while any rank is running.
  virtual std::chrono::milliseconds sign_of_life() const = 0;

  /// Stops all ranks, with their grace periods. Returns the time after which no rank is running
  /// unless its launcher hangs.
  virtual std::chrono::milliseconds leave() = 0;
  virtual void kill() = 0;
  /// Kills all ranks and waits for them. Called after the last stream, on the thread that created
  /// this object.
  virtual void end() = 0;
  /// Returns whether no rank is running and all exits have been reported on this stream.
  virtual bool settled() const = 0;
  /// Returns whether a rank is running or about to start.
  virtual bool alive() const = 0;
};

}  // namespace muster
