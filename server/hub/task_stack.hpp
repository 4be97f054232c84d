// Stack of a worker process that runs closures and objects, as the worker reports it.
#pragma once

#include <cstdint>
#include <string>

#include "server/core/api/attempt_record.hpp"

namespace muster::server {

struct task_stack {
  core::stack_state state{};
  std::string text{};     // all threads, UTF-8, in the format of faulthandler
  std::string process{};  // such as "S in futex_wait_queue"
  std::uint32_t pid = 0;
};

}  // namespace muster::server
