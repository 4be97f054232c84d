// Findings of `muster doctor`, and assessment of measured values. All functions are pure, so that
// tests need no faulty machine.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::cli {

struct request_end;

namespace doctor {

namespace json = boost::json;

enum class result { ok, warning, problem };
char const* name(result r);

struct finding {
  // The check: "ports", "clock", "files", "disk", "certificate", "token", "version", "health" or
  // "etcd".
  std::string check;
  result is = result::ok;
  std::string text;
  std::string fix{};  // how to fix the problem; can be empty
};
using findings = std::vector<finding>;

/// `date` is the Date header (whole seconds) of a response that was sent between the two times.
finding judge_clock(std::chrono::sys_seconds date, std::chrono::system_clock::time_point asked,
                    std::chrono::system_clock::time_point answered);
/// Parses "Sun, 06 Nov 1994 08:49:37 GMT". Returns the epoch if the text is invalid.
std::chrono::sys_seconds parse_date(std::string const& text);

/// `open` is 0 if unknown. `whose` is for example "this machine" or "the server".
finding judge_files(std::string const& whose, std::uint64_t limit, std::uint64_t open);

finding judge_disk(std::string const& path, std::uint64_t free_bytes, std::uint64_t all_bytes);

finding judge_certificate(std::string const& where, std::string const& subject,
                          std::chrono::sys_seconds begin, std::chrono::sys_seconds end,
                          std::chrono::sys_seconds now);

findings judge_versions(std::string const& here, std::string const& server,
                        json::array const& tasks);

/// `why` is the text for users; `url` is the URL that the user gave. Unknown failures become
/// findings of the check "health".
finding judge_refusal(std::string const& why, request_end const& end, bool with_token,
                      std::string const& url);

findings judge_etcd(std::string const& version);

findings judge_alerts(json::array const& items, std::string const& url);

}  // namespace doctor
}  // namespace muster::cli
