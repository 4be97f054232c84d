// The record of a client's calls: one JSON object per line, as the clients in Python do.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <muster/cluster_coordinator.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace robustness {

/// Longest wait for the outcome of a call, as CALL_TIMEOUT of the clients in Python.
constexpr std::chrono::milliseconds call_timeout = std::chrono::seconds(90);

/// Returns CLOCK_MONOTONIC in nanoseconds, which all processes of a machine share.
inline std::int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Returns how long to wait for a call that began at a time.
inline std::chrono::milliseconds time_left(std::int64_t begun) {
  using namespace std::chrono;
  auto const left = call_timeout - nanoseconds(now() - begun);
  return ceil<milliseconds>(std::max<nanoseconds>(left, 1s));
}

/// Appends records to a file. Each is written at once, so a killed client loses no record. Any
/// thread.
class recorder {
 public:
  explicit recorder(std::string const& path)
      : file_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {}

  bool is_open() const { return file_ >= 0; }
  void write(boost::json::object const& record) const {
    auto const line = boost::json::serialize(record) + '\n';
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      std::perror("the history cannot be written");
      std::exit(1);
    }
  }

 private:
  int file_;
};

/// Waits for the value of a call, and returns it. If it has none, adds outcome and error to
/// `record`.
template <class Value>
std::optional<std::int64_t> fetch(Value const& value, std::int64_t begun,
                                  boost::json::object& record) {
  auto fail = [&record](std::string_view outcome, std::exception const& e) {
    record["outcome"] = outcome;
    record["error"] = e.what();
  };
  try {
    return value.fetch(time_left(begun));
  } catch (muster::aborted_error const& e) {  // lost workers, which the nemesis kills on purpose
    fail("aborted", e);
  } catch (muster::unavailable_error const& e) {
    fail("unknown", e);
  } catch (muster::wait_timeout const& e) {
    fail("stuck", e);
  } catch (std::exception const& e) {
    fail("error", e);
  }
  return std::nullopt;
}

}  // namespace robustness
