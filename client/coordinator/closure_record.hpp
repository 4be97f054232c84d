// Records of a coordinator_session's calls and per-worker values, and their encoding. Protected by
// the session's mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "client/checks.hpp"
#include "client/session/session_columns.hpp"
#include "client/session/waiting.hpp"
#include "muster/detail/value_handle.hpp"
#include "muster/v1/coordinator.pb.h"

namespace muster::detail {

/// A call's input: an output or a per-worker value. Token 0 means that another coordinator owns the
/// input.
struct use {
  std::uint64_t token = 0;
  std::uint64_t id = 0;      // ID on the server; unused for the session's own outputs
  std::uint32_t offset = 0;  // position of the gap in the arguments; used only for outputs
};

struct closure_record {
  // The following members are needed to schedule the call, also again after a broken stream. These
  // members are empty once the call has finished.
  std::uint32_t function = 0;
  std::string args;
  muster::encoding encoding = muster::encoding::json;
  std::vector<use> inputs;
  std::vector<use> per_worker;
  /// Blobs that the arguments refer to. If the output is a blob, these blobs are kept as long as
  /// the output, because the call may have to run again.
  blob_contents contents;
  std::shared_ptr<closure_options const> options;
  std::uint64_t gang = 0;
  std::uint32_t generation = 0;  // 0 if the call was submitted instead of scheduled
  bool cancelled = false;        // whether the call was cancelled individually
  bool ended = false;
  value output;
  std::unique_ptr<failure> error;
  std::uint64_t closure = 0;  // ID on the server
  // Number of handles, and of unfinished calls that use the output.
  std::uint32_t references = 0;
  std::vector<std::shared_ptr<waiting>> waiters;
};

struct per_worker_record {
  std::uint32_t function = 0;
  std::string args;
  std::uint64_t value = 0;         // ID on the server; 0 until the server has answered
  std::unique_ptr<failure> error;  // the server's reason for refusing the request, or null
  std::uint32_t references = 1;    // number of handles, and of unfinished calls that use the value
  bool answered() const { return value != 0 || error; }
};

/// Returns the options without the fields that are sent separately for each call.
inline closure_options shared_options(closure_options o) {
  o.display_name.clear();
  o.callable.clear();
  return o;
}

/// Writes calls into messages. Writes equal options of consecutive calls only once.
class closure_writer {
 public:
  /// `m` must be empty, or contain the previous call.
  void write(v1::SessionRequest& m, std::uint64_t token, closure_record const& r) {
    m.set_generation(r.generation);
    int const position = add_closure(m, token, r.function, {r.args, r.encoding});
    auto const& o = r.options ? *r.options : none;
    auto asked = r.options ? shared_options(o) : none;
    add_callable(m, position, o.display_name, hash_bytes(o.callable));
    if (asked != none || r.gang != 0 || r.generation == 0)
      write_options(m, r, std::move(asked), position);
    else if (m.options_of_size() > 0)
      m.add_options_of(0);
    auto const add_input = [&]() -> v1::Input& {
      auto& input = *m.add_input();
      input.set_position(static_cast<std::uint32_t>(position));
      return input;
    };
    for (auto const& used : r.inputs) {
      auto& input = add_input();
      input.set_offset(used.offset);
      if (used.token != 0)
        input.set_token(used.token);
      else
        input.set_closure(used.id);
    }
    for (auto const& used : r.per_worker) add_input().set_per_worker(used.id);
  }

  static std::size_t bytes_of(closure_record const& r) {
    return r.args.size() + 16 + 16 * (r.inputs.size() + r.per_worker.size()) +
           (r.options ? r.options->display_name.size() : 0);
  }

 private:
  void write_options(v1::SessionRequest& m, closure_record const& r, closure_options o,
                     int position) {
    while (m.options_of_size() < position) m.add_options_of(0);
    if (m.options_size() == 0 || last_options_ != o || last_gang_ != r.gang) {
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
      w.set_own_error(r.generation == 0);
      last_options_ = std::move(o);
      last_gang_ = r.gang;
    }
    m.add_options_of(static_cast<std::uint32_t>(m.options_size()));
  }

  inline static closure_options const none;
  closure_options last_options_;
  std::uint64_t last_gang_ = 0;
};

}  // namespace muster::detail
