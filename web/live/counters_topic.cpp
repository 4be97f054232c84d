#include "web/live/counters_topic.hpp"

#include <algorithm>

namespace muster::web {

namespace {
// Updates arrive about every half second. A point is added slightly early instead of one update
// late.
constexpr std::chrono::milliseconds early{100};

std::uint64_t finished(core::closure_counts const& c) {
  return c.succeeded + c.failed + c.cancelled;
}
}  // namespace

void counters_topic::update(counters c) {
  advance(c.now);
  if (c.now - sampled_ >= step - early) sample(c);
  complete(c);
  now_ = std::move(c);
}

void counters_topic::complete(counters& c) const {
  c.uptime = std::chrono::duration_cast<std::chrono::milliseconds>(c.now - started_);
  c.uptime = std::max(c.uptime, std::chrono::milliseconds(0));
  c.finished_per_s = finished_per_s_;
  c.failed_per_s = failed_per_s_;
}

void counters_topic::sample(counters const& c) {
  auto const& n = c.overview.closures;
  if (sampled_ != core::time_point{}) {
    auto const seconds = std::chrono::duration<double>(c.now - sampled_).count();
    finished_per_s_ = static_cast<double>(finished(n) - finished_then_) / seconds;
    failed_per_s_ = static_cast<double>(n.failed - failed_then_) / seconds;
  }
  sampled_ = c.now;
  finished_then_ = finished(n);
  failed_then_ = n.failed;
  point p{};
  p.seq = seq();
  p.t = core::to_unix_ms(c.now);
  p.queued = n.queued;
  p.running = n.running;
  p.finished = finished_per_s_;
  p.failed = failed_per_s_;
  p.hb_p99 =
      std::chrono::duration_cast<std::chrono::milliseconds>(c.overview.heartbeat_p99).count();
  if (history_.size() == points_max) history_.pop_front();
  history_.push_back(p);
}

bool counters_topic::can_serve(std::uint64_t from) const {
  if (from > seq()) return false;
  return history_.size() < points_max || from >= history_.front().seq;
}

void counters_topic::write_body(json_out& out, std::uint64_t const* from) const {
  auto const first = from ? std::find_if(history_.begin(), history_.end(),
                                         [&](point const& p) { return p.seq > *from; })
                          : history_.begin();
  auto const column = [&](std::string_view key, auto member) {
    out.key(key).begin_array();
    for (auto p = first; p != history_.end(); ++p) out.number((*p).*member);
    out.end_array();
  };
  out.key("data");
  write(out, now_);
  out.key("history").begin_object();
  out.key("step_ms").number(step.count());
  column("t", &point::t);
  column("queued", &point::queued);
  column("running", &point::running);
  column("finished", &point::finished);
  column("failed", &point::failed);
  column("hb_p99", &point::hb_p99);
  out.end_object();
}

}  // namespace muster::web
