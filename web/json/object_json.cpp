#include "web/json/object_json.hpp"

#include "base/text.hpp"

namespace muster::web {

void members(member_list const& m, core::objects::object_view const& o) {
  m("id", o.id);
  m.some("name", o.spec.name);
  m("class", o.spec.class_name);
  m("task", o.spec.job + ":" + std::to_string(o.spec.index));
  m("state", o.state, "PENDING means that the task has not connected yet");
  m.some("reason", o.end, "reason why the object is FAILED or LOST");
  m.some("error", o.error, "the reason as a sentence");
  m.when(o.incarnation != core::incarnation{})("incarnation", hex16(core::raw(o.incarnation)),
                                               "the process that holds or is creating the object; "
                                               "missing while the process is disconnected");
  m("detached", o.spec.detached);
  m("concurrency", o.spec.concurrency);
  m("session", o.owner, "session that created the object");
  m.some("submitted_by", o.submitter, "id of the token with which the object was created");
  m.object(
      "calls",
      [&o](member_list const& of) {
        of("waiting", o.waiting, "calls that are waiting for the object or for earlier calls");
        of("executing", o.executing);
        of("answered", o.answered);
      },
      "call counts; `waiting` and `executing` are as last reported to the server");
  m.some("last_error", o.last_error, "error of the last call whose method failed");
  m("created_ms", o.created);
  m("since_ms", o.since, "time at which the object entered its current state");
}

void members(member_list const& m, core::datasets::dataset_view const& d) {
  m("id", d.id);
  m.some("name", d.name);
  m("session", d.owner, "session that created the dataset");
  m.some("submitted_by", d.submitter, "id of the token with which the dataset was created");
  m("epochs", d.epochs);
  m("epoch", d.epoch, "current epoch, counted from 0; equal to `epochs` when all epochs are done");
  m("splits", d.splits);
  m("queued", d.queued,
    "queued splits of the current epoch; `drawn` and `done` also refer to this epoch");
  m("drawn", d.drawn, "splits drawn by functions that have not ended");
  m("done", d.done);
  m("waiting", d.waiting,
    "functions that are waiting for a split that another function may return");
  m("given_back", d.given_back,
    "total number of splits returned by functions that failed or whose worker was lost");
  m.list(
      "workers", d.workers,
      [](member_list const& of, auto const& w) {
        of("task", w.first, "task name, or \"others\"");
        of("drawn", w.second.drawn,
           "splits that the worker's functions have received and not finished");
        of("done", w.second.done,
           "splits that the worker's functions have finished, in all epochs");
      },
      "workers whose functions have received dataset splits");
  m("created_ms", d.created);
}

}  // namespace muster::web
