#include "server/rpc/object_convert.hpp"

#include <utility>

#include "server/rpc/failure_convert.hpp"

namespace muster::server {
namespace {

using core::objects::call_answer;

constexpr int rows_max = 16'384;

core::encoding encoding_of(v1::Encoding e) {
  return e == v1::JSON ? core::encoding::json : core::encoding::bytes;
}
bool in_bytes(core::blob const& b) {
  return b.encoding() == core::encoding::bytes;
}

}  // namespace

std::string from_wire(v1::ObjectRequests const& from, std::vector<core::objects::call_spec>& to) {
  int const n = from.number_size();
  if (from.object_size() != n || from.method_size() != n || from.args_size() != n ||
      (from.encoding_size() != 0 && from.encoding_size() != n))
    return "number, object, method, args: must have the same length";
  for (auto const& [field, rows] :
       {std::pair("number", n), std::pair("taken", from.taken_size()),
        std::pair("wait", from.wait_size()), std::pair("create", from.create_size()),
        std::pair("find", from.find_size()), std::pair("drop", from.drop_size()),
        std::pair("create_dataset", from.create_dataset_size())})
    if (rows > rows_max)
      return field + (": " + std::to_string(rows)) + ", the limit is " + std::to_string(rows_max);
  to.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    if (from.number(i) <= (i == 0 ? 0 : from.number(i - 1)))
      return "number[" + std::to_string(i) + "]: must be in ascending order, from 1";
    auto const e =
        from.encoding_size() == 0 ? core::encoding::bytes : encoding_of(from.encoding(i));
    to.push_back({from.number(i), core::object_id{from.object(i)}, from.method(i),
                  core::blob(from.args(i), e)});
  }
  return {};
}

core::objects::object_spec from_wire(v1::NewObject const& from) {
  core::objects::object_spec to;
  to.name = from.name();
  to.class_name = from.class_name();
  to.job = from.job();
  to.index = from.index();
  to.detached = from.detached();
  to.concurrency = from.concurrency();
  to.function = from.function();
  to.args = core::blob(from.args(), encoding_of(from.encoding()));
  to.json = from.encoding() == v1::JSON;
  return to;
}

core::datasets::dataset_spec from_wire(v1::NewDataset const& from) {
  core::datasets::dataset_spec to;
  to.name = from.name();
  to.splits.assign(from.split().begin(), from.split().end());
  to.epochs = from.epochs();
  to.at.epoch = from.position().epoch();
  to.at.done.assign(from.position().done().begin(), from.position().done().end());
  return to;
}

std::string from_wire(v1::ObjectReports const& from, std::vector<object_hub::report>& to) {
  int const n = from.number_size();
  if (from.object_size() != n || from.caller_size() != n || from.of_worker_size() != n ||
      from.value_size() != n || from.encoding_size() != n)
    return "objects: all columns must have the same length";
  to.resize(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    auto& r = to[static_cast<std::size_t>(i)];
    r.object = core::object_id{from.object(i)};
    r.answer.name = {{from.caller(i), from.of_worker(i)}, from.number(i)};
    r.answer.value = core::blob(from.value(i), encoding_of(from.encoding(i)));
  }
  for (auto const& f : from.failure()) {
    if (f.position() >= static_cast<std::uint32_t>(n))
      return "objects.failure: position " + std::to_string(f.position()) +
             " is not one of its rows";
    auto& a = to[f.position()].answer;
    a.ok = false;
    a.value = {};
    if (auto bad = from_wire(f, a.why); !bad.empty()) return "objects.failure: " + bad;
  }
  return {};
}

std::size_t bytes_of(call_answer const& a) {
  return a.value.size() + a.why.message.size() + a.why.traceback.size() + a.why.exception.size() +
         16;
}

void to_wire(call_answer const& a, v1::ObjectAnswers& to) {
  int const position = to.number_size();
  to.add_number(a.name.number);
  auto const value = a.value.view();
  to.add_value(value.data(), value.size());
  to.add_encoding(in_bytes(a.value) ? v1::BYTES : v1::JSON);
  if (a.ok) return;
  auto& f = *to.add_failure();
  f.set_position(static_cast<std::uint32_t>(position));
  to_wire(a.why, f);
}

void to_wire(core::object_id id, core::objects::object_spec const& spec, v1::BuildObject& to) {
  to.set_object(core::raw(id));
  to.set_function(spec.function);
  auto const args = spec.args.view();
  to.set_args(args.data(), args.size());
  to.set_encoding(in_bytes(spec.args) ? v1::BYTES : v1::JSON);
  to.set_concurrency(spec.concurrency);
  to.set_name(spec.name);
  to.set_class_name(spec.class_name);
}

void to_wire(core::objects::call_order const& o, std::string const& method, core::blob const& args,
             v1::ObjectOrders& to) {
  to.add_object(core::raw(o.object));
  to.add_caller(o.name.caller.number);
  to.add_of_worker(o.name.caller.of_worker);
  to.add_number(o.name.number);
  to.add_method(method);
  auto const bytes = args.view();
  to.add_args(bytes.data(), bytes.size());
  to.add_encoding(in_bytes(args) ? v1::BYTES : v1::JSON);
}

}  // namespace muster::server
