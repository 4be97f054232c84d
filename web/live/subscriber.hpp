// The protocol state of a WebSocket client: subscriptions, sequence numbers and the next message.
// Has no socket. Owned by its session; used on the web thread.
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

/// The following limits are part of `hello`. A client that exceeds a limit is disconnected.
inline constexpr std::size_t websocket_message_bytes_max = 4096;  // closes with 1009
inline constexpr std::size_t websocket_subscriptions_max = 32;    // closes with `err`
// Limit for subscriptions to logs and single programs together; closes with `err`.
inline constexpr std::size_t websocket_watched_max = 4;
inline constexpr std::size_t websocket_rows_max = 200;  // closes with `err`

class subscriber {
 public:
  using clock = std::chrono::steady_clock;

  struct connection {
    std::function<void()> wake;  // called when there may be something to send
    std::function<void()> abort;
    std::function<bool()> has_access;  // whether the sign-in is still valid
  };

  subscriber(websocket_hub& hub, std::shared_ptr<topic_set> topics, connection c);
  ~subscriber();
  subscriber(subscriber const&) = delete;

  /// An invalid message ends the connection with an `err`.
  void receive(std::string_view text);
  /// Returns null if there is no message. REQUIRES: the previous message has been written.
  shared_text next();
  /// Returns whether the last message was returned. If so, the connection must be closed.
  bool ended() const { return ended_; }
  bool refused() const { return refused_; }
  /// Returns whether a last message exists; it may not have been sent yet.
  bool leaving() const { return final_message_ != nullptr; }

  void send_bye(std::string_view reason, std::chrono::milliseconds retry);
  void send_error(std::string_view code, std::string_view text);
  void wake() { connection_.wake(); }
  void abort() { connection_.abort(); }
  bool has_access() const { return connection_.has_access(); }

  topic_set const& topics() const { return *topics_; }
  bool subscribed(topic_name t) const { return at(t).on; }
  bool watches(std::string const& name) const { return watched_.contains(name); }
  clock::time_point heard() const { return last_message_at_; }
  std::optional<clock::time_point> writing_since;

 private:
  struct place {
    bool on = false;
    bool wants_snapshot = false;
    bool wants_any = false;  // true after a resume: even an empty delta is sent
    std::uint64_t seq = 0;
  };

  place& at(topic_name t) { return places_[static_cast<std::size_t>(t)]; }
  place const& at(topic_name t) const { return places_[static_cast<std::size_t>(t)]; }
  std::size_t subscriptions() const;
  void subscribe(topic_name t);
  /// Returns null if there are too many subscriptions, and ends the connection with an `err`.
  /// REQUIRES: topic_set::is_topic_name(name).
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
  std::map<std::string, place> watched_;  // keyed by topic name; at most websocket_watched_max
  std::vector<std::uint32_t> rows_;
  shared_text final_message_;
  bool ended_ = false;
  bool refused_ = false;
  clock::time_point last_message_at_ = clock::now();
};

}  // namespace muster::web
