// Templates handle both a stream's message and a call's request, which differ only in how they
// specify functions.
#include "server/rpc/sessions/schedule_convert.hpp"

#include <algorithm>
#include <unordered_map>

#include "proto/columns.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/api/placeholders.hpp"
#include "server/rpc/column_check.hpp"
#include "server/rpc/failure_convert.hpp"
#include "server/rpc/status_convert.hpp"

namespace muster::server {
namespace {

constexpr std::size_t session_name_bytes_max = 256;

template <class Message>
std::string check_columns(Message const& m, int n) {
  if (m.function_size() != n) return unequal("function", m.function_size(), n);
  if (m.args_size() != n) return unequal("args", m.args_size(), n);
  if (m.options_of_size() != 0 && m.options_of_size() != n)
    return unequal("options_of", m.options_of_size(), n);
  if (m.callable_of_size() != 0 && m.callable_of_size() != n)
    return unequal("callable_of", m.callable_of_size(), n);
  return wrong_encodings(m, n);
}

// Clamps to a time that exceeds all limits of the core and does not overflow.
core::duration milliseconds(std::uint64_t ms) {
  return std::chrono::milliseconds(std::min<std::uint64_t>(ms, 1'000'000'000'000));
}

core::closure_options from_wire(v1::ClosureOptions const& o) {
  core::closure_options out;
  out.priority = o.priority();
  out.delay = milliseconds(o.delay_ms());
  out.deadline = milliseconds(o.deadline_ms());
  out.max_retries = o.max_retries();
  if (o.has_retry_initial_ms()) out.retry_initial = milliseconds(o.retry_initial_ms());
  if (o.has_retry_max_ms()) out.retry_max = milliseconds(o.retry_max_ms());
  out.task_job = o.task_job();
  if (o.has_task_index()) out.task_index = o.task_index();
  out.gang = o.gang();
  out.labels.assign(o.label().begin(), o.label().end());
  out.resources.assign(o.resource().begin(), o.resource().end());
  std::sort(out.labels.begin(), out.labels.end());
  std::sort(out.resources.begin(), out.resources.end());
  return out;
}

std::string beyond(char const* column, int i, std::uint32_t n, std::size_t count) {
  return std::string(column) + "[" + std::to_string(i) + "]: number " + std::to_string(n) +
         ", but the message has only " + std::to_string(count);
}

template <class Message>
std::string add_options(Message const& m, submission& into) {
  std::vector<submission::shared_extras> sets;
  for (auto const& o : m.options()) {
    auto asked = from_wire(o);  // most options with own_error set no other field
    bool const more = !o.own_error() || asked != core::closure_options{};
    sets.push_back(more ? into.asking(std::move(asked)) : nullptr);
  }
  for (int i = 0; i < m.options_of_size(); ++i) {
    auto const n = m.options_of(i);
    if (n > sets.size()) return beyond("options_of", i, n, sets.size());
    if (n == 0) continue;
    auto& closure = into[static_cast<std::size_t>(i)];
    closure.extras = sets[n - 1];
    closure.own_error = m.options(static_cast<int>(n) - 1).own_error();
  }
  return {};
}

std::string wrong_callable(v1::Callable const& c) {
  auto const size = c.name().size();
  if (size == 0 || size > core::callable_name_bytes_max)
    return "name: must have 1 to " + std::to_string(core::callable_name_bytes_max) +
           " bytes, got " + std::to_string(size);
  for (unsigned char const b : c.name())
    if (b < 0x20 || b == 0x7f) return "name: contains a control character";
  if (!c.hash().empty() && c.hash().size() != core::callable_hash_bytes)
    return "hash: must have " + std::to_string(core::callable_hash_bytes) + " bytes, got " +
           std::to_string(c.hash().size());
  return {};
}

template <class Message>
std::string add_callables(Message const& m, submission& into) {
  for (int i = 0; i < m.callable_size(); ++i) {
    auto const& c = m.callable(i);
    if (auto const wrong = wrong_callable(c); !wrong.empty())
      return "callable[" + std::to_string(i) + "]." + wrong;
    into.callables().push_back({c.name(), c.hash()});
  }
  for (int i = 0; i < m.callable_of_size(); ++i) {
    auto const n = m.callable_of(i);
    if (auto const count = static_cast<std::size_t>(m.callable_size()); n > count)
      return beyond("callable_of", i, n, count);
    into[static_cast<std::size_t>(i)].callable = n;
  }
  return {};
}

// A closure's inputs are consecutive. Each run of inputs creates extras.
template <class Message>
std::string add_inputs(Message const& m, token_lookup const& held, submission& into) {
  auto const count = into.closures().size();
  std::unordered_map<std::uint64_t, std::uint32_t> position_of;
  if (m.input_size() > 0)
    for (int i = 0; i < m.token_size(); ++i)
      position_of.emplace(m.token(i), static_cast<std::uint32_t>(i));
  core::closure_extras* extras = nullptr;
  std::uint32_t position = 0;
  for (int k = 0; k < m.input_size(); ++k) {
    auto const& input = m.input(k);
    auto const at = "input[" + std::to_string(k) + "].";
    if (input.position() >= count)
      return at + "position: " + std::to_string(input.position()) + ", but the message has only " +
             std::to_string(count) + " closures";
    if (extras && input.position() < position) return at + "position: must be in ascending order";
    auto& closure = into[input.position()];
    bool const beside = closure.args.encoding() == core::encoding::bytes;
    if (beside && input.offset() != 0)
      return at + "offset: must be 0 for arguments in bytes, got " + std::to_string(input.offset());
    if (!extras || input.position() != position) {
      position = input.position();
      extras = &submission::own_extras(closure);
    }
    if (input.per_worker() != 0) {
      extras->per_worker.push_back(core::per_worker_id{input.per_worker()});
      continue;
    }
    core::input_ref ref;
    ref.offset = beside && input.pickled() ? core::beside_pickled : input.offset();
    ref.closure = input.closure() != 0 ? core::closure_id{input.closure()} : held(input.token());
    if (ref.closure == core::closure_id{}) {
      auto const earlier = position_of.find(input.token());
      if (earlier == position_of.end() || earlier->second >= position)
        return at + "token: " + std::to_string(input.token()) +
               " belongs neither to a stored closure nor to an earlier closure of this message";
      ref.position = earlier->second;
    }
    extras->inputs.push_back(ref);
  }
  return {};
}

template <class Message, class Function>
std::string add_closures(Message const& m, int n, Function function, token_lookup const& held,
                         submission& into) {
  bool const tokens = m.token_size() > 0;
  into.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    auto& c = into.add(function(i));
    c.token = tokens ? m.token(i) : 0;
    c.args = arguments(
        m.args(i), proto::is_bytes(m.encoding(), i) ? core::encoding::bytes : core::encoding::json);
  }
  if (m.callable_size() > 0 || m.callable_of_size() > 0)
    if (auto wrong = add_callables(m, into); !wrong.empty()) return wrong;
  if (m.options_of_size() == 0 && m.input_size() == 0) return {};
  auto wrong = add_options(m, into);
  return wrong.empty() ? add_inputs(m, held, into) : wrong;
}

template <class Message>
muster::result<core::create_per_worker> common_part(Message const& asked) {
  if (auto wrong = wrong_encoding("encoding", asked.encoding()); !wrong.empty())
    return invalid(std::move(wrong));
  core::create_per_worker e;
  e.name = asked.name();
  e.args = arguments(asked.args(), encoding_of(asked.encoding() == v1::BYTES));
  e.token = asked.token();
  return e;
}

static_assert(static_cast<int>(core::value_state::not_ready) == v1::FetchResponse::NOT_READY);
static_assert(static_cast<int>(core::value_state::ready) == v1::FetchResponse::READY);
static_assert(static_cast<int>(core::value_state::aborted) == v1::FetchResponse::ABORTED);

core::failure refusal(muster::status const& s) {
  auto const kind = s.code == muster::code::unavailable ? core::failure_kind::dependency_lost
                                                        : core::failure_kind::input;
  return {kind, "", s.message, "", "", 0};
}

}  // namespace

muster::result<core::session_spec> from_wire(v1::Open const& o) {
  if (o.name().size() > session_name_bytes_max)
    return invalid("open.name: " + std::to_string(o.name().size()) + " bytes, the limit is " +
                   std::to_string(session_name_bytes_max));
  core::session_spec spec;
  spec.name = o.name();
  spec.on_error = o.continue_on_error() ? core::on_error::continue_all : core::on_error::fail_fast;
  spec.open = true;
  spec.queue_capacity = o.queue_capacity();
  spec.max_worker_failures = o.max_worker_failures();
  spec.unlimited_worker_failures = o.unlimited_worker_failures();
  spec.require_function = o.require_function();
  spec.num_workers = o.num_workers();
  spec.delivery = o.hold_values() ? core::delivery::resumable : core::delivery::stream;
  spec.grace = milliseconds(o.session_grace_ms());
  spec.detached = o.detached();
  spec.weight = std::max(o.weight(), 1u);
  if (o.has_durable()) spec.durable = o.durable();
  return spec;
}

v1::Opened to_wire(core::job_view const& session, v1::Open const& open,
                   core::config const& limits) {
  bool const asks = open.resume().empty() && open.queue_capacity() != 0;
  v1::Opened opened;
  opened.set_session(core::text(session.id));
  opened.set_queue_capacity(asks ? open.queue_capacity() : limits.queue_capacity);
  opened.set_generation(session.generation);
  opened.set_inputs_beside_bytes(true);
  opened.set_own_errors(true);
  opened.set_objects(true);
  opened.set_datasets(true);
  if (!session.resumable) return opened;
  core::duration const grace = open.detached()               ? limits.detached_grace
                               : open.session_grace_ms() > 0 ? milliseconds(open.session_grace_ms())
                                                             : limits.session_grace;
  opened.set_session_grace_ms(static_cast<std::uint64_t>(grace / std::chrono::milliseconds(1)));
  return opened;
}

std::string from_wire(v1::SessionRequest const& m, std::vector<core::function_id> const& functions,
                      token_lookup const& held, submission& into) {
  int const n = m.token_size();
  if (auto wrong = check_columns(m, n); !wrong.empty()) return wrong;
  for (int i = 0; i < n; ++i)
    if (m.function(i) >= functions.size())
      return "function[" + std::to_string(i) + "]: number " + std::to_string(m.function(i)) +
             ", but the number of function names on this stream is " +
             std::to_string(functions.size());
  auto const function = [&](int i) { return functions[m.function(i)]; };
  return add_closures(m, n, function, held, into);
}

std::string from_wire(v1::ScheduleRequest const& m, std::vector<core::function_id> const& functions,
                      token_lookup const& held, submission& into) {
  int const n = m.function_size();
  if (m.token_size() != 0 && m.token_size() != n) return unequal("token", m.token_size(), n);
  if (auto wrong = check_columns(m, n); !wrong.empty()) return wrong;
  auto const function = [&](int i) { return functions[static_cast<std::size_t>(i)]; };
  return add_closures(m, n, function, held, into);
}

muster::result<core::create_per_worker> from_wire(v1::NewPerWorkerValue const& asked,
                                                  std::vector<core::function_id> const& functions) {
  if (asked.token() == 0) return invalid("token: must not be 0");
  if (asked.function() >= functions.size())
    return invalid("function: number " + std::to_string(asked.function()) +
                   ", but the number of function names on this stream is " +
                   std::to_string(functions.size()));
  auto e = common_part(asked);
  if (e) e->function = functions[asked.function()];
  return e;
}

muster::result<core::create_per_worker> from_wire(v1::CreatePerWorkerValueRequest const& asked) {
  auto e = common_part(asked);
  if (e && asked.args().empty()) e->args = arguments("[]", e->args.encoding());
  return e;
}

void to_wire(core::reply const& answer, v1::PerWorkerCreated& to) {
  if (answer.status.ok())
    to.set_value(core::raw(std::get<core::per_worker_reply>(answer.body).id));
  else
    to_wire(refusal(answer.status), *to.mutable_failure());
}

v1::PerWorkerValue to_wire(core::per_worker_view const& v) {
  v1::PerWorkerValue to;
  to.set_value(core::raw(v.id));
  to.set_name(v.name);
  to.set_function(v.function);
  for (auto const& component : v.components) {
    auto& c = *to.add_component();
    c.set_task(component.job + ":" + std::to_string(component.index));
    c.set_state(static_cast<v1::FetchResponse::State>(component.state));
    if (component.error) to_wire(*component.error, *c.mutable_failure());
  }
  return to;
}

}  // namespace muster::server
