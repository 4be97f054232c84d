// One WebSocket client as the protocol sees it: what it subscribed to, how far it is, what to send
// it next. No socket. Lives in its session, known to the hub, web thread.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "web/json/json_in.hpp"
#include "web/live/topic.hpp"

namespace muster::web {

class topic_set;
class websocket_hub;

/// Limits that `hello` tells.
inline constexpr std::size_t websocket_message_bytes_max = 4096;  // more: closed (1009)
inline constexpr std::size_t websocket_subscriptions_max = 32;    // more: err, closed
// Of these on logs and on single programs; more: err, closed.
inline constexpr std::size_t websocket_watched_max = 4;
inline constexpr std::size_t websocket_rows_max = 200;  // more: err, closed

class subscriber {
 public:
  using clock = std::chrono::steady_clock;

  /// The connection that a subscriber belongs to.
  struct connection {
    std::function<void()> wake;        // there may be something to send
    std::function<void()> abort;       // drops the connection now
    std::function<bool()> has_access;  // whether the sign-in that opened it is still valid
  };

  subscriber(websocket_hub& hub, std::shared_ptr<topic_set> topics, connection c);
  ~subscriber();
  subscriber(subscriber const&) = delete;

  /// Takes a message; what is wrong with it ends the conversation.
  void receive(std::string_view text);
  /// The next message, null when there is none now. REQUIRES: the one before has been written.
  shared_text next();
  /// Nothing follows: the connection is to be closed.
  bool ended() const { return ended_; }
  /// Whether the last message is an `err`.
  bool refused() const { return refused_; }
  /// Its last message is decided, perhaps not yet sent.
  bool leaving() const { return last_words_ != nullptr; }

  /// Ends with a `bye`.
  void say_bye(std::string_view reason, std::chrono::milliseconds retry);
  /// Ends with an `err`.
  void say_error(std::string_view code, std::string_view text);
  void wake() { connection_.wake(); }
  void abort() { connection_.abort(); }
  bool has_access() const { return connection_.has_access(); }

  topic_set const& topics() const { return *topics_; }
  bool subscribed(topic_name t) const { return at(t).on; }
  bool watches(std::string const& name) const { return watched_.contains(name); }
  clock::time_point heard() const { return heard_; }
  /// Set by the session around each write.
  std::optional<clock::time_point> writing_since;

 private:
  struct place {
    bool on = false;
    bool wants_snapshot = false;
    bool wants_any = false;  // resumed: answer even if nothing changed
    std::uint64_t seq = 0;
  };

  place& at(topic_name t) { return places_[static_cast<std::size_t>(t)]; }
  place const& at(topic_name t) const { return places_[static_cast<std::size_t>(t)]; }
  std::size_t subscriptions() const;
  void subscribe(topic_name t);
  /// Null: no such topic, or too many; that has ended the conversation.
  place* place_of(std::string const& name);
  void receive_topic(json_check& check, json_ref const& body, bool on);
  void receive_resume(json_check& check, json_ref const& body);
  void receive_rows(json_check& check, json_ref const& body);
  shared_text next_of(place& p, topic& topic);
  void end_with(std::string text);

  websocket_hub& hub_;
  std::shared_ptr<topic_set> const topics_;
  connection const connection_;
  std::array<place, topic_names.size()> places_;
  std::map<std::string, place> watched_;  // by the topic's name; at most websocket_watched_max
  std::vector<std::uint32_t> rows_;
  shared_text last_words_;
  bool ended_ = false;
  bool refused_ = false;
  clock::time_point heard_ = clock::now();
};

}  // namespace muster::web
