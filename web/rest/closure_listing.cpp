#include "web/rest/closure_listing.hpp"

#include <algorithm>

#include "server/history/closures.hpp"

namespace muster::web {

namespace {

constexpr std::size_t views_a_step = 250;

/// Keeps the `most` smallest entries.
class best_of {
 public:
  best_of(std::size_t most, std::vector<core::found_closure> first) : most_(most) {
    take(std::move(first));
  }
  void take(std::vector<core::found_closure> const& more) {
    found_.insert(found_.end(), more.begin(), more.end());
    if (found_.size() >= most_ * 2) cut();
  }
  /// Returns the last entry that can still be part of the result, or `otherwise` if there are fewer
  /// than `most` entries.
  core::found_closure last(core::found_closure otherwise) const {
    return last_.value_or(otherwise);
  }
  std::vector<core::found_closure>& cut() {
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    if (found_.size() >= most_) {
      found_.resize(most_);
      last_ = found_.back();
    }
    return found_;
  }

 private:
  std::size_t const most_;
  std::vector<core::found_closure> found_;
  std::optional<core::found_closure> last_;
};

muster::result<server::hub*> pool_of(engine_services& services, core::session_id session,
                                     std::string const& cluster) {
  if (session != core::session_id{}) return &services.pools.of(session);
  return services.pools.named(cluster);
}

struct looked {
  core::search_step look;
  core::time_point now;
};

coro::task<muster::result<looked>> look_once(web_context& context, listing_request const& r,
                                             core::closure_cursor from,
                                             core::closure_bounds within) {
  auto work = [q = r.query, cluster = r.cluster, from,
               within](engine_services& services) mutable -> muster::result<looked> {
    auto const pool = pool_of(services, q.session, cluster);
    if (!pool) return pool.error();
    auto const now = (*pool)->now();
    if (q.at == core::time_point{}) q.at = now;
    auto found = history::search_closures((*pool)->past(), (*pool)->state(), q, from, within);
    if (!found) return found.error();
    return looked{std::move(*found), now};
  };
  co_return co_await context.engine.on_engine(std::move(work));
}

coro::task<muster::result<std::vector<reported_closure>>> views_of(
    web_context& context, listing_request const& r, std::vector<core::found_closure> found) {
  std::vector<reported_closure> all;
  for (std::size_t done = 0; done < found.size(); done += views_a_step) {
    std::vector<core::closure_id> ids;
    for (auto i = done; i < std::min(found.size(), done + views_a_step); ++i)
      ids.push_back(found[i].id);
    auto work = [session = r.query.session, cluster = r.cluster, ids = std::move(ids)](
                    engine_services& services) -> muster::result<std::vector<reported_closure>> {
      auto const pool = pool_of(services, session, cluster);
      if (!pool) return pool.error();
      std::vector<reported_closure> some;
      for (auto& c : history::closures((*pool)->past(), (*pool)->state(), session, ids)) {
        auto progress = (*pool)->logs().progress(c.id);
        some.push_back({std::move(c), std::move(progress)});
      }
      return some;
    };
    auto some = co_await context.engine.on_engine(std::move(work));
    if (!some) co_return some.error();
    std::move(some->begin(), some->end(), std::back_inserter(all));
  }
  co_return all;
}

void put(std::string& to, std::uint64_t n) {
  for (int shift = 56; shift >= 0; shift -= 8) to += static_cast<char>(n >> shift & 0xff);
}

std::uint64_t get(std::string_view& from) {
  std::uint64_t n = 0;
  for (unsigned char const byte : from.substr(0, 8)) n = n << 8 | byte;
  from.remove_prefix(8);
  return n;
}

char order_of(core::closure_query const& q) {
  return static_cast<char>(static_cast<unsigned>(q.order) | (q.descending ? 0x80u : 0u));
}

std::optional<listing_cursor> parsed(std::string_view text, core::closure_query const& q) {
  listing_cursor p;
  if (text.size() == 8) {
    if (order_of(q) != 0) return {};
    p.from.at = get(text);
    return p;
  }
  constexpr std::size_t head = 2 + 4 * 8, entry = 2 * 8;
  if (text.size() < head || (text.size() - head) % entry != 0 ||
      (text.size() - head) / entry > listing_cursor::carried_max || text[0] != order_of(q) ||
      text[1] < 0 || text[1] > core::closure_cursor::end)
    return {};
  p.from.part = static_cast<core::closure_cursor::part_kind>(text[1]);
  text.remove_prefix(2);
  p.from.at = get(text);
  p.after.key = get(text);
  p.after.id = core::closure_id{get(text)};
  p.at = core::time_point(core::duration(static_cast<std::int64_t>(get(text))));
  while (!text.empty()) {
    auto const key = get(text);
    p.best.push_back({key, core::closure_id{get(text)}});
  }
  return p;
}

}  // namespace

// If records are stored in the order of the page, the search ends when the page is full. Otherwise
// it reads all records, if necessary over several requests.
coro::task<muster::result<listing_page>> list(web_context& context, listing_request r) {
  auto const until = std::chrono::steady_clock::now() + r.time;
  bool const resumed = r.from.from != core::closure_cursor{};
  listing_page page;
  auto at = r.from.from;
  r.query.at = r.from.at;
  core::closure_bounds within;
  within.after = r.from.after;
  std::vector<core::found_closure> in_order;
  bool ordered = false;
  std::optional<best_of> best;
  for (bool over = false; at.part != core::closure_cursor::end && !over;) {
    within.room = r.limit - in_order.size();
    if (best) within.before = best->last(within.before);
    auto step = co_await look_once(context, r, at, within);
    if (!step) co_return step.error();
    auto& look = step->look;
    ordered = look.in_order;
    if (r.query.at == core::time_point{}) r.query.at = step->now;
    if (!ordered && !best) {
      if (resumed) r.limit = std::min(r.limit, listing_cursor::carried_max - 1);
      best.emplace(r.limit + 1, std::move(r.from.best));
    }
    at = look.next;
    page.looked_at += look.looked_at;
    page.of = look.of;
    if (ordered)
      in_order.insert(in_order.end(), look.found.begin(), look.found.end());
    else
      best->take(look.found);
    over = in_order.size() >= r.limit || std::chrono::steady_clock::now() >= until;
  }
  if (at.part != core::closure_cursor::end) {
    page.next.emplace();
    page.next->from = at;
  }
  if (best) {
    auto& found = best->cut();
    if (page.next) {
      found.resize(std::min(found.size(), listing_cursor::carried_max));
      page.next->after = r.from.after;
      page.next->at = r.query.at;
      page.next->best = std::move(found);
      co_return page;
    }
    if (found.size() > r.limit) {
      found.resize(r.limit);
      page.next.emplace();
      page.next->after = found.back();
      page.next->at = r.query.at;
    }
    in_order = std::move(found);
  }
  auto views = co_await views_of(context, r, std::move(in_order));
  if (!views) co_return views.error();
  page.closures = std::move(*views);
  co_return page;
}

std::string listing_token(char kind, listing_cursor const& p, core::closure_query const& q) {
  std::string text;
  if (p.after == core::found_closure{} && p.best.empty() && p.at == core::time_point{})
    return page_token(kind, p.from.at);
  text += order_of(q);
  text += static_cast<char>(p.from.part);
  put(text, p.from.at);
  put(text, p.after.key);
  put(text, core::raw(p.after.id));
  put(text, static_cast<std::uint64_t>(p.at.time_since_epoch().count()));
  for (auto const& f : p.best) {
    put(text, f.key);
    put(text, core::raw(f.id));
  }
  return page_token(kind, std::string_view(text));
}

muster::result<listing_cursor> listing_place_of(query_check& query, char kind,
                                                core::closure_query const& q) {
  auto const text = query.page_text(kind);
  if (text.empty()) return listing_cursor{};
  if (auto place = parsed(text, q)) return std::move(*place);
  return muster::status{
      muster::code::invalid_argument,
      "expected 'next_page_token' from a response of the same listing in the same order"};
}

}  // namespace muster::web
