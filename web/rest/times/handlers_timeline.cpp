#include "server/core/programs/controller.hpp"
#include "server/history/store/records.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/history/history_reading.hpp"
#include "web/rest/times/step_picture.hpp"

namespace muster::web {
namespace timeline {

using meeting = core::attempt_record::meeting;

/// At the limit, the arrivals of older barriers are omitted.
constexpr std::size_t arrivals_max = 20'000;

struct barrier {
  std::uint32_t attempt = 0;
  meeting what;
};

struct known {
  picture_query q;
  std::vector<doctor::step_log::segment> segments;
  std::vector<barrier> barriers;  // newest barrier first
  core::time_point since{};       // steps before this time are only on disk
};

struct view {
  step_picture picture{{}};
  std::vector<barrier> barriers;
};

void members(member_list const& m, view const& v) {
  v.picture.say(m);
  m.list(
      "barriers", v.barriers,
      [](member_list const& of, barrier const& b) {
        of("attempt", b.attempt);
        of("id", b.what.barrier);
        of("counter", b.what.counter);
        of("began_ms", b.what.ended - b.what.spread, "arrival time of the first rank");
        of("ended_ms", b.what.ended, "arrival time of the last rank");
        of("participants", b.what.participants);
        of.list(
            "ranks", b.what.came, [](meeting::arrival const& a) { return a.rank; },
            "requested ranks that arrived; empty if there were too many");
        of.list(
            "came_us", b.what.came, [](meeting::arrival const& a) { return a.after_us; },
            "arrival time of each of these ranks, relative to the first arrival of any rank");
      },
      "barriers at which all ranks arrived within the period, newest first");
}

void add_barriers(known& to, std::vector<meeting> const& all, std::uint32_t attempt,
                  std::size_t& arrivals) {
  auto const& q = to.q;
  for (auto const& m : all) {
    if (m.ended < q.from || m.ended - m.spread > q.to) continue;
    barrier b{attempt, m};
    std::erase_if(b.what.came, [&](meeting::arrival const& a) {
      return a.rank < q.first_rank || a.rank - q.first_rank >= q.ranks;
    });
    if (b.what.came.size() > arrivals) b.what.came = {};
    arrivals -= b.what.came.size();
    to.barriers.push_back(std::move(b));
  }
}

// For a running attempt, the barriers come from the cluster; for an ended attempt, they come from
// the record.
muster::result<known> look(server::hub& h, core::program_id id, picture_query q) {
  auto const attempts = h.state().programs().attempts_of(id);
  if (!attempts) return attempts.error();
  if (q.to == core::never) q.to = h.now();
  if (q.from == core::time_point{}) q.from = attempts->empty() ? q.to : attempts->front().begun;
  q.to = std::max(q.to, q.from);
  auto& log = h.programs().steps().log();
  known k{q, log.of(id, h.now()), {}, log.since()};
  auto arrivals = arrivals_max;
  for (auto a = attempts->rbegin(); a != attempts->rend(); ++a) {
    if (q.attempt != 0 && a->attempt != q.attempt) continue;
    auto const* const record = h.programs().records().find({id, a->attempt});
    auto const seen = record && !record->barriers.empty()
                          ? record->barriers
                          : h.programs().lateness(id, a->attempt).barriers;
    add_barriers(k, seen, a->attempt, arrivals);
  }
  return k;
}

// Reads data that is no longer in memory, for at most `summary_read_for`.
view read(known const& k, server::history_store const* store, core::program_id id) {
  view v{step_picture(k.q), k.barriers};
  auto const memory = k.segments.empty() ? core::never : k.segments.front()->made;
  auto const end = std::chrono::steady_clock::now() + summary_read_for;
  if (store)
    store->scan(server::history_kind::steps, {k.q.from, 0},
                [&](server::history_place at, std::string_view record) {
                  if (at.at > k.q.to && at.at - k.q.to > write_delay_max) return false;
                  if (std::chrono::steady_clock::now() >= end) {
                    v.picture.ends_at(std::min(at.at, k.q.to));
                    return false;
                  }
                  auto const s =
                      store->decoded(server::history_kind::steps, at, record, server::steps_from);
                  if (s.program == id && s.made < memory) v.picture.add(s);
                  return true;
                });
  if (v.picture.until() == k.q.to)
    for (auto const& s : k.segments) v.picture.add(*s);
  return v;
}

coro::task<response> answer(web_context& context, exchange& ex, core::program_id id,
                            picture_query q) {
  auto work = [id, q](server::hub& h) { return look(h, id, q); };
  auto in_pool = in_pool_of(id, std::move(work));
  auto found = co_await context.engine.on_engine(std::move(in_pool));
  if (!found) co_return problem_response(found.error());
  bool const in_memory = found->q.from >= found->since || !keeps_history(context);
  if (in_memory) co_return json_response(to_text(read(*found, nullptr, id)));
  auto prepare = [k = std::move(*found), id](engine_services&) {
    return [k, id](server::history_store const& store) { return read(k, &store, id); };
  };
  co_return co_await answer_from_history<view>(context, ex, std::move(prepare), as_json());
}

coro::task<response> get_timeline(web_context& context, exchange& ex) {
  query_check query(ex.req);
  history_query time;
  if (auto const wrong = read_time_range(query, time)) return refused(*wrong);
  picture_query q;
  q.from = time.from;
  q.to = time.to;
  q.attempt = static_cast<std::uint32_t>(query.number("attempt", 0));
  q.first_rank = static_cast<std::uint32_t>(query.number("first_rank", 0));
  q.ranks = static_cast<std::uint32_t>(query.number("ranks", q.ranks));
  q.buckets = static_cast<std::uint32_t>(query.number("buckets", q.buckets));
  return with_id(ex, "program", server::parse_program,
                 [&context, &ex, q](core::program_id id) { return answer(context, ex, id, q); });
}

}  // namespace timeline

void add_timeline_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/programs/{id}/timeline", timeline::get_timeline, "getTimeline",
          "Get the times of steps and barrier arrivals of ranks, from memory and disk")
          .with({from_parameter,
                 to_parameter,
                 {"attempt", query_kind::number, "attempt number; default: all attempts", 0,
                  UINT32_MAX},
                 {"first_rank", query_kind::number, "first rank; default 0", 0, UINT32_MAX},
                 {"ranks", query_kind::number, "number of ranks; default 256", 1,
                  step_picture::ranks_max},
                 {"buckets", query_kind::number,
                  "maximum number of time buckets if steps are combined; default 300", 1,
                  step_picture::buckets_max}})
          .responds_with("RunTimeline", schema_of<timeline::view>)
          .also(422, "to_ms is before from_ms")
          .also(429, "Too many history requests are waiting"));
}

}  // namespace muster::web
