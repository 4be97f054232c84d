// A closure as columns, and as entries that name its position for what few closures bring.
#include "client/coordinator/closure_record.hpp"

#include <tuple>

#include "base/utf8.hpp"
#include "client/checks.hpp"
#include "client/session/columns.hpp"

namespace muster::detail {
namespace {

// What goes into the message's options: all but what is called.
auto asked_by(closure_options const& o) {
  return std::tie(o.priority, o.delay, o.deadline, o.max_retries, o.retry_initial, o.retry_max,
                  o.task_job, o.task_index, o.labels, o.resources);
}

closure_options const none;

}  // namespace

std::size_t closure_writer::bytes_of(closure_record const& r) {
  return r.args.size() + 16 + 16 * (r.inputs.size() + r.foreign.size() + r.per_worker.size()) +
         (r.options ? r.options->display_name.size() : 0);
}

void closure_writer::write(v1::SessionRequest& m, std::uint64_t token, closure_record const& r) {
  m.set_generation(r.generation);
  int const position = add_closure(m, token, r.function, {r.args, r.encoding});
  auto const& o = r.options ? *r.options : none;
  add_callable(m, position, o.display_name, hash_bytes(o.callable));
  if (asked_by(o) != asked_by(none) || r.gang != 0)
    write_options(m, r, position);
  else if (m.options_of_size() > 0)
    m.add_options_of(0);
  auto const add_input = [&]() -> v1::Input& {
    auto& input = *m.add_input();
    input.set_position(static_cast<std::uint32_t>(position));
    return input;
  };
  // Both are in order of their offsets; together they must be too.
  auto own = r.inputs.begin();
  auto foreign = r.foreign.begin();
  while (own != r.inputs.end() || foreign != r.foreign.end()) {
    bool const take_own =
        foreign == r.foreign.end() || (own != r.inputs.end() && own->first <= foreign->first);
    auto& input = add_input();
    input.set_offset(take_own ? own->first : foreign->first);
    if (take_own)
      input.set_token((own++)->second);
    else
      input.set_closure((foreign++)->second);
  }
  for (auto const& use : r.per_worker) add_input().set_per_worker(use.value);
}

void closure_writer::write_options(v1::SessionRequest& m, closure_record const& r, int position) {
  auto const& o = r.options ? *r.options : none;
  while (m.options_of_size() < position) m.add_options_of(0);
  if (m.options_size() == 0 || asked_by(last_options_) != asked_by(o) || last_gang_ != r.gang) {
    auto& w = *m.add_options();
    w.set_priority(o.priority);
    w.set_delay_ms(static_cast<std::uint64_t>(o.delay.count()));
    w.set_deadline_ms(static_cast<std::uint64_t>(o.deadline.count()));
    w.set_max_retries(o.max_retries);
    w.set_retry_initial_ms(static_cast<std::uint64_t>(o.retry_initial.count()));
    w.set_retry_max_ms(static_cast<std::uint64_t>(o.retry_max.count()));
    w.set_task_job(to_utf8(o.task_job));
    if (o.task_index >= 0) w.set_task_index(static_cast<std::uint32_t>(o.task_index));
    for (auto const& [key, v] : o.labels) (*w.mutable_label())[to_utf8(key)] = to_utf8(v);
    for (auto const& [key, n] : o.resources) (*w.mutable_resource())[to_utf8(key)] = n;
    if (r.gang != 0) w.set_gang(std::to_string(r.gang));
    last_options_ = o;
    last_gang_ = r.gang;
  }
  m.add_options_of(static_cast<std::uint32_t>(m.options_size()));
}

}  // namespace muster::detail
