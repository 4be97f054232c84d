#include <utility>

#include "server/hub/access/use.hpp"
#include "server/rpc/call_access.hpp"
#include "server/rpc/failure_convert.hpp"
#include "server/rpc/object_convert.hpp"
#include "server/rpc/sessions/session_stream.hpp"

namespace muster::server {
namespace {

constexpr std::size_t found_bytes = 64;
constexpr std::chrono::milliseconds names_look_again{50};

core::failure failure_of(muster::status const& why) {
  bool const unknown = why.code == muster::code::not_found;
  return {unknown ? core::failure_kind::stale_handle : core::failure_kind::input,
          std::string(name(why.code)),
          why.message,
          "",
          "",
          0};
}

}  // namespace

muster::status session_stream::take_objects(v1::ObjectRequests const& r) {
  if (!resumable_)
    return invalid("objects: only sessions that hold values (hold_values) can use objects");
  auto const who = caller_of(options_.gate, call_.context());
  auto& objects = hub_->objects();
  if (!r.ticket().empty() && !std::exchange(ticket_sent_, true)) {
    bool const all = !who || who->role == core::role::admin;
    auto opened = objects.open(session_, {r.ticket(), who ? who->id : std::string(), all});
    if (!opened.ok()) return {opened.code, "objects." + opened.message};
  }
  for (auto const& asked : r.create()) create(asked);
  if (!waiting_.empty()) create_waiting();
  for (auto const& asked : r.create_dataset())
    send_created(asked.number(),
                 objects.create_dataset(session_, asked.number(), from_wire(asked)));
  for (auto const& asked : r.find())
    send_found(asked.number(), objects.find(session_, asked.name()));
  std::vector<core::objects::call_spec> calls;
  if (auto bad = from_wire(r, calls); !bad.empty()) return invalid("objects." + bad);
  if (!calls.empty() || r.taken_size() > 0)
    objects.call(session_, calls, {r.taken().begin(), r.taken().end()});
  for (auto const id : r.drop()) static_cast<void>(objects.drop(session_, core::object_id{id}));
  return {};
}

void session_stream::create(v1::NewObject const& asked) {
  auto& objects = hub_->objects();
  auto const allowed = check_function(caller_of(options_.gate, call_.context()), asked.function());
  if (!allowed.ok()) return send_found(asked.number(), allowed);
  if (objects.must_wait_for_name(session_, asked.name())) return waiting_.push_back(asked);
  send_found(asked.number(), objects.create(session_, asked.number(), from_wire(asked)));
}

void session_stream::create_waiting() {
  if (!open_) return;
  for (auto const& asked : std::exchange(waiting_, {})) create(asked);
  if (waiting_.empty()) return room();
  names_.call_at(coro::timer::clock::now() + names_look_again, [this] { create_waiting(); });
}

void session_stream::send_found(std::uint64_t number, muster::result<core::object_id> const& id) {
  auto& found = *out_.add_entry(found_bytes).mutable_objects()->add_found();
  found.set_number(number);
  if (!id) {
    to_wire(failure_of(id.error()), *found.mutable_failure());
  } else if (auto const* o = hub_->objects().state().find(*id)) {
    found.set_object(core::raw(*id));
    found.set_task(o->spec.job + ":" + std::to_string(o->spec.index));
    found.set_class_name(o->spec.class_name);
    found.set_json(o->spec.json);
  }
  wake();
}

void session_stream::send_created(std::uint64_t number,
                                  muster::result<core::dataset_id> const& id) {
  auto& found = *out_.add_entry(found_bytes).mutable_objects()->add_found();
  found.set_number(number);
  if (!id)
    to_wire(failure_of(id.error()), *found.mutable_failure());
  else
    found.set_object(core::raw(*id));
  wake();
}

void session_stream::on_object_answer(core::objects::call_answer const& a) {
  to_wire(a, *out_.add_entry(bytes_of(a)).mutable_objects());
  wake();
}

}  // namespace muster::server
