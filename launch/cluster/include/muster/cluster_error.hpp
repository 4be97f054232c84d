// Error while finding or describing a cluster: one line that names the variable, URL or field, and
// the fix if known.
#pragma once

#include <stdexcept>
#include <string>

namespace muster {

class cluster_error : public std::runtime_error {
 public:
  enum class code {
    invalid,      // a text, a field or a combination of values is invalid
    missing,      // a variable, job, task or object does not exist
    not_ready,    // the object exists and will be usable later
    denied,       // credentials are missing or insufficient
    unreachable,  // no answer, an incomplete answer, or a timeout
  };

  /// Replaces control characters in `line`, which can come from an answer, by hexadecimal escapes.
  cluster_error(code c, std::string const& line);
  code kind() const noexcept { return code_; }
  /// Returns whether a retry can succeed.
  bool is_transient() const noexcept { return code_ != code::invalid && code_ != code::denied; }
  [[deprecated("use is_transient")]] bool may_pass() const noexcept { return is_transient(); }

 private:
  code code_;
};

}  // namespace muster
