#include "web/live/topic.hpp"

namespace muster::web {

std::string_view name(topic_name t) {
  static constexpr std::string_view names[] = {"counters", "tasks",     "jobs",
                                               "clusters", "agents",    "barriers",
                                               "events",   "attention", "programs"};
  return names[static_cast<std::size_t>(t)];
}

void topic::advance(core::time_point now) {
  ++seq_;
  now_ = now;
  snapshot_.reset();
  deltas_.clear();
}

shared_text topic::frame(std::uint64_t const* from,
                         std::function<void(json_out&)> const& body) const {
  ++serialised_;
  std::string text;
  json_out out(text);
  out.begin_object();
  out.key("t").string(from ? "d" : "snap");
  out.key("topic").string(name_);
  out.key("seq").number(seq_);
  if (from) out.key("from").number(*from);
  out.key("now").number(core::to_unix_ms(now_));
  body(out);
  out.end_object();
  return std::make_shared<std::string const>(std::move(text));
}

shared_text topic::snapshot() {
  if (!snapshot_) snapshot_ = frame(nullptr, [this](json_out& out) { write_body(out, nullptr); });
  return snapshot_;
}

shared_text topic::delta(std::uint64_t from) {
  if (deltas_.size() >= deltas_max)
    deltas_.clear();  // only clients that resume at random numbers reach this limit
  auto& text = deltas_[from];
  if (!text) text = frame(&from, [&](json_out& out) { write_body(out, &from); });
  return text;
}

}  // namespace muster::web
