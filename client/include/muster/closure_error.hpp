// How the failure of a closure, or of a session, is raised. The subtypes say what a program usually
// wants to tell apart; kind() says it exactly.
//
//   closure_error            the function raised (USER), or a deadline passed (TIMEOUT)
//     input_error            an argument could not be converted, or an input failed
//     cancelled_error        it was cancelled, by somebody or by an earlier error of its session
//     aborted_error          its workers were lost, too often
//     unavailable_error      something it relies on is gone: the server, a job of the cluster
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "muster/value.hpp"

namespace muster {

class closure_error : public std::runtime_error {
 public:
  explicit closure_error(muster::failure f)
      : std::runtime_error(std::string(name(f.kind)) + ": " + f.message), failure_(std::move(f)) {}

  muster::failure const& failure() const noexcept { return failure_; }
  /// Why it failed, as a program may decide by it.
  failure_kind kind() const noexcept { return failure_.kind; }
  /// Class of the error in its own language; may be empty.
  std::string const& type() const noexcept { return failure_.type; }
  std::string const& message() const noexcept { return failure_.message; }
  std::string const& traceback() const noexcept { return failure_.traceback; }
  /// "worker:3"; empty when no worker was involved.
  std::string const& worker() const noexcept { return failure_.worker; }
  /// Which attempt of the closure it was; 0: it never ran.
  std::uint32_t attempt() const noexcept { return failure_.attempt; }

 private:
  muster::failure failure_;
};

struct input_error : closure_error {
  using closure_error::closure_error;
};
struct cancelled_error : closure_error {
  using closure_error::closure_error;
};
struct aborted_error : closure_error {
  using closure_error::closure_error;
};
struct unavailable_error : closure_error {
  using closure_error::closure_error;
};

/// Throws the type that goes with the failure's kind.
[[noreturn]] void raise(failure f);

/// A wait reached its limit; what was waited for goes on.
class wait_timeout : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace muster
