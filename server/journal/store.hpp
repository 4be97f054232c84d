// Durable storage of the server's state: an ordered map on a disk, in a service, or in memory for
// tests. Used by one thread at a time: by the main thread until the server runs, then by the
// journal's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace muster::server::journal {

/// The changes of a batch are applied in order.
struct change {
  enum class kind : std::uint8_t { put, erase, erase_below };
  kind what = kind::put;
  std::string key{};    ///< for erase_below: a key prefix
  std::string value{};  ///< only for put

  std::size_t bytes() const { return sizeof *this + key.size() + value.size(); }
  bool operator==(change const&) const = default;
};

/// Returns the end of the range of all keys with this prefix, or an empty string if the range has
/// no end.
inline std::string behind(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

class store {
 public:
  virtual ~store() = default;
  /// Writes the whole batch durably, or writes nothing.
  /// @return RESOURCE_EXHAUSTED if nothing was written; the caller can then retry. After any other
  ///   error, the state of the disk is unknown, and write() must not be called again.
  virtual muster::status write(std::vector<change> const& batch) = 0;
  /// Returns false to stop the visit.
  using visitor = std::function<bool(std::string_view key, std::string_view value)>;
  /// Visits the entries whose keys have the prefix, in key order.
  virtual muster::status read(std::string_view prefix, visitor const& v) const = 0;
  /// Called repeatedly, on any thread, while a caller waits for all writes to end. A remote store
  /// that gets no answer must give up soon after the first call.
  virtual void hurry() {}
  virtual std::uint64_t bytes_on_disk() const = 0;
  /// Returns nothing if the free space is unknown.
  virtual std::optional<std::uint64_t> bytes_free() const { return {}; }
  /// Returns the storage service's version at the last check of its space; may be empty.
  virtual std::string version() const { return {}; }
  virtual bool is_local() const { return true; }
};

}  // namespace muster::server::journal
