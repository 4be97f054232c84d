// Parses steps from the output of a rank whose program does not call muster.step, and writes them
// to the file that the worker reads (base/process/steps/step_layout.hpp). The file belongs to the
// rank's user, who can truncate it at any time, so it is not mapped.
//
// rank_set owns it and uses it on its thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/process/file_descriptor.hpp"

namespace re2 {
class RE2;
}

namespace muster::launch {

class step_lines {
 public:
  /// The rest of a longer line is not searched.
  static constexpr std::size_t line_bytes_max = std::size_t{4} << 10;

  /// `pattern` is an RE2 expression whose first group is the step number. The worker has created
  /// `file`. If `pattern` or `file` is invalid, no steps are read.
  step_lines(std::string const& pattern, std::string const& file);
  ~step_lines();

  /// Ignores a step that equals the previous step.
  void take(std::string_view line);

 private:
  void say(std::uint64_t step);

  std::unique_ptr<re2::RE2> pattern_;
  file_descriptor file_;
  std::uint64_t count_ = 0;
  std::optional<std::uint64_t> last_{};
};

}  // namespace muster::launch
