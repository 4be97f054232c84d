#include "web/live/subscriber.hpp"

#include <algorithm>

#include "web/live/websocket_hub.hpp"

namespace muster::web {

namespace {
constexpr std::size_t word_bytes_max = 64;

std::optional<topic_name> topic_named(std::string_view text) {
  for (auto const t : topic_names)
    if (name(t) == text) return t;
  return {};
}

std::string known_topics() {
  std::string all = "topics are ";
  for (auto const t : topic_names) all.append(name(t)).append(", ");
  return all + "program:prog_…, logs:job_… and logs:cl_…";
}

bool has_type(json_ref const& body, std::string& type) {
  if (body.type() != json_type::object) return false;
  for (json_walk m(body); m.next();)
    if (m.key() == "t" && m.value().type() == json_type::string) type = m.value().string();
  return !type.empty();
}
}  // namespace

subscriber::subscriber(websocket_hub& hub, std::shared_ptr<topic_set> topics, connection c)
    : hub_(hub), topics_(std::move(topics)), connection_(std::move(c)) {
  hub_.add(*this);
  topics_->add(*this);
}

subscriber::~subscriber() {
  topics_->remove(*this);
  hub_.remove(*this);
}

void subscriber::receive(std::string_view text) {
  if (final_message_) return;
  if (check_json(text))
    return send_error("INVALID_ARGUMENT",
                      R"(not JSON; send an object such as {"t":"sub","topic":"jobs"})");
  json_check check;
  json_ref const body(text);
  std::string type;
  if (!has_type(body, type))
    return send_error("INVALID_ARGUMENT",
                      R"(expected an object with 't', such as {"t":"sub","topic":"jobs"})");
  if (type == "sub" || type == "unsub") {
    receive_topic(check, body, type == "sub");
  } else if (type == "resume") {
    receive_resume(check, body);
  } else if (type == "rows") {
    receive_rows(check, body);
  } else if (type != "ack") {
    return send_error("INVALID_ARGUMENT",
                      "unknown message type; 't' is sub, unsub, resume, rows or ack");
  }
  if (check.failed()) return send_error("INVALID_ARGUMENT", check.failure().detail);
  last_message_at_ = clock::now();
}

void subscriber::receive_topic(json_check& check, json_ref const& body, bool on) {
  std::string topic;
  for (json_walk m(body); m.next() && !check.failed();)
    if (m.key() == "topic") topic = check.text(m.value(), word_bytes_max);
  auto const t = topic_named(topic);
  if (!t && !on && watched_.erase(topic) > 0) return;
  if (!t && on && topic_set::is_topic_name(topic)) {
    if (auto* p = place_of(topic); p && !p->on) p->on = p->wants_snapshot = true;
    return;
  }
  if (!t) return check.fail(invalid("topic", "unknown topic '" + topic + "'; " + known_topics()));
  if (!on) {
    at(*t) = place{};
  } else if (!at(*t).on) {
    subscribe(*t);
    at(*t).wants_snapshot = true;
  }
}

std::size_t subscriber::subscriptions() const {
  auto const count = std::count_if(places_.begin(), places_.end(), [](auto& p) { return p.on; });
  return static_cast<std::size_t>(count) + watched_.size();
}

subscriber::place* subscriber::place_of(std::string const& name) {
  if (auto const known = watched_.find(name); known != watched_.end()) return &known->second;
  if (watched_.size() >= websocket_watched_max || subscriptions() >= websocket_subscriptions_max) {
    send_error(
        "RESOURCE_EXHAUSTED",
        "the limit is 4 subscriptions to logs and single programs; unsubscribe from one first");
    return nullptr;
  }
  if (!topics_->watched(name)) hub_.hurry();
  topics_->watch(name);
  return &watched_[name];
}

void subscriber::subscribe(topic_name t) {
  if (subscriptions() >= websocket_subscriptions_max)
    return send_error("RESOURCE_EXHAUSTED",
                      "the limit is 32 subscriptions; unsubscribe from one first");
  at(t).on = true;
  if (!topics_->topic_of(t).live) hub_.hurry();
}

void subscriber::receive_resume(json_check& check, json_ref const& body) {
  std::string boot;
  for (json_walk m(body); m.next() && !check.failed();)
    if (m.key() == "boot") boot = check.text(m.value(), word_bytes_max);
  bool const same_boot = boot == topics_->boot();
  for (json_walk m(body); m.next() && !check.failed();) {
    if (m.key() != "topics" || !check.is(m.value(), json_type::object)) continue;
    for (json_walk topics(m.value()); topics.next() && !check.failed();) {
      auto const t = topic_named(topics.key());
      auto const seq = check.integer(topics.value(), 0, INT64_MAX);
      bool const named = !t && topic_set::is_topic_name(topics.key());
      if (!t && !named) return check.unknown(topics.value());
      auto* const found = named ? place_of(std::string(topics.key())) : &at(*t);
      if (!found) return;
      auto& p = *found;
      if (!p.on && t) subscribe(*t);
      p.on = true;
      p.seq = static_cast<std::uint64_t>(seq);
      p.wants_snapshot = !same_boot;
      p.wants_any = true;
    }
  }
}

void subscriber::receive_rows(json_check& check, json_ref const& body) {
  std::vector<std::uint32_t> rows;
  for (json_walk m(body); m.next() && !check.failed();) {
    if (m.key() != "ids" || !check.is(m.value(), json_type::array)) continue;
    for (json_walk ids(m.value()); ids.next() && !check.failed();) {
      if (rows.size() == websocket_rows_max)
        return check.fail(m.value(), "more than " + std::to_string(websocket_rows_max) + " rows");
      rows.push_back(static_cast<std::uint32_t>(check.integer(ids.value(), 0, UINT32_MAX)));
    }
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  rows_ = std::move(rows);
}

// Returns null if there is nothing to send. A resuming client always receives an answer, if
// necessary an empty delta.
shared_text subscriber::next_of(place& p, topic& topic) {
  if (!p.on || !topic.live) return nullptr;
  bool const snapshot = p.wants_snapshot || !topic.can_serve(p.seq);
  if (!snapshot && !p.wants_any && p.seq == topic.seq()) return nullptr;
  auto text = snapshot ? topic.snapshot() : topic.delta_for(p.seq, rows_);
  if (!text && p.wants_any) text = topic.delta(p.seq);
  p.wants_snapshot = p.wants_any = false;
  if (text) p.seq = topic.seq();
  return text;
}

shared_text subscriber::next() {
  if (final_message_) {
    if (ended_) return nullptr;
    ended_ = true;
    return final_message_;
  }
  for (auto const t : topic_names)
    if (auto text = next_of(at(t), topics_->topic_of(t))) return text;
  for (auto& [name, p] : watched_)
    if (auto* const topic = topics_->watched(name))
      if (auto text = next_of(p, *topic)) return text;
  return nullptr;
}

void subscriber::end_with(std::string text) {
  final_message_ = std::make_shared<std::string const>(std::move(text));
  wake();
}

void subscriber::send_bye(std::string_view reason, std::chrono::milliseconds retry) {
  if (final_message_) return;
  end_with(object_text([&](member_list const& m) {
    m("t", "bye");
    m("reason", reason);
    m("retry_ms", retry);
  }));
}

void subscriber::send_error(std::string_view code, std::string_view detail) {
  if (final_message_) return;
  refused_ = true;
  end_with(object_text([&](member_list const& m) {
    m("t", "err");
    m("code", code);
    m("text", detail);
  }));
}

}  // namespace muster::web
