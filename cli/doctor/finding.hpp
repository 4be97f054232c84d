// What `muster doctor` found, and the judgement of numbers: pure, so that tests need no broken
// machine.
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
  // "ports", "clock", "files", "disk", "certificate", "token", "version", "health", "etcd"
  std::string check;
  result is = result::ok;
  std::string text;
  std::string fix{};  // what to do, exactly; empty: nothing
};
using findings = std::vector<finding>;

/// The server's clock against this machine's. `date`: the header of an answer that left between the
/// two times, whole seconds.
finding judge_clock(std::chrono::sys_seconds date, std::chrono::system_clock::time_point asked,
                    std::chrono::system_clock::time_point answered);
/// Of a Date header, "Sun, 06 Nov 1994 08:49:37 GMT"; the epoch when it is none.
std::chrono::sys_seconds parse_date(std::string const& text);

/// Open files of a process; `open` 0: nobody counted. `whose`: "this machine", "the server".
finding judge_files(std::string const& whose, std::uint64_t limit, std::uint64_t open);

finding judge_disk(std::string const& path, std::uint64_t free_bytes, std::uint64_t all_bytes);

/// A certificate that is good from `begin` to `end`. `where`: its file or URL.
finding judge_certificate(std::string const& where, std::string const& subject,
                          std::chrono::sys_seconds begin, std::chrono::sys_seconds end,
                          std::chrono::sys_seconds now);

/// This program's version, the server's, and those of its workers (rows of tasks).
findings judge_versions(std::string const& here, std::string const& server,
                        json::array const& tasks);

/// A server that was dialled and is not asked any further, by what the request ended with. `why`:
/// the same for people. `url`: as it was given. Nothing it knows: "health".
finding judge_refusal(std::string const& why, request_end const& end, bool with_token,
                      std::string const& url);

/// Judges the version of etcd that keeps the server's data; nothing: it is not known.
findings judge_etcd(std::string const& version);

/// The server's attention items: each a warning or a problem.
findings judge_alerts(json::array const& items, std::string const& url);

}  // namespace doctor
}  // namespace muster::cli
