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

}  // namespace muster::web
