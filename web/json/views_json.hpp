// The core's views as the JSON of the REST contract. Pure functions: a view in, text at the end of
// the writer out.
#pragma once

#include <string>

#include "server/core/api/views.hpp"
#include "server/hub/log_store.hpp"
#include "web/json/json_out.hpp"

namespace muster::web {

void write(json_out& out, core::failure const& f);
void write(json_out& out, core::closure_counts const& c);
void write(json_out& out, core::job_view const& j);
/// `progress`: what it has reported; null for nothing.
void write(json_out& out, core::closure_view const& c,
           server::closure_progress const* progress = nullptr);
/// `now` gives the heartbeat's age.
void write(json_out& out, core::task_view const& t, core::time_point now);
void write(json_out& out, core::function_view const& f);
void write(json_out& out, core::per_worker_view const& v);
/// What its worker must have, and its gang: as members of an open object.
void write_needs(json_out& out, core::closure_options const& o);
/// The content of a value inside other JSON: itself when it is JSON, else {"$bytes":"base64"}.
void write_value(json_out& out, core::blob const& b);

/// `write` as a text of its own.
template <class... View>
std::string to_text(View const&... view) {
  return json_line([&](json_out& out) { write(out, view...); });
}

}  // namespace muster::web
