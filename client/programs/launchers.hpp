// A worker's launcher processes, which start its ranks. Launchers read orders and write reports as
// lines (launch/ranks).
//
// A separate thread serves their pipes, because the engine thread polls no descriptors. Another
// thread does the programs' disk work, because a slow disk must not delay lease renewals: without
// renewals, launchers kill their ranks. The destructor ends all launchers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster {

class launchers {
 public:
  /// Functions called on this object's thread. Their targets must outlive close().
  struct callbacks {
    std::function<void(std::uint64_t id, std::string line)> on_report;
    /// The launcher and all its processes have exited, or the launcher could not be started. The
    /// function is not called if another start is pending; the launcher is then restarted. `orders`
    /// counts its start orders; `why` is empty after a normal exit.
    std::function<void(std::uint64_t id, std::uint32_t orders, bool started, std::string why)>
        on_gone;
  };

  /// `program` is a launcher's command line.
  launchers(std::vector<std::string> program, callbacks c);
  ~launchers();
  launchers(launchers const&) = delete;

  /// Thread-safe. Stores orders for this launcher until start() or forget() is called. If a kept
  /// launcher has exited by then, start() restarts it. There are at most as many launchers as
  /// ranks.
  void expect(std::uint64_t id);
  /// Starts the launcher if it is not running, and sends it the order.
  void start(std::uint64_t id, std::string order);
  /// Discards the stored orders of a launcher that is not started or has exited.
  void forget(std::uint64_t id);
  /// Ends a launcher whose ranks have exited. Thread-safe.
  void dismiss(std::uint64_t id);
  /// Sends an order to a launcher; has no effect if the launcher has exited. Thread-safe.
  void tell(std::uint64_t id, std::string order);
  /// Runs work that can block on the disk, in order. Thread-safe.
  void post_to_disk(std::function<void()> work);
  /// Finishes the disk work, closes all order pipes and waits for all launchers to exit.
  void close();

 private:
  void post(std::function<void()> work);

  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster
