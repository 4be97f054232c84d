#include "tests/core/witness.hpp"

#include <algorithm>

namespace muster::core {

namespace {
std::string about(char const* what, std::uint64_t id) {
  return std::string(what) + " " + std::to_string(id);
}
bool same(assignment const& a, closure_id c, std::uint32_t attempt) {
  return a.closure == c && a.attempt == attempt;
}
}  // namespace

void witness::before(event const& e) {
  before_ = streams_;
  call_ = {};
  joined_ = at_fault_ = {};
  awaiting_.clear();
  awaiting_reply_ = opening_ = false;
  may_park_ = std::holds_alternative<join_session>(e) || std::holds_alternative<await_value>(e);
  std::visit(
      [this](auto const& what) {
        using kind = std::decay_t<decltype(what)>;
        if constexpr (requires { what.call; }) call_ = what.call;
        if constexpr (requires { note(what); }) note(what);
        if constexpr (std::is_same_v<kind, call_abandoned>) open_.erase(what.call), call_ = {};
      },
      e);
  if (call_ != call_id{}) open_.insert(call_);
}

void witness::note_restored(restored_job const& j) {
  for (auto const& f : j.closures) {
    auto const request =
        std::find_if(j.accepted.begin(), j.accepted.end(), [&f](accepted_fact const& a) {
          return f.order >= a.first && f.order < a.first + a.closures.size();
        });
    if (request == j.accepted.end()) continue;
    assignment sent;
    sent.closure = request->closures[f.order - request->first].id;
    sent.attempt = f.newest ? f.newest->attempt : f.lost.empty() ? 0 : f.lost.back().attempt;
    attempts_[sent.closure] = sent.attempt;
    if (f.state != closure_state::running) continue;
    auto const& task = f.newest->worker;
    auto const colon = task.rfind(':');
    away_[{task.substr(0, colon), std::stoll(task.substr(colon + 1)), f.newest->incarnation}]
        .push_back(sent);
  }
}

void witness::note(worker_attached const& e) {
  joined_ = e.stream;
  offered_ = e.held;
  joined_as_ = e.spec.incarnation;
}

void witness::note(worker_disconnected const& e) {
  auto const node = streams_.extract(e.stream);
  before_.erase(e.stream);
  if (!node || !e.may_return) return;
  auto& away = away_[processes_[e.stream]];
  away.insert(away.end(), node.mapped().begin(), node.mapped().end());
}

void witness::note(worker_results const& e) {
  auto const it = streams_.find(e.stream);
  if (it == streams_.end()) return;
  auto const take = [&](auto const& said) {
    auto const found = std::find_if(it->second.begin(), it->second.end(), [&](assignment const& a) {
      return same(a, said.closure, said.attempt);
    });
    if (found == it->second.end()) return false;
    it->second.erase(found);
    return true;
  };
  for (auto const& r : e.results)
    if (!take(r)) return static_cast<void>(at_fault_ = e.stream);
  // A returned closure was not attempted. The core processes the newest first.
  for (auto r = e.returned.rbegin(); r != e.returned.rend(); ++r) {
    if (!take(*r)) return static_cast<void>(at_fault_ = e.stream);
    --attempts_[r->closure];
  }
}

void witness::note(schedule const& e) {
  auto const it = tokens_.find(e.session);
  if (it == tokens_.end()) return;
  // Scheduled only if the reply is positive.
  awaiting_reply_ = e.call != call_id{};
  for (auto const& c : e.closures)
    if (c.own_error) own_errors_.emplace(e.session, c.token);
  for (auto const& c : e.closures)
    if (awaiting_reply_)
      awaiting_.push_back(c.token);
    else
      owe(e.session, c.token);
}

// Expects one outcome. A resumable session ends a token once, however often it is scheduled.
void witness::owe(session_id s, std::uint64_t token) {
  auto& tokens = tokens_[s];
  if (!resumable_.contains(s) || !tokens.contains(token)) tokens.insert(token);
}

void witness::note(open_session const& e) {
  opening_ = awaiting_reply_ = e.spec.delivery != delivery::job;
  opening_resumable_ = traits_of(e.spec.delivery).resumable;
  for (auto const& c : e.closures) awaiting_.push_back(c.token);
}

std::string witness::after(effects const& fx) {
  for (auto const& r : fx.replies)
    if (auto const* opened = std::get_if<session_reply>(&r.body);
        opened && awaiting_reply_ && opened->created == opening_) {
      if (opening_ && opening_resumable_) resumable_.insert(opened->session);
      tokens_[opened->session];
      for (auto const token : awaiting_) owe(opened->session, token);
    }
  std::string broken = check_calls(fx);
  if (broken.empty()) broken = check_disconnects(fx);
  if (broken.empty()) broken = check_stops(fx);
  if (broken.empty()) broken = check_dispatches(fx);
  if (broken.empty()) broken = check_sessions(fx);
  return broken;
}

std::string witness::check_calls(effects const& fx) {
  for (auto const& r : fx.replies)
    if (open_.erase(r.call) != 1) return about("answered twice or never asked: call", raw(r.call));
  if (!may_park_ && open_.contains(call_)) return about("not answered: call", raw(call_));
  return {};
}

std::string witness::check_disconnects(effects const& fx) {
  for (auto const& w : fx.welcomes) {
    if (w.stream != joined_) return about("welcomed without attaching: stream", raw(w.stream));
    if (auto broken = check_kept(w); !broken.empty()) return broken;
  }
  bool refused = false;
  for (auto const& d : fx.disconnects) {
    refused |= d.stream == joined_;
    if (d.status.ok()) return about("disconnected without a reason: stream", raw(d.stream));
    if (streams_.erase(d.stream) != 1 && d.stream != joined_)
      return about("disconnected and not attached: stream", raw(d.stream));
  }
  if (joined_ != stream_id{} && refused == streams_.contains(joined_))
    return about("neither welcomed nor refused, or both: stream", raw(joined_));
  if (at_fault_ != stream_id{} && streams_.contains(at_fault_))
    return about("answered what it does not hold and stays: stream", raw(at_fault_));
  return {};
}

std::string witness::check_kept(welcome const& w) {
  process const who{w.job, w.index, joined_as_};
  auto& away = away_[who];
  // Replaces a stream whose break was not noticed.
  for (auto const& [stream, holds] : streams_)
    if (processes_[stream] == who) away.insert(away.end(), holds.begin(), holds.end());
  processes_[w.stream] = who;
  auto& holds = streams_[w.stream];
  std::set<std::uint32_t> seen;
  for (auto const position : w.kept) {
    if (position >= offered_.size() || !seen.insert(position).second)
      return about("kept what was not offered: position", position);
    auto const& h = offered_[position];
    auto const it = std::find_if(away.begin(), away.end(), [&](assignment const& a) {
      return same(a, h.closure, h.attempt);
    });
    if (it == away.end()) return about("kept what its worker did not have:", raw(h.closure));
    if (attempts_[h.closure] != h.attempt) return about("kept an old attempt:", h.attempt);
    holds.push_back(*it);
  }
  away.clear();
  before_[w.stream] = holds;
  return {};
}

std::string witness::check_stops(effects const& fx) const {
  for (auto const& r : fx.retractions) {
    auto const it = before_.find(r.stream);
    if (it == before_.end() ||
        std::none_of(it->second.begin(), it->second.end(),
                     [&](assignment const& a) { return same(a, r.closure, r.attempt); }))
      return about("retracted what it does not hold: stream", raw(r.stream));
  }
  for (auto const& s : fx.stop_requests) {
    auto const it = before_.find(s.stream);
    if (it == before_.end()) return about("asked to stop and not attached: stream", raw(s.stream));
    if (std::none_of(it->second.begin(), it->second.end(),
                     [&](assignment const& a) { return same(a, s.closure, s.attempt); }))
      return about("asked to stop what it does not hold: stream", raw(s.stream));
  }
  return {};
}

std::string witness::check_dispatches(effects const& fx) {
  std::uint32_t next = 0;
  for (auto const& d : fx.dispatches) {
    if (d.first != next || d.count == 0) return "dispatches do not tile the assignments";
    next += d.count;
    auto const it = streams_.find(d.stream);
    if (it == streams_.end()) return about("dispatched to nobody: stream", raw(d.stream));
    for (auto i = d.first; i < next; ++i) {
      if (i >= fx.assignments.size()) return "a dispatch goes past the assignments";
      auto const& a = fx.assignments[i];
      if (a.attempt != ++attempts_[a.closure]) return about("wrong attempt:", a.attempt);
      for (auto const& [stream, holds] : streams_)
        for (auto const& h : holds)
          if (h.closure == a.closure) return about("dispatched while held by stream", raw(stream));
      for (auto& [worker, had] : away_)
        std::erase_if(had, [&](assignment const& h) { return h.closure == a.closure; });
      it->second.push_back(a);
    }
  }
  return next == fx.assignments.size() ? std::string() : "an assignment has no dispatch";
}

std::string witness::check_sessions(effects const& fx) {
  for (auto const& o : fx.outcomes) {
    auto& tokens = tokens_[o.session];
    auto const it = tokens.find(o.token);
    if (it == tokens.end()) return about("ended twice or never scheduled: token", o.token);
    tokens.erase(it);
  }
  std::set<session_id> drained;
  for (auto const& n : fx.notices) {
    if (n.kind != notice_kind::drained) continue;
    if (!drained.insert(n.session).second) return about("drained twice: session", raw(n.session));
    auto const& left = tokens_[n.session];
    auto const apart = [&](auto token) { return own_errors_.contains({n.session, token}); };
    if (!std::all_of(left.begin(), left.end(), apart))
      return about("drained with closures left: session", raw(n.session));
  }
  return {};
}

std::vector<assignment> const& witness::held(stream_id s) const {
  static std::vector<assignment> const nothing;
  auto const it = streams_.find(s);
  return it == streams_.end() ? nothing : it->second;
}

std::uint32_t witness::attempt(closure_id c) const {
  auto const it = attempts_.find(c);
  return it == attempts_.end() ? 1 : it->second;
}

std::vector<stream_id> witness::streams() const {
  std::vector<stream_id> all;
  for (auto const& [stream, holds] : streams_) all.push_back(stream);
  return all;
}

std::size_t witness::unanswered_tokens(session_id s) const {
  auto const it = tokens_.find(s);
  return it == tokens_.end() ? 0 : it->second.size();
}

}  // namespace muster::core
