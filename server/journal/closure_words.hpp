// The parts of which the entries of jobs and closures consist, to the wire and back. What comes
// back is within the ranges of its kinds, else `ok` is false. Used by closure_facts alone.
#pragma once

#include "muster/journal/v1/records.pb.h"
#include "server/core/api/facts.hpp"
#include "server/journal/times.hpp"

namespace muster::server::journal {

namespace wire = muster::journal::v1;

void encode(core::failure const& f, wire::Failure& into);
core::failure decoded(wire::Failure const& w, bool& ok);
void encode(core::closure_extras const& x, wire::Extras& into);
core::closure_extras decoded(wire::Extras const& w);
void encode(core::attempt_view const& a, wire::Attempt& into);
core::attempt_view decoded(wire::Attempt const& w, bool& ok);
void encode(core::job_fact const& f, wire::DurableJob& into);
core::job_fact decoded(core::session_id job, wire::DurableJob const& w, bool& ok);

}  // namespace muster::server::journal
