// How finding or describing a cluster fails: one line that names the variable, URL or field at
// fault, and what to write instead where that is known.
#pragma once

#include <stdexcept>
#include <string>

namespace muster {

class cluster_error : public std::runtime_error {
 public:
  enum class code {
    invalid,      // what was given is malformed: a text, a field, a combination
    missing,      // a variable, a job, a task or an object is not there
    not_ready,    // it is there and will be usable later
    denied,       // credentials are missing or not enough
    unreachable,  // no answer, a broken one, or none in time
  };

  cluster_error(code c, std::string const& line) : std::runtime_error(line), code_(c) {}
  code kind() const noexcept { return code_; }
  /// Whether asking again later may help.
  bool may_pass() const noexcept { return code_ != code::invalid && code_ != code::denied; }

 private:
  code code_;
};

}  // namespace muster
