// Processes that store large values in their own memory, and the streams to these processes. Owned
// by the blob_store; used only on the engine thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/blobs/holder_table.hpp"

namespace muster::server {

/// Receives requests for one process that stores values. Calls are never recursive.
class holder_sink {
 public:
  /// Requests an upload of the value, because another process cannot fetch it directly.
  virtual void on_upload_requested(std::string_view name) = 0;
  /// Announces that another process will present this ticket. Returns false, and the ticket is not
  /// issued, if too many announcements are waiting to be sent.
  virtual bool on_ticket(std::string_view ticket, std::string_view name) = 0;
  virtual void on_released(std::string_view name) = 0;

 protected:
  ~holder_sink() = default;
};

struct value_traffic {
  std::uint64_t shared = 0;  ///< through shared memory on one host, as reported by receivers
  std::uint64_t peer = 0;    ///< between hosts, as reported by receivers
  std::uint64_t server = 0;
};

class blob_holders {
 public:
  /// Maximum number of outputs examined per sweep.
  static constexpr std::size_t looks = 1'000;

  struct place {
    core::holder_id by = 0;
    std::string socket;
    bool same_host = false;
    bool other_host = false;  // if neither flag is set, the hosts are unknown
  };
  /// Address at which processes on other hosts fetch values from this process.
  struct peer {
    std::string address;      // "host:port"; empty if the holder has no address
    std::string certificate;  // PEM; empty without TLS
  };
  struct ticket {
    peer at;
    std::string bytes;
  };

  explicit blob_holders(core::holder_limits limits = {}) : table_(limits) {}

  /// REQUIRES: `sink` is valid until `close`.
  core::holder_id open(holder_sink& sink, core::holder_hello hello, peer p = {});
  void close(core::holder_id id, core::time_point now);
  core::holder_table& table() { return table_; }
  core::holder_table const& table() const { return table_; }

  bool knows(std::string_view name) const { return table_.find(name) != nullptr; }
  /// Returns the processes that store the value, starting with the processes on `host`. The order
  /// rotates with each call.
  std::vector<place> places(std::string_view name, std::string_view host);
  /// Returns the workers that store the output, starting with its producer.
  std::vector<std::string> tasks(std::string_view name) const;
  /// Issues a ticket for fetching the value once from process `from`. Returns nothing if that
  /// process does not support fetching.
  std::optional<ticket> give_ticket(std::string_view name, core::holder_id from);
  /// Requests an upload of the value. Returns false if no process stores it.
  bool want(std::string_view name, core::time_point now);
  void release_output(std::string_view name);
  struct needs {
    std::function<bool(std::string const&)> is_named, is_at_server;
  };
  /// Requests uploads of outputs that a value names and the server lacks. An upload is requested if
  /// the output was announced long ago, or if its producer has disconnected. Releases outputs that
  /// no value names. Returns named outputs that were lost with their last worker.
  std::vector<std::string> sweep(core::time_point now, needs const& by);

  core::holder_counts counts() const { return table_.counts(); }
  value_traffic& traffic() { return traffic_; }

 private:
  struct holder {
    holder_sink* sink;
    peer at;
  };

  core::holder_table table_;
  std::unordered_map<core::holder_id, holder> holders_;
  value_traffic traffic_;
};

}  // namespace muster::server
