// Errors as values. The codes have gRPC's numbers, so conversion needs no table.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

enum class code : int {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  unauthenticated = 16,
};

std::string_view name(code c);

struct status {
  muster::code code = code::ok;
  std::string message;
  /// Name of the invalid request field, for example "closures[3].args", or empty.
  std::string field{};
  std::uint64_t limit = 0;  ///< the limit that was exceeded, or 0 if none was
  bool no_room = false;

  bool ok() const { return code == muster::code::ok; }
  bool operator==(status const&) const = default;
};

/// Returns an error whose message begins with the field name.
inline status wrong_field(std::string field, std::string_view what, std::uint64_t limit = 0,
                          code c = code::invalid_argument) {
  auto message = field + ": ";
  message += what;
  return {c, std::move(message), std::move(field), limit};
}

class status_error : public std::exception {
 public:
  explicit status_error(status s) : status_(std::move(s)) {}
  char const* what() const noexcept override { return status_.message.c_str(); }

 private:
  status status_;
};

// Called by value() if there is an error; found by argument-dependent lookup.
[[noreturn]] inline void throw_exception_from_error(status const& s,
                                                    boost::source_location const&) {
  throw status_error(s);
}

template <class T>
using result = boost::system::result<T, status>;

}  // namespace muster
