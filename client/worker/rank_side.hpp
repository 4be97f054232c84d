// What the streams of a worker have to do with ranks of programs: the half that speaks to the
// server. Who runs ranks implements it (client/programs); a worker that has none takes no programs.
// What the messages mean is in proto/muster/v1/programs.proto. Outlives all streams; engine thread
// only.
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

  /// Once, before all else. `wake`: there is something to report.
  virtual void begin(coro::engine_context& engine, std::function<void()> wake) = 0;

  /// A stream begins: what there is goes into its hello.
  virtual void offer(v1::ProgramsOffer& to) = 0;
  /// The answer of `server`, "host:port".
  virtual void welcomed(v1::ProgramsWelcome const& answer, std::string const& server) = 0;
  virtual void take(v1::RankOrders const& orders) = 0;
  /// Adds what is to be told to a message that is about to be sent, within the limit of one. True:
  /// there is more, for the next one.
  virtual bool report(v1::WorkerMessage& to) = 0;
  /// Whether there is anything to report.
  virtual bool reports() const = 0;
  /// How often a message has to be sent, at least, while any rank is alive.
  virtual std::chrono::milliseconds sign_of_life() const = 0;

  /// Stops all ranks because the worker leaves, each with its grace. Returns the time after which
  /// none of them is alive any more unless its launcher hangs.
  virtual std::chrono::milliseconds leave() = 0;
  /// At once.
  virtual void kill() = 0;
  /// Kills what is left and returns when nothing is. After the last stream; by the thread that has
  /// made this.
  virtual void end() = 0;
  /// Nothing is alive, and all ends of this stream are told.
  virtual bool settled() const = 0;
  /// A rank is alive, or is about to be.
  virtual bool alive() const = 0;
};

}  // namespace muster
