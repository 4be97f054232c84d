#include <utility>

#include "server/rpc/failure_convert.hpp"
#include "server/rpc/object_convert.hpp"
#include "server/rpc/workers/worker_connection.hpp"

namespace muster::server {
namespace {

/// Limits for received but unacknowledged answers, which the worker still stores.
constexpr std::size_t unacknowledged_max = 64;
constexpr std::size_t unacknowledged_bytes_max = 64u << 10;

}  // namespace

void worker_connection::objects_attached(std::int64_t index) {
  hub_->objects().attached(stream_, {job_, index}, incarnation_, takes_objects_);
}

muster::status worker_connection::take_objects(v1::WorkerMessage const& m) {
  if (!attached_ || (!m.has_objects() && m.object_requests_size() == 0)) return {};
  if (!takes_objects_) return invalid("objects: the hello message did not offer to hold objects");
  if (m.has_objects())
    if (auto problem = take_object_reports(m.objects()); !problem.ok()) return problem;
  for (auto const& r : m.object_requests()) {
    if (r.create_size() + r.find_size() + r.drop_size() + r.create_dataset_size() > 0)
      return invalid(
          "object_requests: functions can call objects, but only sessions can create them");
    std::vector<core::objects::call_spec> calls;
    if (auto bad = from_wire(r, calls); !bad.empty()) return invalid("object_requests." + bad);
    hub_->objects().call(incarnation_, r.ticket(), calls, {r.taken().begin(), r.taken().end()});
    for (auto const& w : r.wait())
      hub_->objects().waits(stream_, {{w.within_caller(), w.within_worker()}, w.within_number()},
                            {core::objects::caller_of(incarnation_), w.number()});
  }
  return {};
}

muster::status worker_connection::take_object_reports(v1::ObjectReports const& r) {
  for (auto const id : r.built()) hub_->objects().built(stream_, core::object_id{id}, std::nullopt);
  for (auto const& f : r.failed()) {
    core::failure why;
    if (auto bad = from_wire(f.failure(), why); !bad.empty())
      return invalid("objects.failed: " + bad);
    if (why.message.empty()) why.message = "it could not be created";
    hub_->objects().built(stream_, core::object_id{f.object()}, std::move(why));
  }
  std::vector<object_hub::report> answers;
  if (auto bad = from_wire(r, answers); !bad.empty()) return invalid(std::move(bad));
  if (!answers.empty()) object_answers_ = r.first() + answers.size() - 1;
  for (auto const& a : answers) unacknowledged_object_bytes_ += bytes_of(a.answer);
  unacknowledged_object_answers_ += answers.size();
  hub_->objects().reports(stream_, std::move(answers));
  if (unacknowledged_object_answers_ < unacknowledged_max &&
      unacknowledged_object_bytes_ < unacknowledged_bytes_max)
    return {};
  unacknowledged_object_answers_ = unacknowledged_object_bytes_ = 0;
  out_.tail().mutable_objects()->set_answers_taken(object_answers_);
  wake();
  return {};
}

void worker_connection::on_objects_begin(core::objects::begin_order const& b) {
  auto& orders = *out_.tail().mutable_objects();
  orders.set_begin(true);
  for (auto const id : b.kept) orders.add_kept(core::raw(id));
  wake();
}

void worker_connection::on_build(core::object_id id, core::objects::object_spec const& spec) {
  to_wire(id, spec, *out_.add_entry(spec.args.size() + 64).mutable_objects()->add_build());
  wake();
}

void worker_connection::on_call(core::objects::call_order const& o, std::string const& method,
                                core::blob const& args) {
  to_wire(o, method, args, *out_.add_entry(args.size() + method.size() + 32).mutable_objects());
  wake();
}

void worker_connection::on_drop_object(core::object_id id) {
  out_.tail().mutable_objects()->add_drop(core::raw(id));
  wake();
}

void worker_connection::on_object_answer(core::objects::call_answer const& a) {
  to_wire(a, *out_.add_entry(bytes_of(a)).mutable_object_answers());
  wake();
}

}  // namespace muster::server
