// Reads steps off what a rank prints, for programs that do not call muster.step, and says them in
// its place into the file that its worker reads (base/process/steps/step_layout.hpp). The file is
// the rank's user's and may be cut or written to at any time, so it is not mapped.
//
// Owned by the rank's set; its thread.
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
  /// Of a line; what is behind is not looked at.
  static constexpr std::size_t line_bytes_max = std::size_t{4} << 10;

  /// `pattern`: RE2, its first group is the number. `file`: made by the worker. One that is none,
  /// or a pattern that says nothing, has no steps read.
  step_lines(std::string const& pattern, std::string const& file);
  ~step_lines();

  /// The same step as before is not said again.
  void take(std::string_view line);

 private:
  void say(std::uint64_t step);

  std::unique_ptr<re2::RE2> pattern_;
  file_descriptor file_;
  std::uint64_t count_ = 0;
  std::optional<std::uint64_t> last_{};
};

}  // namespace muster::launch
