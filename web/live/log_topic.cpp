#include "web/live/log_topic.hpp"

#include <algorithm>

#include "server/hub/id_parsing.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

namespace {

log_update look(server::pools& pools, log_position const& interest,
                server::cluster_scope const& scope) {
  bool const of_job = interest.of.closure == core::closure_id{};
  auto& h = of_job ? pools.of(interest.of.job) : pools.of(interest.of.closure);
  log_update news;
  news.name = interest.name;
  news.now = h.now();
  if (!scope.sees(h.cluster())) {
    news.known = false;
    return news;
  }
  auto of = of_job ? log_target_of(h, interest.of.job) : log_target_of(h, interest.of.closure);
  auto log = of ? read_log_page(h, *of, interest.after, log_lines_shown, true) : of.error();
  if (!log) {
    news.known = false;
    return news;
  }
  auto& lines = log->page.lines;
  std::size_t seen = 0;
  while (seen < lines.size() && lines[seen].seq <= interest.after) ++seen;
  news.skipped = seen == 0 && lines.size() == log_lines_shown;
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(seen));
  news.lines = std::move(lines);
  news.dropped = log->page.dropped;
  news.ended = log->ended;
  news.progress = h.logs().progress(interest.of.closure);
  return news;
}

}  // namespace

coro::task<muster::result<std::vector<log_update>>> collect_logs(
    engine_link& engine, std::vector<log_position> interests, server::shared_scope scope) {
  auto work = [interests = std::move(interests),
               scope = std::move(scope)](engine_services& services) {
    std::vector<log_update> all;
    for (auto const& w : interests) all.push_back(look(services.pools, w, *scope));
    return all;
  };
  co_return co_await engine.on_engine(std::move(work));
}

std::optional<server::log_target> log_topic::target_named(std::string_view name) {
  constexpr std::string_view prefix = "logs:";
  if (!name.starts_with(prefix)) return {};
  auto const id = name.substr(prefix.size());
  if (auto const job = server::parse_job(id)) return server::log_target{*job, {}};
  if (auto const closure = server::parse_closure(id); closure && *closure != core::closure_id{})
    return server::log_target{{}, *closure};
  return {};
}

void log_topic::update(log_update news) {
  bool const first = !live;
  live = true;
  if (!first && news.lines.empty() && news.same_state(state_)) return;
  advance(news.now);
  if (news.skipped) {
    while (!lines_.empty()) forget_oldest();
    too_old_ = seq() - 1;
  }
  earlier_ = earlier_ || news.skipped || news.dropped > 0;
  for (auto const& l : news.lines) {
    forget_unfinished(l);
    line made;
    json_out out(made.json);
    write(out, l);
    made.changed = seq();
    made.closure = l.closure, made.attempt = l.attempt, made.level = l.level;
    made.unfinished = l.text.ends_with('\r');
    unfinished_ += made.unfinished;
    bytes_ += made.json.size();
    last_ = l.seq;
    lines_.push_back(std::move(made));
  }
  while (lines_.size() > log_lines_shown || (bytes_ > log_bytes_shown && lines_.size() > 1)) {
    earlier_ = true;
    forget_oldest();
  }
  news.lines.clear();
  state_ = std::move(news);
}

void log_topic::forget_oldest() {
  auto const& oldest = lines_.front();
  // Clients that have seen the sequence number of this line already have it.
  too_old_ = std::max(too_old_, oldest.changed - 1);
  bytes_ -= oldest.json.size();
  unfinished_ -= oldest.unfinished;
  lines_.pop_front();
}

void log_topic::forget_unfinished(server::log_line const& next) {
  if (unfinished_ == 0) return;
  auto const it = std::find_if(lines_.begin(), lines_.end(), [&next](line const& l) {
    return l.unfinished && l.closure == next.closure && l.attempt == next.attempt &&
           l.level == next.level;
  });
  if (it == lines_.end()) return;
  bytes_ -= it->json.size();
  --unfinished_;
  lines_.erase(it);
}

void log_topic::write_body(json_out& out, std::uint64_t const* from) const {
  out.key("lines").begin_array();
  for (auto const& l : lines_)
    if (!from || l.changed > *from) out.raw(l.json);
  out.end_array();
  out.key("earlier").boolean(earlier_);
  out.key("dropped").number(state_.dropped);
  out.key("ended").boolean(state_.ended);
  out.key("known").boolean(state_.known);
  if (!state_.progress) return;
  out.key("progress");
  write(out, *state_.progress);
}

}  // namespace muster::web
