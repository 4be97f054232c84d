#include "web/live/log_page_reading.hpp"

#include "server/core/queries/session_queries.hpp"
#include "server/history/closures.hpp"

namespace muster::web {

muster::result<server::log_target> log_target_of(server::hub& h, core::closure_id closure) {
  auto const c = history::closure(h.past(), h.state(), closure);
  if (c) return server::log_target{c->job, closure};
  if (auto const job = h.logs().job_of(closure)) return server::log_target{*job, closure};
  return c.error();
}

muster::result<server::log_target> log_target_of(server::hub& h, core::session_id job) {
  auto const known = h.state().sessions().find(job);
  if (!known) return known.error();
  return server::log_target{job, {}};
}

muster::result<log_state> read_log_page(server::hub& h, server::log_target of, std::uint64_t seq,
                                        std::size_t limit, bool newest) {
  auto const job = h.state().sessions().find(of.job);
  if (!job) return job.error();
  log_state s;
  s.page = newest ? h.logs().newest(of, limit) : h.logs().after(of, seq, limit);
  auto const told = s.page.lines.empty() ? seq : s.page.lines.back().seq;
  s.ended = core::ended(job->state);
  if (of.closure != core::closure_id{}) {
    auto const c = history::closure(h.past(), h.state(), of.closure);
    s.ended = !c || core::ended(c->state);
  }
  s.ended = s.ended && told >= s.page.last;
  return s;
}

}  // namespace muster::web
