// REST access to a running server over http_client. Failures become a request_error that suggests a
// fix. Not thread-safe.
#pragma once

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/http_client/http_client.hpp"
#include "base/http_client/tls_client.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/durations.hpp"

namespace muster::cli {

namespace json = boost::json;

struct rest_options {
  std::string url = "http://127.0.0.1:8477";
  std::string token, token_file;
  https_options tls;
};
/// Returns the token, or else the first line of the token file, or an empty string.
/// @throws command_error (usage) if the file cannot be read
std::string credential(std::string const& token, std::string const& token_file);
void add_tls_flags(CLI::App& verb, std::string& ca, std::string& certificate, std::string& key);
/// @throws command_error (usage) whose message names an unusable file
void check_tls_files(https_options const& files);
void add_token_options(CLI::App& verb, std::string& token, std::string& token_file);
void add_rest_options(CLI::App& verb, rest_options& options);

enum class output_format { table, json };
void add_output_option(CLI::App& verb, output_format& format);

struct server_options {
  rest_options rest;
  output_format output = output_format::table;
};
void add_server_options(CLI::App& verb, server_options& options);

/// Prints an answer unchanged if JSON is requested; otherwise returns false.
template <class Json>
bool printed_as_json(output_format format, Json const& answer) {
  if (format != output_format::json) return false;
  std::cout << json::serialize(answer) << '\n';
  return true;
}

/// The machine-readable result of a failed request.
struct request_end {
  /// The failures of all servers that were tried, if no server answered.
  std::vector<muster::http_failure> failures{};
  unsigned status = 0;  // HTTP status; 0 without an answer
  /// Members of the problem document; can be empty.
  std::string code{}, field{};
};

class request_error : public command_error {
 public:
  request_error(exit_status status, std::string const& line, request_end end)
      : command_error(status, line), end_(std::move(end)) {}
  request_end const& end() const { return end_; }

 private:
  request_end end_;
};

class rest {
 public:
  /// @param options `url` can be a comma-separated list. Requests are sent to the active server.
  explicit rest(rest_options options);
  std::string const& url() const { return options_.url; }
  bool sends_token() const { return !options_.token.empty(); }
  /// Returns an address reported by the server. A wildcard host is replaced by the host of the
  /// server's URL.
  std::string reachable(std::string const& address) const;

  /// Sends a request unless the server has answered before. Afterwards, this object waits for the
  /// server whenever it is unavailable.
  void meet();

  /// @throws request_error with the problem's text if the status is not 2xx
  json::value get(std::string const& path_and_query, duration timeout = std::chrono::seconds(30));
  json::array all(std::string const& path_and_query, std::string_view key);
  /// Like all(), but returns at most `limit` entries. `more` is set if there are further entries.
  json::array some(std::string const& path_and_query, std::string_view key, std::size_t limit,
                   bool* more = nullptr);
  json::value post(std::string const& path, std::string body,
                   std::string content_type = "application/json");
  /// Like post(), but repeats the request if the server failed before it answered.
  json::value post_once(std::string const& path, std::string body);
  void remove(std::string const& path);
  /// Sends the header If-None-Match unless `if_none_match` is empty. Without the header, the
  /// request can be repeated, like post_once(). Throws the same errors as send().
  muster::http_response put(std::string const& path, std::string body,
                            std::string const& if_none_match,
                            duration timeout = std::chrono::seconds(60));
  /// Returns the response with any status. Throws only if there is no answer.
  muster::http_response send(std::string const& method, std::string const& path_and_query,
                             std::string body = {}, std::string content_type = "application/json",
                             duration timeout = std::chrono::seconds(60));
  /// Calls `line` for each line of an NDJSON answer until it returns false. Returns false if the
  /// server was silent for `patience` (0 means no limit).
  bool stream(std::string const& path_and_query, muster::http_client::line_handler const& line,
              duration patience = {});

  static request_error problem(muster::http_response const& response);

 private:
  muster::http_request request(std::string const& method, std::string const& path_and_query);
  request_error no_answer(muster::http_error const& why) const;
  /// Selects the active server and waits for it. Waits for a single server only if that server has
  /// answered before.
  void choose();
  /// Sends the request, several times if necessary. `repeatable` allows this even if the request
  /// may have been executed.
  muster::http_result<muster::http_response> exchange(muster::http_request r,
                                                      std::string const& path, bool repeatable);

  rest_options options_;
  std::vector<std::string> urls_;
  bool chosen_ = false;
  bool answered_ = false;  // whether to wait for the server when it is unavailable
  muster::http_client client_;
};

std::string in_short(json::value const& failure);
/// Returns in_short(), " (worker:2, attempt 1)", and the traceback.
std::string in_full(json::value const& failure);

// Functions that read a field. A field that is missing or has another type is read as empty or 0,
// so that commands work with newer servers.
std::string text_of(json::value const& object, std::string_view key);
std::int64_t number_of(json::value const& object, std::string_view key);
std::uint64_t count_of(json::value const& object, std::string_view key);
double real_of(json::value const& object, std::string_view key);
bool is_true(json::value const& object, std::string_view key);
json::value const& field_of(json::value const& object, std::string_view key);
std::string texts_of(json::value const& object, std::string_view key, char const* between = ", ");
/// Returns the list in an answer, or the answer itself if it is a list.
json::array const& list_of(json::value const& answer, std::string_view key);

}  // namespace muster::cli
