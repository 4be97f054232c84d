// One call of a user's function, whatever it does: a value or a failure comes out.
#pragma once

#include <string>

#include "muster/context.hpp"
#include "muster/function.hpp"

namespace muster {

struct registered_function {
  std::string name;
  raw_function call;
  bool quick = false;  // runs on the stream's thread
  bool typed = false;  // parses its arguments by itself, and puts PerWorkerValues into them
};

/// True: `result` is the value. False: `why` says how the closure fails. REQUIRES: `result` is
/// empty JSON; it may keep memory from before.
bool call_function(registered_function const& f, context& c, value_view args, value& result,
                   failure& why) noexcept;

/// How a closure fails whose function threw. REQUIRES: called in a catch block.
failure failure_of_current_exception();

}  // namespace muster
