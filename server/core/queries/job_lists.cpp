// Lists of jobs for people. Each looks at every session once, 20,000 at most, but for the listing
// that goes on where it ended.
#include <algorithm>
#include <string_view>

#include "server/core/coordinator_state.hpp"

namespace muster::core {
namespace {

using all_sessions = std::map<session_id, std::unique_ptr<session>>;

// Those that failed since then, by their end, newest first.
std::vector<session const*> failed_ones(all_sessions const& all, time_point since) {
  std::vector<session const*> failed;
  for (auto const& [id, s] : all)
    if (s->traits().listed && s->state == job_state::failed && s->finished >= since)
      failed.push_back(s.get());
  std::sort(failed.begin(), failed.end(), [](auto const* a, auto const* b) {
    return a->finished != b->finished ? a->finished > b->finished : a->id > b->id;
  });
  return failed;
}

}  // namespace

failed_jobs coordinator::failed_since(time_point since, std::size_t limit) const {
  auto const failed = failed_ones(state_->sessions.all(), since);
  failed_jobs out;
  out.count = failed.size();
  for (auto const* s : failed) {
    if (out.newest.size() == limit) break;
    out.newest.push_back(state_->view_of(*s));
  }
  return out;
}

failed_sessions coordinator::sessions_failed_since(time_point since, std::size_t limit) const {
  std::vector<session const*> failed;
  for (auto const& [id, s] : state_->sessions.all())
    if (!s->traits().listed && s->last_failed != closure_id{} && s->last_failure >= since)
      failed.push_back(s.get());
  std::sort(failed.begin(), failed.end(), [](auto const* a, auto const* b) {
    return a->last_failure != b->last_failure ? a->last_failure > b->last_failure : a->id > b->id;
  });
  failed_sessions out;
  out.count = failed.size();
  for (auto const* s : failed) {
    if (out.newest.size() == limit) break;
    out.newest.push_back({state_->view_of(*s), s->last_failed, s->last_failure, std::nullopt});
  }
  return out;
}

time_point coordinator::waits_since() const {
  auto first = never;
  for (auto const& [id, s] : state_->sessions.all())
    if (state_->of(*s).waiting() > 0) first = std::min(first, s->created);
  if (first == never) return never;
  for (auto const& [key, t] : state_->roster.tasks.rows())
    if (!t->present()) first = std::max(first, t->since);
  return first;
}

time_point coordinator::disk_fails_since() const {
  return state_->values.disk_fails_since();
}

std::vector<job_view> coordinator::watched_jobs(time_point now) const {
  auto const& all = state_->sessions.all();
  std::vector<session const*> chosen;
  std::size_t running = 0, ended = 0;
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    auto& so_far = it->second->terminal() ? ended : running;
    auto const most = it->second->terminal() ? live_jobs::ended_max : live_jobs::running_max;
    if (so_far == most) continue;
    ++so_far;
    chosen.push_back(it->second.get());
  }
  auto failed = failed_ones(all, now - live_jobs::failed_for);
  if (failed.size() > live_jobs::failed_max) failed.resize(live_jobs::failed_max);
  chosen.insert(chosen.end(), failed.begin(), failed.end());
  std::sort(chosen.begin(), chosen.end(),
            [](auto const* a, auto const* b) { return a->id > b->id; });
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  std::vector<job_view> out;
  for (auto const* s : chosen) out.push_back(state_->view_of(*s));
  return out;
}

page<job_view, session_id> coordinator::jobs(session_id before, std::size_t limit) const {
  return jobs(before, limit, {});
}

namespace {
bool contains(std::string_view text, std::string_view part) {
  auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  auto const same = [&](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}
bool takes(coordinator::job_filter const& f, session const& s) {
  if (f.state && s.state != *f.state) return false;
  if (f.streaming && s.traits().generations != *f.streaming) return false;
  return f.text.empty() || contains(s.spec.name, f.text) || contains(text(s.id), f.text);
}
}  // namespace

page<job_view, session_id> coordinator::jobs(session_id before, std::size_t limit,
                                             job_filter const& filter) const {
  constexpr std::size_t looks_max = 2'000;
  page<job_view, session_id> out;
  if (limit == 0) return out;
  auto const& all = state_->sessions.all();
  auto it = before == session_id{} ? all.end() : all.lower_bound(before);
  for (std::size_t looks = 0; it != all.begin(); ++looks) {
    if (out.items.size() == limit || looks == looks_max) {
      out.next = it->first;  // the last that was looked at
      break;
    }
    --it;
    if (takes(filter, *it->second)) out.items.push_back(state_->view_of(*it->second));
  }
  return out;
}

}  // namespace muster::core
