// A TCP proxy that can interrupt connections, with its own thread. Use it only from the thread that
// created it.
#pragma once

#include <memory>
#include <string>

namespace muster::test {

class proxy {
 public:
  /// Forwards connections to `target`, "127.0.0.1:port", and sends `first` ahead of their bytes.
  explicit proxy(std::string const& target, std::string first = {});
  ~proxy();
  proxy(proxy const&) = delete;

  /// Returns "127.0.0.1:port".
  std::string address() const;

  /// Resets all connections; new ones are still accepted.
  void reset();
  /// Discards bytes in both directions without closing connections. Nothing is delivered later:
  /// `mend` resets the old connections.
  void cut();
  /// Resets the current connections, then acts like `cut`.
  void sever();
  void mend();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::test
