// What every WebSocket topic has: a sequence number that grows with each change, and messages that
// all clients at the same number share. State, not events: nothing is queued for anybody. Owned by
// websocket_hub, web thread.
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
  /// `seq`: where its numbers begin; not below those of an earlier topic of this name.
  explicit topic(std::string name, std::uint64_t seq = 0) : name_(std::move(name)), seq_(seq) {}
  virtual ~topic() = default;

  /// Current: kept up to date since somebody subscribed. Set by the hub.
  bool live = false;

  std::uint64_t seq() const { return seq_; }
  /// Everything.
  shared_text snapshot();
  /// What changed since `from`. REQUIRES: can_serve(from).
  shared_text delta(std::uint64_t from);
  /// The same for a client that has these rows on the screen; null when nothing of it changed.
  virtual shared_text delta_for(std::uint64_t from, std::span<std::uint32_t const> = {}) {
    return delta(from);
  }
  /// False: too old (or from another life), only a snapshot will do.
  virtual bool can_serve(std::uint64_t from) const { return from <= seq_; }

  /// How many messages were serialised, for tests.
  std::uint64_t serialised() const { return serialised_; }

 protected:
  /// Begins the next number: messages of the one before are forgotten.
  void advance(core::time_point now);
  core::time_point now() const { return now_; }
  /// `from`: nothing for a snapshot.
  virtual void write_body(json_out& out, std::uint64_t const* from) const = 0;
  /// The message around a body.
  shared_text frame(std::uint64_t const* from, std::function<void(json_out&)> const& body) const;

 private:
  // Messages kept for clients at the same number; more: all are forgotten and made again.
  static constexpr std::size_t deltas_max = 128;

  std::string const name_;
  std::uint64_t seq_;
  core::time_point now_{};
  shared_text snapshot_;
  std::map<std::uint64_t, shared_text> deltas_;  // by `from`
  mutable std::uint64_t serialised_ = 0;
};

/// A topic of rows with ids that come, change and go away.
template <class Id>
class changing_rows : public topic {
 public:
  using topic::topic;
  /// One of an earlier topic's name: who is at its numbers gets everything.
  changing_rows(std::string name, std::uint64_t seq)
      : topic(std::move(name), seq), forgotten_(seq + 1) {}

  bool can_serve(std::uint64_t from) const override { return from <= seq() && from >= forgotten_; }
  shared_text delta_for(std::uint64_t from, std::span<std::uint32_t const> = {}) override {
    return last_change_ > from ? delta(from) : nullptr;
  }

 protected:
  /// The number at which something changes: now.
  std::uint64_t change() { return last_change_ = seq(); }
  void forget(Id id) {
    if (gone_.size() == gone_max) {
      forgotten_ = gone_.front().first;
      gone_.pop_front();
    }
    gone_.emplace_back(change(), std::move(id));
  }
  /// Those that do not stay are erased, and went.
  template <class Rows, class Stays>
  void keep_if(Rows& rows, Stays const& stays) {
    for (auto at = rows.begin(); at != rows.end();) {
      bool const there = stays(at->second);
      if (!there) forget(at->first);
      at = there ? std::next(at) : rows.erase(at);
    }
  }
  /// The key "gone": `write_id(id)` for each that went since, unless it is there again.
  template <class IsThere, class WriteId>
  void write_gone(json_out& out, std::uint64_t const* from, IsThere const& is_there,
                  WriteId const& write_id) const {
    out.key("gone").begin_array();
    if (from)
      for (auto const& [seq, id] : gone_)
        if (seq > *from && !is_there(id)) write_id(id);
    out.end_array();
  }

 private:
  // Full: the oldest is forgotten, and clients that are older than it get a snapshot.
  static constexpr std::size_t gone_max = 4096;

  std::deque<std::pair<std::uint64_t, Id>> gone_;  // with the number at which they went
  std::uint64_t forgotten_ = 0;                    // the highest of which one was forgotten
  std::uint64_t last_change_ = 0;
};

}  // namespace muster::web
