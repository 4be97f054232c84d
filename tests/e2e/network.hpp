// A second network for one test: a namespace joined to this one by a cable that can be unplugged.
// Needs the right to make namespaces (root, as a rule) and the `ip` program.
#pragma once

#include <string>

namespace muster::e2e {

class network {
 public:
  network();
  ~network();
  network(network const&) = delete;

  /// Empty when the network is there, else why it is not.
  std::string const& problem() const { return problem_; }

  /// This side's address, reachable from the other side.
  std::string const& address() const { return near_address_; }
  /// To be put before a command line that is to run on the other side.
  std::string const& name() const { return name_; }

  void unplug() const;
  void plug_in() const;

 private:
  std::string run(std::string const& command) const;

  std::string name_, near_, far_, near_address_;
  std::string problem_;
};

}  // namespace muster::e2e
