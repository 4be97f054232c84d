// Members of an etcd cluster as real processes, from Debian's package etcd-server. Used by one
// thread.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "server/journal/etcd/client.hpp"
#include "tests/e2e/process.hpp"

namespace muster::test {

/// Returns a TCP port of the loopback interface that stays reserved until the process ends.
std::uint16_t free_port();
bool etcd_is_installed();

class etcd_members {
 public:
  /// Starts the members and waits until they answer. @param flags Further flags of each member.
  explicit etcd_members(std::size_t count, std::vector<std::string> const& flags = {},
                        bool tls = false);

  /// Returns a URL such as "etcd://127.0.0.1:1,127.0.0.1:2/test".
  std::string url(std::string const& user = {}) const;
  server::journal::etcd::access access() const;
  /// Returns the index of the leading member, or nullopt.
  std::optional<std::size_t> leader() const;
  e2e::process& member(std::size_t i) { return processes_[i]; }
  std::string const& host(std::size_t i) const { return hosts_[i]; }
  std::filesystem::path file(std::string const& name) const { return directory_ / name; }
  /// Runs `etcdctl` against the first member, and returns its exit status.
  int control(std::vector<std::string> const& words);
  bool answer() const;

 private:
  void start(std::size_t i, std::vector<std::string> const& flags);

  bool const tls_;
  e2e::temporary_directory directory_;
  std::vector<std::string> hosts_, peers_;
  std::deque<e2e::process> processes_;
  std::size_t serial_ = 0;
};

}  // namespace muster::test
