// Lines and progress of closures as JSON. Pure functions.
#pragma once

#include <optional>

#include "server/core/api/views.hpp"
#include "server/hub/log_store.hpp"
#include "web/json/json_out.hpp"

namespace muster::web {

/// A closure as REST shows it: the core's view and what it has reported.
struct reported_closure {
  core::closure_view view;
  std::optional<server::closure_progress> progress;
};

void write(json_out& out, server::log_line const& l);
void write(json_out& out, server::closure_progress const& p);
void write(json_out& out, reported_closure const& c);

}  // namespace muster::web
