#include "client/agent/key_watching.hpp"

#include <map>

#include "client/agent/agent.hpp"

namespace muster::detail {
namespace {

void report_changes(key_watching const& w, std::map<std::string, std::string>& known,
                    std::vector<key_value> now) {
  auto const tell = [&w](key_change const& c) {
    if (!w.stopped()) w.on_change(c);
  };
  std::map<std::string, std::string> next;
  for (auto& kv : now) next.emplace(std::move(kv.key), std::move(kv.value));
  for (auto const& [key, value] : known)
    if (!next.contains(key)) tell({key, std::nullopt});
  for (auto const& [key, value] : next)
    if (auto const it = known.find(key); it == known.end() || it->second != value)
      tell({key, value});
  known = std::move(next);
}

}  // namespace

void key_watching::stop() {
  std::unique_lock held(mutex_);
  stopped_ = true;
  if (engine_ == nullptr) return;
  auto* const engine = engine_;
  engine->post([self = shared_from_this()] {
    if (self->ticket_ != nullptr) self->ticket_->cut_short(ticket::cut::cancelled);
  });
  if (engine->running_in_this_thread()) return;
  over_.wait(held, [this] {
    return engine_ == nullptr;
  });  // no deadline is needed, because a cancelled operation ends immediately
}

void key_watching::begin(ticket* t) {
  std::lock_guard const held(mutex_);
  ticket_ = t;
}

void key_watching::end() {
  std::lock_guard const held(mutex_);
  ticket_ = nullptr;
  engine_ = nullptr;
  over_.notify_all();
}

bool key_watching::stopped() const {
  std::lock_guard const held(mutex_);
  return stopped_;
}

coro::task<void> agent::watch(ticket&, std::shared_ptr<key_watching> w) {
  check_connected();
  spawn("watch", watch_keys(std::move(w)));
  co_return;
}

// Lists the folder periodically, because the protocol has no call that waits for a change. A failed
// call does not end the watch: heartbeats decide whether the service is unavailable.
coro::task<void> agent::watch_keys(std::shared_ptr<key_watching> w) {
  ticket t(context(), &tickets_);
  w->begin(&t);
  std::map<std::string, std::string> known;
  while (!t.is_cut() && !w->stopped()) {
    std::optional<std::vector<key_value>> now;
    try {
      auto listing = list(t, w->folder);
      now = co_await std::move(listing);
    } catch (std::exception const&) {
    }
    if (now && !t.is_cut()) report_changes(*w, known, std::move(*now));
    if (t.is_cut() || w->stopped()) break;
    auto waiting = t.pause().wait_for(options_.watch_interval);
    co_await std::move(waiting);
  }
  w->end();
}

}  // namespace muster::detail
