// Durable storage of the server's state: an ordered map, on a disk, in a service, or in memory for
// tests. Called by one thread at a time: the main thread until the server runs, then the journal's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace muster::server::journal {

/// Changes of a batch are applied in order.
struct change {
  enum class kind : std::uint8_t { put, erase, erase_below };
  kind what = kind::put;
  std::string key{};    ///< for erase_below: a prefix of keys
  std::string value{};  ///< only for put

  std::size_t bytes() const { return sizeof *this + key.size() + value.size(); }
  bool operator==(change const&) const = default;
};

/// Returns the end of the range of all keys with this prefix. Empty: the range has no end.
inline std::string behind(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

class store {
 public:
  virtual ~store() = default;
  /// Writes the whole batch or nothing; it is durable on OK.
  /// @return RESOURCE_EXHAUSTED: no space, nothing was written, the caller can retry. After any
  /// other error, the state of the disk is unknown and the store must not be written again.
  virtual muster::status write(std::vector<change> const& batch) = 0;
  /// Receives an entry; returns false to stop.
  using visitor = std::function<bool(std::string_view key, std::string_view value)>;
  /// Visits all entries whose keys have the prefix, in order of keys, until the visitor returns
  /// false.
  virtual muster::status read(std::string_view prefix, visitor const& v) const = 0;
  /// Tells the store that a caller waits for all writes to end. A remote store then gives up if it
  /// gets no answer. Any thread, repeatedly.
  virtual void hurry() {}
  /// Returns the size of all entries on the disk.
  virtual std::uint64_t bytes_on_disk() const = 0;
  /// Returns the free space, or nothing if it is unknown.
  virtual std::optional<std::uint64_t> bytes_free() const { return {}; }
  /// Returns the version of the storage service, as of the last check of its space. Empty: unknown,
  /// or a local directory.
  virtual std::string version() const { return {}; }
  /// Returns whether `bytes_free` works without a remote call.
  virtual bool is_local() const { return true; }
};

}  // namespace muster::server::journal
