// The common part of all WebSocket topics: a sequence number that grows with each change, and
// messages that are shared by all clients at the same number. Topics send state, not events, so
// nothing is queued for a client. Owned by websocket_hub; used on the web thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/core/api/time.hpp"
#include "web/json/json_out.hpp"

namespace muster::web {

enum class topic_name : std::uint8_t {
  counters,
  tasks,
  jobs,
  clusters,
  agents,
  barriers,
  events,
  alerts,
  programs
};
inline constexpr std::array topic_names{
    topic_name::counters, topic_name::tasks,  topic_name::jobs,
    topic_name::clusters, topic_name::agents, topic_name::barriers,
    topic_name::events,   topic_name::alerts, topic_name::programs};
std::string_view name(topic_name t);

using shared_text = std::shared_ptr<std::string const>;

class topic {
 public:
  explicit topic(topic_name n) : topic(std::string(web::name(n))) {}
  /// `seq` must not be less than the number of any earlier topic with this name.
  explicit topic(std::string name, std::uint64_t seq = 0) : name_(std::move(name)), seq_(seq) {}
  virtual ~topic() = default;

  /// True while the topic has subscribers and is therefore kept up to date. Set by the hub.
  bool live = false;

  std::uint64_t seq() const { return seq_; }
  shared_text snapshot();
  /// REQUIRES: can_serve(from).
  shared_text delta(std::uint64_t from);
  /// Returns the changes for a client that displays these rows, or null if there are none.
  virtual shared_text delta_for(std::uint64_t from, std::span<std::uint32_t const> = {}) {
    return delta(from);
  }
  /// Returns false if the client needs a snapshot, because `from` is too old or belongs to another
  /// server process.
  virtual bool can_serve(std::uint64_t from) const { return from <= seq_; }

  std::uint64_t serialised() const { return serialised_; }

 protected:
  /// Begins the next sequence number and discards the previous messages.
  void advance(core::time_point now);
  core::time_point now() const { return now_; }
  virtual void write_body(json_out& out, std::uint64_t const* from) const = 0;
  shared_text frame(std::uint64_t const* from, std::function<void(json_out&)> const& body) const;

 private:
  // At the limit, all messages are discarded and created again when needed.
  static constexpr std::size_t deltas_max = 128;

  std::string const name_;
  std::uint64_t seq_;
  core::time_point now_{};
  shared_text snapshot_;
  std::map<std::uint64_t, shared_text> deltas_;  // keyed by `from`
  mutable std::uint64_t serialised_ = 0;
};

template <class Id>
class changing_rows : public topic {
 public:
  using topic::topic;
  /// Clients that resume at a sequence number of an earlier topic with the same name receive a
  /// snapshot.
  changing_rows(std::string name, std::uint64_t seq)
      : topic(std::move(name), seq), forgotten_(seq + 1) {}

  bool can_serve(std::uint64_t from) const override { return from <= seq() && from >= forgotten_; }
  shared_text delta_for(std::uint64_t from, std::span<std::uint32_t const> = {}) override {
    return last_change_ > from ? delta(from) : nullptr;
  }

 protected:
  /// Records the current sequence number as the number of the last change.
  std::uint64_t change() { return last_change_ = seq(); }
  void forget(Id id) {
    if (removed_.size() == removed_max) {
      forgotten_ = removed_.front().first;
      removed_.pop_front();
    }
    removed_.emplace_back(change(), std::move(id));
  }
  /// Removes the rows for which `stays` returns false, and records their IDs.
  template <class Rows, class Stays>
  void keep_if(Rows& rows, Stays const& stays) {
    for (auto at = rows.begin(); at != rows.end();) {
      bool const there = stays(at->second);
      if (!there) forget(at->first);
      at = there ? std::next(at) : rows.erase(at);
    }
  }
  /// Writes the member "gone": calls `write_id(id)` for each row that was removed since `from` and
  /// not added again.
  template <class IsThere, class WriteId>
  void write_removed(json_out& out, std::uint64_t const* from, IsThere const& is_there,
                     WriteId const& write_id) const {
    out.key("gone").begin_array();
    if (from)
      for (auto const& [seq, id] : removed_)
        if (seq > *from && !is_there(id)) write_id(id);
    out.end_array();
  }

 private:
  // At the limit, the oldest entry is removed, and clients with an older sequence number receive a
  // snapshot.
  static constexpr std::size_t removed_max = 4096;

  // Removed rows, each with the sequence number of its removal.
  std::deque<std::pair<std::uint64_t, Id>> removed_;
  // The highest sequence number that was removed from `removed_`.
  std::uint64_t forgotten_ = 0;
  std::uint64_t last_change_ = 0;
};

}  // namespace muster::web
