// A wire that can be cut: a TCP proxy in front of a server, with a thread of its own. Used from the
// thread that made it.
#pragma once

#include <memory>
#include <string>

namespace muster::test {

class proxy {
 public:
  /// Forwards every connection to `target`, "127.0.0.1:port", where it begins with `first`.
  explicit proxy(std::string const& target, std::string first = {});
  ~proxy();
  proxy(proxy const&) = delete;

  /// "127.0.0.1:port", to be connected to instead.
  std::string address() const;

  /// Resets every connection; new ones are welcome.
  void reset();
  /// Bytes go nowhere, in both directions, and nothing is closed; new connections are accepted and
  /// lead nowhere. Nothing that was held up comes later: after `mend` the old connections are
  /// reset.
  void cut();
  /// As cut, and the connections of now are reset.
  void sever();
  void mend();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::test
