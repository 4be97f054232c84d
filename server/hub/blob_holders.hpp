// The processes that hold large values in their own memory, as streams that can be told something:
// core::holder_table says who holds what. Owned by the blob_store; engine thread only.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/blobs/holder_table.hpp"

namespace muster::server {

/// Whoever holds. Not called inside of calls of itself.
class holder_sink {
 public:
  /// Somebody cannot take it there: it is to be put.
  virtual void on_wanted(std::string_view name) = 0;
  /// Somebody will bring this ticket. False: too many wait to be told, so it is not given.
  virtual bool on_ticket(std::string_view ticket, std::string_view name) = 0;
  /// An output that no value names any more.
  virtual void on_unneeded(std::string_view name) = 0;

 protected:
  ~holder_sink() = default;
};

/// Bytes of values that have gone from process to process, by the way they took.
struct value_traffic {
  std::uint64_t shared = 0;  ///< memory that both have, on one host; as those say who took it
  std::uint64_t peer = 0;    ///< from one host to another; as those say
  std::uint64_t server = 0;  ///< taken from the server
};

class blob_holders {
 public:
  /// Outputs that are looked at by one sweep.
  static constexpr std::size_t looks = 1'000;

  /// One process that holds a value.
  struct place {
    core::holder_id by = 0;
    std::string socket;
    bool same_host = false;   // as who asks, as both say
    bool other_host = false;  // as both say; neither: not known
  };
  /// Where processes of other hosts take values of this one.
  struct peer {
    std::string address;      // "host:port"; empty: they do not
    std::string certificate;  // PEM; empty: plaintext
  };
  struct ticket {
    peer at;
    std::string bytes;
  };

  explicit blob_holders(core::holder_limits limits = {}) : table_(limits) {}

  /// `sink` stays until close.
  core::holder_id open(holder_sink& sink, core::holder_hello hello, peer p = {});
  void close(core::holder_id id, core::time_point now);
  core::holder_table& table() { return table_; }
  core::holder_table const& table() const { return table_; }

  bool knows(std::string_view name) const { return table_.find(name) != nullptr; }
  /// Who holds it, those of the asker's host first; each time another of them at first.
  std::vector<place> places(std::string_view name, std::string_view host);
  /// The workers that hold it, its maker first.
  std::vector<std::string> tasks(std::string_view name) const;
  /// For one process that is to take it from this one, once. None: it cannot be had that way.
  std::optional<ticket> give_ticket(std::string_view name, core::holder_id from);
  /// Has one that holds it put it. False: nobody does.
  bool want(std::string_view name, core::time_point now);
  /// No value names it any more.
  void not_named(std::string_view name);
  struct needs {
    std::function<bool(std::string const&)> is_named, is_at_server;
  };
  /// Outputs that values name for a while, or whose maker has gone, and that the server has not,
  /// are wanted; those that none has named are unneeded. Those that are lost with their last
  /// worker.
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
