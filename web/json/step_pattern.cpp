#include "web/json/step_pattern.hpp"

#include <re2/re2.h>

namespace muster::web {

json_kind<std::string> a_step_pattern() {
  constexpr std::size_t bytes_max = 256;
  auto read = [](json_check& check, json_ref const& at) {
    auto text = check.text(at, bytes_max);
    if (check.failed()) return text;
    re2::RE2 const pattern(text, re2::RE2::Quiet);
    if (!pattern.ok())
      check.fail(impossible(at.path(), "expected an RE2 regular expression: " + pattern.error()));
    else if (pattern.NumberOfCapturingGroups() < 1)
      check.fail(impossible(
          at.path(), "must contain a capturing group for the step number, such as step (\\d+)"));
    return text;
  };
  return {schema::text(0, bytes_max), read};
}

}  // namespace muster::web
