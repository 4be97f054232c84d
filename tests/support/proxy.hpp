// A TCP proxy in front of a server that can interrupt connections. It has its own thread. Use it
// only from the thread that created it.
#pragma once

#include <memory>
#include <string>

namespace muster::test {

class proxy {
 public:
  /// Forwards every connection to `target`, "127.0.0.1:port", and sends `first` ahead of its bytes.
  explicit proxy(std::string const& target, std::string first = {});
  ~proxy();
  proxy(proxy const&) = delete;

  /// Returns the address to connect to, "127.0.0.1:port".
  std::string address() const;

  /// Resets every connection; new connections are still accepted.
  void reset();
  /// Discards bytes in both directions without closing any connection. New connections are accepted
  /// but not forwarded. The discarded bytes are never delivered: `mend` resets the old connections.
  void cut();
  /// Resets the current connections, then behaves like `cut`.
  void sever();
  void mend();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::test
