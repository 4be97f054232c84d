// A network namespace for one test, joined by a virtual cable that can be unplugged. Needs
// permission to create namespaces (usually root) and the `ip` program.
#pragma once

#include <string>

namespace muster::e2e {

class network {
 public:
  network();
  ~network();
  network(network const&) = delete;

  /// Returns why the network could not be created; empty if it was.
  std::string const& problem() const { return problem_; }

  /// Returns the address of this side, reachable from the other side.
  std::string const& address() const { return near_address_; }
  /// Returns the prefix for command lines that are to run on the other side.
  std::string const& name() const { return name_; }

  void unplug() const;
  void plug_in() const;

 private:
  std::string run(std::string const& command) const;

  std::string name_, near_, far_, near_address_;
  std::string problem_;
};

}  // namespace muster::e2e
