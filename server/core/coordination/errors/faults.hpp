// How errors are made: with so much of their text as trailers can carry.
#pragma once

#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

/// So much of the text as fits beside details of this size, which travel in base64; gRPC sends
/// three bytes for each that is not printable ASCII.
std::string cut(std::string_view message, std::size_t details_bytes = 0);

/// About the request itself. `coordination`: see fault.
fault_ptr refusal(code c, std::string_view message, bool coordination = true);
/// About a task; `no_task`: about none in particular.
fault_ptr task_fault(task_index t, code c, std::string_view message, bool reported = false);
/// About an instance of a barrier, which its callers go on counting from.
/// What the refusal of a heartbeat tells of an error: ABORTED whatever it is, since agents try
/// again after UNAVAILABLE. `how`: more about the task; may be empty.
fault_ptr heartbeat_fault(fault const& told, std::string const& how);
fault_ptr barrier_fault(barrier_instance b, code c, std::string_view message);

}  // namespace muster::core::coordination
