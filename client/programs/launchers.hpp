// The launchers that a worker has started, one for each order to start ranks: processes with a line
// of orders in and a line of reports out (launch/ranks). They live on a thread of its own, since
// the engine thread polls no descriptors. Disk work of programs has another one: a slow disk must
// not keep leases from launchers, which kill their ranks without. When this object is gone, so are
// they.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster {

class launchers {
 public:
  /// Called by the thread of this object. What they hand on has to outlive close().
  struct callbacks {
    std::function<void(std::uint64_t id, std::string line)> on_report;
    /// It and all that it started is gone, or it could not be started. It had been given so many
    /// orders to start; with a further one under way it is started anew. `why`: empty when it ended
    /// in order.
    std::function<void(std::uint64_t id, std::uint32_t orders, bool started, std::string why)>
        on_gone;
  };

  /// `program`: the launcher's words.
  launchers(std::vector<std::string> program, callbacks c);
  ~launchers();
  launchers(launchers const&) = delete;

  /// Any thread. There are as many as there are ranks, at most. It will be started, or forgotten:
  /// what is told until then is kept for it. One that stays after its ranks is given the order when
  /// it is there, and else started anew.
  void expect(std::uint64_t id);
  /// Starts a launcher of this number and gives it its first order.
  void start(std::uint64_t id, std::string order);
  /// It is not started, or gone for good.
  void forget(std::uint64_t id);
  /// Any thread. One whose ranks have ended is not to stay.
  void dismiss(std::uint64_t id);
  /// Any thread. To one that is gone: nothing happens.
  void tell(std::uint64_t id, std::string order);
  /// Any thread: work that may wait for a disk, done in order by a thread for that.
  void post_to_disk(std::function<void()> work);
  /// Finishes the disk's work, ends all lines of orders, and returns when no launcher is left.
  void close();

 private:
  void post(std::function<void()> work);

  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster
