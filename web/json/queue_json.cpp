#include "web/json/queue_json.hpp"

#include "server/core/texts/explanation_texts.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

namespace {

std::string why_of(core::queue_entry const& e) {
  if (!e.why) return {};
  auto said = cause(*e.why);
  if (!e.lack) return said;
  if (said.ends_with('.')) said.pop_back();
  return said + "; " + text(*e.lack) + ".";
}

void closure_row_members(member_list const& m, core::queue_entry const& e) {
  m.some("gang", e.gang);
  m.when(e.kind == core::queue_kind::gang)("ready", e.ready,
                                           "members of the gang that are ready to start");
  m("waiting", e.waiting, "waiting closures, including all members of a gang");
  m.object("needs", [&e](member_list const& of) { needs_members(of, e.needs, false); });
  m.list(
      "functions", e.functions,
      [](member_list const& of, auto const& f) {
        of("name", f.first);
        of("waiting", f.second);
      },
      "the most frequent functions of the examined closures");
  m("examined", e.examined, "number of closures that were examined for functions");
  m.list("jobs", e.jobs, [](member_list const& of, core::queue_job const& j) {
    of("id", j.id);
    of("name", j.name);
  });
  m.some("jobs_more", e.jobs_more, "number of jobs that are not listed");
  m("first", e.first, "the closure that has waited longest");
  m("job", e.job, "the job of `first`");
  auto const room = e.room.value_or(core::queue_room{});
  auto const known = m.when(e.room.has_value());
  known("slots", room.slots, "slots of the workers that meet the needs");
  known("workers_free", room.workers_free, "workers that meet the needs and have a free slot");
  m.when(e.why.has_value())("reason", e.why ? name(e.why->why) : std::string_view(),
                            "why `first` waits, as a code such as BUSY");
}

void program_row_members(member_list const& m, core::waiting_program_view const& p) {
  m("program", p.id);
  m("name", p.name);
}

}  // namespace

// Members of both kinds of rows are written once. Members of one kind are optional.
void members(member_list const& m, queue_row const& r) {
  auto const& e = r.closures;
  auto const p = r.program.value_or(core::waiting_program_view{});
  bool const of_program = r.program.has_value();
  bool const known = of_program || e.room;
  m("kind", of_program ? core::queue_kind::program : e.kind);
  m.some(
      "position", r.position,
      "place in the order of dispatch, starting at 1; missing if no connected worker can run it");
  m("priority", of_program ? p.priority : e.priority);
  m("wanted", of_program ? p.ranks : e.waiting, "wanted slots, or ranks of a program");
  m.when(known)("free",
                of_program ? p.would_fit
                : e.room   ? e.room->slots_free
                           : 0,
                "free slots of the workers that meet the needs, or ranks that would fit");
  m.when(known)("workers",
                of_program ? p.workers
                : e.room   ? e.room->workers
                           : 0,
                "workers that meet the needs and accept closures or ranks");
  m("since_ms", of_program ? p.since : e.since);
  m("why", of_program ? p.waits_for : why_of(e), "why it has not started yet");
  program_row_members(m.when(of_program), p);
  closure_row_members(m.when(!of_program), e);
}

void members(member_list const& m, queue_page const& p) {
  auto const& t = p.totals;
  m("queue", p.rows);
  m("entries", t.entries + p.programs, "number of entries on all pages");
  m("closures", t.closures, "closures that wait for a worker");
  m("closures_startable", t.closures_startable,
    "closures that a connected worker can run when a slot is free");
  m("programs", p.programs, "programs that wait for workers");
  m("blocked", t.blocked, "closures that wait for inputs; not listed");
  m("delayed", t.delayed, "closures that wait for a start time or a retry; not listed");
  m("sent_ahead", t.sent, "closures that wait on the worker to which they were sent; not listed");
  m("complete", p.complete, "false if some entries were not examined");
  m.some("next_page_token", p.next_page_token);
}

}  // namespace muster::web
