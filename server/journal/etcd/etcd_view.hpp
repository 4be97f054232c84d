// Snapshot of a store in etcd at one revision, with or without a running server. `open` reads the
// snapshot into memory, because the leader drops old revisions. Used by one thread at a time.
#pragma once

#include <map>
#include <memory>

#include "server/journal/etcd/client.hpp"
#include "server/journal/inspection.hpp"

namespace muster::server::journal::etcd {

/// Treatment of an entry whose large value is missing.
enum class lost_values : std::uint8_t {
  refuse,     ///< `open` fails with INTERNAL
  unreadable  ///< the entry gets an invalid value
};

class etcd_view final : public view {
 public:
  /// Opens a snapshot.
  /// @return UNAVAILABLE if etcd does not answer, INTERNAL if the data is damaged, CANCELLED if
  ///   `watch` returned false, or etcd's own error. The message is one line and contains the
  ///   address.
  static muster::result<std::unique_ptr<etcd_view>> open(access const& a, watcher const& watch = {},
                                                         lost_values lost = lost_values::refuse);

  muster::status read(std::string_view prefix, visitor const& v) const override;
  std::uint64_t bytes_on_disk() const override { return bytes_; }
  std::string name() const override { return name_; }
  std::vector<std::string> const& notes() const override { return notes_; }
  std::int64_t revision() const { return revision_; }
  std::string const& leader() const { return leader_; }

 private:
  using map = std::map<std::string, std::string, std::less<>>;

  explicit etcd_view(std::string name) : name_(std::move(name)) {}
  muster::status fill(client& c, watcher const& watch, lost_values lost);
  muster::status take(map const& raw, std::string const& prefix, lost_values lost);

  std::string const name_;
  std::int64_t revision_ = 0;
  std::uint64_t bytes_ = 0;
  std::string leader_;
  std::vector<std::string> notes_;
  map entries_;
};

}  // namespace muster::server::journal::etcd
