#include "server/history/jobs/job_lists.hpp"

#include <algorithm>
#include <string_view>

#include "server/core/api/id_text.hpp"

namespace muster::history {

namespace {

bool contains(std::string_view text, std::string_view part) {
  auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  auto const same = [&](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

}  // namespace

std::uint64_t& job_lists::count_of(line const& l) {
  return counts_[traits_of(l.kind).generations][static_cast<std::size_t>(l.state)];
}

void job_lists::fold(changes const& c) {
  for (auto const& n : c.names) {
    auto const [it, is_new] = lines_.try_emplace(n.session);
    if (is_new) ++count_of(it->second);
    it->second.name = n.name;
  }
  for (auto const& s : c.sessions) {
    auto const [it, is_new] = lines_.try_emplace(s.session);
    auto& l = it->second;
    if (!is_new) --count_of(l);
    bool const ends = l.finished == time_point{} && s.finished != time_point{};
    if (ends && ended_.size() < ended_max) ended_.push_back(s.session);
    l.kind = s.kind;
    l.state = s.state;
    l.finished = s.finished;
    ++count_of(l);
  }
  if (!c.failures.empty())
    for (auto const& e : c.ended) {
      if (e.of.as != closure_state::failed) continue;
      auto const l = lines_.find(e.of.session);
      if (l == lines_.end() || e.of.finished < l->second.last_failure) continue;
      l->second.last_failed = e.of.closure;
      l->second.last_failure = e.of.finished;
    }
  for (auto const& s : c.sessions_released) {
    auto const it = lines_.find(s.session);
    if (it == lines_.end()) continue;
    --count_of(it->second);
    lines_.erase(it);
  }
}

std::vector<session_id> job_lists::failed_since(time_point since) const {
  std::vector<all_lines::value_type const*> failed;
  for (auto const& l : lines_)
    if (l.second.kind == delivery::job && l.second.state == job_state::failed &&
        l.second.finished >= since)
      failed.push_back(&l);
  std::sort(failed.begin(), failed.end(), [](auto const* a, auto const* b) {
    return a->second.finished != b->second.finished ? a->second.finished > b->second.finished
                                                    : a->first > b->first;
  });
  std::vector<session_id> out;
  for (auto const* l : failed) out.push_back(l->first);
  return out;
}

std::vector<job_lists::failed_session> job_lists::sessions_failed_since(time_point since) const {
  std::vector<failed_session> failed;
  for (auto const& [id, l] : lines_)
    if (l.kind != delivery::job && l.last_failed != closure_id{} && l.last_failure >= since)
      failed.push_back({id, l.last_failed, l.last_failure});
  std::sort(failed.begin(), failed.end(), [](auto const& a, auto const& b) {
    return a.at != b.at ? a.at > b.at : a.session > b.session;
  });
  return failed;
}

std::vector<session_id> job_lists::watched(time_point now) const {
  std::vector<session_id> chosen;
  std::size_t running = 0, past = 0;
  for (auto it = lines_.rbegin(); it != lines_.rend(); ++it) {
    bool const runs = !ended(it->second.state);
    auto& so_far = runs ? running : past;
    if (so_far == (runs ? live_jobs::running_max : live_jobs::ended_max)) continue;
    ++so_far;
    chosen.push_back(it->first);
  }
  auto failed = failed_since(now - live_jobs::failed_for);
  if (failed.size() > live_jobs::failed_max) failed.resize(live_jobs::failed_max);
  chosen.insert(chosen.end(), failed.begin(), failed.end());
  std::sort(chosen.begin(), chosen.end(), std::greater<>());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

bool job_lists::takes(job_filter const& f, all_lines::value_type const& l) {
  if (f.state && l.second.state != *f.state) return false;
  if (f.unfinished && ended(l.second.state)) return false;
  if (f.streaming && traits_of(l.second.kind).generations != *f.streaming) return false;
  return f.text.empty() || contains(l.second.name, f.text) || contains(text(l.first), f.text);
}

page<session_id, session_id> job_lists::page_of(session_id before, std::size_t limit,
                                                job_filter const& filter) const {
  page<session_id, session_id> out;
  if (limit == 0) return out;
  auto it = before == session_id{} ? lines_.end() : lines_.lower_bound(before);
  for (std::size_t looks = 0; it != lines_.begin(); ++looks) {
    if (out.items.size() == limit || looks == looks_max) {
      out.next = it->first;
      break;
    }
    --it;
    if (takes(filter, *it)) out.items.push_back(it->first);
  }
  return out;
}

}  // namespace muster::history
