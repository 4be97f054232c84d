// The engine's half: what comes from the server, and what a new stream is sent.
#include "client/coordinator/coordinator_session.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/utf8.hpp"
#include "client/failure_text.hpp"
#include "proto/byte_buffer.hpp"
#include "proto/columns.hpp"

namespace muster::detail {
namespace {

constexpr std::size_t failures_max = 1'000;

failure failure_for(failure_kind kind, std::string message) {
  return {kind, "muster::cluster_coordinator", std::move(message), {}, {}, 0};
}

}  // namespace

// ---- messages out -------------------------------------------------------------------------------

void coordinator_session::append_open() {
  auto& open = *out_.tail().mutable_open();
  open.set_hold_values(true);
  if (!id_.empty()) {
    open.set_resume(id_);
    open.set_resume_incarnation(incarnation_);
    for (auto const& [token, r] : records_) open.add_resume_token(token);
    for (auto const& [token, b] : built_) open.add_resume_per_worker(token);
    return;
  }
  open.set_cluster(to_utf8(options_.cluster));
  open.set_name(to_utf8(options_.name));
  open.set_continue_on_error(options_.continue_on_error);
  open.set_queue_capacity(options_.queue_capacity);
  open.set_max_worker_failures(options_.max_worker_failures);
  open.set_unlimited_worker_failures(options_.unlimited_worker_failures);
  open.set_session_grace_ms(static_cast<std::uint64_t>(options_.session_grace.count()));
  open.set_detached(options_.detached);
  open.set_weight(options_.weight);
}

// The server knows a token that it has seen, so all that has no outcome is simply sent again.
void coordinator_session::connected() {
  lock held(mutex_);
  out_ = {};
  options_in_ = nullptr;
  out_generation_ = 0;
  append_open();
  for (auto const& name : names_) out_.tail().add_function_name(name);
  std::vector<std::uint64_t> unanswered;
  for (auto const& [token, b] : built_)
    if (!b.answered()) unanswered.push_back(token);
  std::sort(unanswered.begin(), unanswered.end());
  for (auto const token : unanswered) append_built(token, built_.at(token));
  std::vector<std::uint64_t> unfinished;
  for (auto const& [token, r] : records_)
    if (!r.ended) unfinished.push_back(token);
  std::sort(unfinished.begin(), unfinished.end());  // as they were scheduled
  std::uint64_t gang = 0;                           // those that are left of one go together again
  for (auto const token : unfinished) {
    auto const& r = records_.at(token);
    if (gang != r.gang && gang != 0) out_.end_group();
    if (gang != r.gang && r.gang != 0) out_.begin_group();
    gang = r.gang;
    append(token, r);
  }
  if (gang != 0) out_.end_group();
  for (auto const token : unfinished)
    if (records_.at(token).references == 0) append_release(token);
  if (closing_ && !options_.detached) out_.tail().set_close(true);
  streaming_ = true;
  signalled_ = cancel_sent_ = false;
}

void coordinator_session::append_cancel() {
  cancel_sent_ = true;
  out_.tail().set_cancel(true);
  out_.seal();
}

void coordinator_session::append(std::uint64_t token, record const& r) {
  if (r.generation != out_generation_) out_.seal();
  out_generation_ = r.generation;
  auto const inputs_n = r.inputs.size() + r.foreign.size() + r.per_worker.size();
  auto& m = out_.add_entry(r.args.size() + 16 + 16 * inputs_n);
  int const position = m.token_size();
  m.set_generation(r.generation);
  m.add_token(token);
  m.add_function(r.function);
  m.add_args(r.args);
  proto::add_encoding(*m.mutable_encoding(), position, r.encoding == encoding::bytes);
  if (r.options || r.gang != 0)
    append_options(m, r, position);
  else if (m.options_of_size() > 0)
    m.add_options_of(0);
  // Both are in order of their offsets; together they must be too.
  auto own = r.inputs.begin();
  auto foreign = r.foreign.begin();
  while (own != r.inputs.end() || foreign != r.foreign.end()) {
    bool const take_own =
        foreign == r.foreign.end() || (own != r.inputs.end() && own->first <= foreign->first);
    auto& input = *m.add_input();
    input.set_position(static_cast<std::uint32_t>(position));
    input.set_offset(take_own ? own->first : foreign->first);
    if (take_own)
      input.set_token((own++)->second);
    else
      input.set_closure((foreign++)->second);
  }
  for (auto const& use : r.per_worker) {
    auto& input = *m.add_input();
    input.set_position(static_cast<std::uint32_t>(position));
    input.set_per_worker(use.value);
  }
}

void coordinator_session::append_options(v1::SessionRequest& m, record const& r, int position) {
  static closure_options const none;
  auto const& o = r.options ? *r.options : none;
  while (m.options_of_size() < position) m.add_options_of(0);
  bool const again =
      options_in_ == &m && m.options_size() > 0 && last_options_ == o && last_gang_ == r.gang;
  if (!again) {
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
    options_in_ = &m;
    last_options_ = o;
    last_gang_ = r.gang;
  }
  m.add_options_of(static_cast<std::uint32_t>(m.options_size()));
}

void coordinator_session::append_release(std::uint64_t token) {
  if (streaming_ || !out_.empty()) out_.add_entry(9).add_release_token(token);
}

coordinator_session::next coordinator_session::next_message(grpc::ByteBuffer& to) {
  lock held(mutex_);
  if (out_.empty()) {
    signalled_ = false;
    return closing_ && options_.detached ? next::half_close : next::nothing;
  }
  bool const was_full = full();
  auto oldest = out_.take_front();
  if (options_in_ == &oldest->message) options_in_ = nullptr;
  check(proto::encode(oldest->message, to), "a message is within its limits");
  out_.recycle(std::move(oldest));
  if (was_full) changed(held);
  return next::message;
}

// ---- messages in --------------------------------------------------------------------------------

std::string coordinator_session::take(v1::SessionResponse const& m) {
  int const n = m.token_size();
  if (m.value_size() != n || m.closure_size() != n ||
      (m.encoding_size() != 0 && m.encoding_size() != n))
    return "the server sent columns of unequal length";
  lock held(mutex_);
  if (m.has_opened()) take_opened(m.opened());
  for (auto const& notice : m.notice())
    if (notice.kind() == v1::Notice::FAILED) take_notice(notice);
  take_created(m);
  take_outcomes(m);
  for (auto const& notice : m.notice())
    if (notice.kind() == v1::Notice::DRAINED) take_notice(notice);
  if (!out_.empty()) wake();
  changed(held);
  return {};
}

void coordinator_session::take_opened(v1::Opened const& o) {
  id_ = o.session();
  incarnation_ = o.server_incarnation();
  grace_ = milliseconds(o.session_grace_ms());
  // The cancel may have been lost with the old stream. If it was not, the generation has moved on.
  if (cancelling_ && !cancel_sent_ && o.generation() == generation_) append_cancel();
}

void coordinator_session::take_notice(v1::Notice const& n) {
  if (n.generation() < generation_) return;  // told before, on another stream
  if (n.kind() == v1::Notice::FAILED) {
    draining_ = true;
    if (!first_error_) first_error_ = from_wire(n.failure());
    return;
  }
  generation_ = n.generation() + 1;
  draining_ = cancelling_ = false;
  if (first_error_ && !error_) error_ = std::move(first_error_);
  first_error_.reset();
}

void coordinator_session::take_outcomes(v1::SessionResponse const& m) {
  int next_failure = 0;
  for (int i = 0; i < m.token_size(); ++i) {
    bool const failed = next_failure < m.failure_size() &&
                        m.failure(next_failure).position() == static_cast<std::uint32_t>(i);
    auto const* why = failed ? &m.failure(next_failure++) : nullptr;
    auto const it = records_.find(m.token(i));
    if (it == records_.end() || it->second.ended) continue;  // repeated
    auto& r = it->second;
    r.closure = m.closure(i);
    if (why) {
      r.error = std::make_unique<failure>(from_wire(*why));
      note_failure(*r.error);
    } else {
      r.output = {m.value(i), proto::is_bytes(m.encoding(), i) ? encoding::bytes : encoding::json};
    }
    end_one(m.token(i), r);
  }
}

void coordinator_session::note_failure(failure const& f) {
  if (f.kind == failure_kind::cancelled) return;
  if (std::exchange(failures_generation_, generation_) != generation_) failures_.clear();
  if (failures_.size() < failures_max) failures_.push_back(f);
}

void coordinator_session::end_one(std::uint64_t token, record& r) {
  r.ended = true;
  --unfinished_;
  for (auto& w : r.waiters) ready_.push_back(std::move(w));
  r.waiters = {};
  r.args = {};
  r.options.reset();
  r.foreign = {};
  auto const inputs = std::move(r.inputs);
  r.inputs = {};
  auto const built = std::move(r.per_worker);
  r.per_worker = {};
  if (r.references == 0) forget(token);
  for (auto const& [offset, input] : inputs) unreference(input);
  for (auto const& use : built)
    if (use.token != 0) unreference_built(use.token);
}

void coordinator_session::forget(std::uint64_t token) {
  records_.erase(token);
  if (!ended_) append_release(token);
}

void coordinator_session::unreference(std::uint64_t token) {
  auto& r = records_.at(token);
  if (--r.references > 0) return;
  if (r.ended)
    forget(token);
  else if (!ended_)
    append_release(token);
}

bool coordinator_session::opened() const {
  lock held(mutex_);
  return !id_.empty();
}
bool coordinator_session::closing() const {
  lock held(mutex_);
  return closing_;
}
coordinator_session::milliseconds coordinator_session::grace() const {
  lock held(mutex_);
  return grace_;
}

void coordinator_session::ended(std::string const& reason) {
  lock held(mutex_);
  streaming_ = false;
  ended_ = true;
  lost_ = closing_ ? std::string() : reason;
  auto const why = closing_ ? failure_for(failure_kind::cancelled, "the coordinator was closed")
                            : failure_for(failure_kind::dependency_lost, lost_);
  std::vector<std::uint64_t> left;
  for (auto& [token, r] : records_)
    if (!r.ended) left.push_back(token);
  for (auto const token : left) {
    auto& r = records_.at(token);
    r.error = std::make_unique<failure>(why);
    end_one(token, r);
  }
  draining_ = false;
  if (first_error_ && !error_) error_ = std::move(first_error_);
  out_ = {};
  wake_ = {};
  changed(held);
}

}  // namespace muster::detail
