#include "web/json/object_json.hpp"

#include "base/text.hpp"

namespace muster::web {

void members(member_list const& m, core::objects::object_view const& o) {
  m("id", o.id);
  m.some("name", o.spec.name);
  m("class", o.spec.class_name);
  m("task", o.spec.job + ":" + std::to_string(o.spec.index));
  m("state", o.state, "PENDING: its task is not here yet");
  m.some("reason", o.end, "why it is FAILED or LOST");
  m.some("error", o.error, "the same for people");
  m.when(o.incarnation != core::incarnation{})(
      "incarnation", hex16(core::raw(o.incarnation)),
      "of the process that has it, or makes it; none while that is away");
  m("detached", o.spec.detached);
  m("concurrency", o.spec.concurrency);
  m("session", o.owner, "that has made it");
  m.some("submitted_by", o.submitter, "the token that it was made with");
  m.object(
      "calls",
      [&o](member_list const& of) {
        of("waiting", o.waiting, "for the object, or behind other calls");
        of("executing", o.executing);
        of("answered", o.answered);
      },
      "waiting and executing as far as the server has heard");
  m.some("last_error", o.last_error, "of the last call that failed in a method");
  m("created_ms", o.created);
  m("since_ms", o.since, "since when it is in its state");
}

void members(member_list const& m, core::datasets::dataset_view const& d) {
  m("id", d.id);
  m.some("name", d.name);
  m("session", d.owner, "that has made it");
  m.some("submitted_by", d.submitter, "the token that it was made with");
  m("epochs", d.epochs);
  m("epoch", d.epoch, "that goes on, from 0; as many as there are: all are done");
  m("splits", d.splits);
  m("queued", d.queued, "of the epoch, as drawn and done");
  m("drawn", d.drawn, "by functions that have not ended");
  m("done", d.done);
  m("waiting", d.waiting, "functions that draw, for what others may give back");
  m("given_back", d.given_back, "ever, by functions that failed or whose worker was lost");
  m.list(
      "workers", d.workers,
      [](member_list const& of, auto const& w) {
        of("task", w.first, "or \"others\"");
        of("drawn", w.second.drawn, "now");
        of("done", w.second.done, "in all epochs");
      },
      "that have drawn from it");
  m("created_ms", d.created);
}

}  // namespace muster::web
