// REST access to a running server over http_client. Failures become a request_error that says what
// to do. One thread.
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
/// Returns the token, or else the first line of the token file. Empty: no credential.
/// @throws command_error (usage) if the file cannot be read.
std::string credential(std::string const& token, std::string const& token_file);
/// Adds --ca, --cert and --key.
void add_tls_flags(CLI::App& verb, std::string& ca, std::string& certificate, std::string& key);
/// Reads the files of these flags.
/// @throws command_error (usage) that names an unusable file.
void check_tls_files(https_options const& files);
/// Adds --token and --token-file.
void add_token_options(CLI::App& verb, std::string& token, std::string& token_file);
/// Adds --url, --token, --token-file, --ca, --cert and --key.
void add_rest_options(CLI::App& verb, rest_options& options);

enum class output_format { table, json };
/// Adds --output table|json.
void add_output_option(CLI::App& verb, output_format& format);

/// Options of most commands that query a server.
struct server_options {
  rest_options rest;
  output_format output = output_format::table;
};
/// Adds --output, and the flags of add_rest_options.
void add_server_options(CLI::App& verb, server_options& options);

/// Prints an answer unchanged if JSON is wanted; otherwise returns false.
template <class Json>
bool printed_as_json(output_format format, Json const& answer) {
  if (format != output_format::json) return false;
  std::cout << json::serialize(answer) << '\n';
  return true;
}

/// The result of a failed request, for code; the error's text is for people.
struct request_end {
  /// Failures of all servers that were tried, if there was no answer.
  std::vector<muster::http_failure> failures{};
  unsigned status = 0;  // of HTTP; 0: no answer
  /// From the answer's problem document. Empty: not the problem of a Muster server, or about no
  /// field.
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
  /// `url` may be a comma-separated list of servers. Requests are sent to the active one.
  explicit rest(rest_options options);
  /// Returns the URL of the server that answered last.
  std::string const& url() const { return options_.url; }
  bool sends_token() const { return !options_.token.empty(); }
  /// Returns an address that the server reported, in a form that can be reached from here. A
  /// wildcard address gets the host of the server's URL.
  std::string reachable(std::string const& address) const;

  /// Sends a request unless the server has answered before. A server that has answered once is
  /// waited for if it is away later.
  void meet();

  /// Returns the JSON of the answer.
  /// @throws request_error with the text of the problem if the status is not 2xx.
  json::value get(std::string const& path_and_query, duration timeout = std::chrono::seconds(30));
  /// Returns all pages of a listing, joined: the entries of `key`.
  json::array all(std::string const& path_and_query, std::string_view key);
  /// As all(), but returns at most `limit` entries. `more` tells whether there are further ones.
  json::array some(std::string const& path_and_query, std::string_view key, std::size_t limit,
                   bool* more = nullptr);
  json::value post(std::string const& path, std::string body,
                   std::string content_type = "application/json");
  /// As post(), for a request that can be repeated safely. It is sent again if the server went away
  /// before it answered, and returns.
  json::value post_once(std::string const& path, std::string body);
  void remove(std::string const& path);
  /// Sends bytes. `if_none_match` is a header unless empty. Without it the request can be repeated
  /// safely, and is sent again if the server went away before it answered. Throws as send().
  muster::http_response put(std::string const& path, std::string body,
                            std::string const& if_none_match,
                            duration timeout = std::chrono::seconds(60));
  /// Sends a request and returns the response with any status. Throws only if there is no answer.
  muster::http_response send(std::string const& method, std::string const& path_and_query,
                             std::string body = {}, std::string content_type = "application/json",
                             duration timeout = std::chrono::seconds(60));
  /// Calls `line` for each line of an NDJSON answer until it returns false. Returns false if the
  /// server was silent for longer than `patience` (0: no limit).
  bool stream(std::string const& path_and_query, muster::http_client::line_handler const& line,
              duration patience = {});

  /// Returns the error of an answer that is not 2xx, with the matching exit status.
  static request_error problem(muster::http_response const& response);

 private:
  muster::http_request request(std::string const& method, std::string const& path_and_query);
  request_error no_answer(muster::http_error const& why) const;
  /// Selects the active one of several servers, and waits for one. A single server is only waited
  /// for if it has answered before.
  void choose();
  /// `repeatable`: the request is sent again even if it may have been executed.
  muster::http_result<muster::http_response> exchange(muster::http_request r,
                                                      std::string const& path, bool repeatable);

  rest_options options_;           // url: that of the server in use
  std::vector<std::string> urls_;  // all servers
  bool chosen_ = false;
  bool answered_ = false;  // a server has answered, so it may return when it is away
  muster::http_client client_;
};

/// Returns a closure's failure as "USER ValueError: no such column".
std::string in_short(json::value const& failure);
/// Returns in_short() with " (worker:2, attempt 1)", then the traceback if there is one.
std::string in_full(json::value const& failure);

// Access to fields of an answer. A field that is missing or has another type reads as empty or 0,
// so that commands also work with newer servers.
std::string text_of(json::value const& object, std::string_view key);
std::int64_t number_of(json::value const& object, std::string_view key);
std::uint64_t count_of(json::value const& object, std::string_view key);
double real_of(json::value const& object, std::string_view key);
bool is_true(json::value const& object, std::string_view key);
json::value const& field_of(json::value const& object, std::string_view key);
/// Returns the strings of a list in `object`, joined.
std::string texts_of(json::value const& object, std::string_view key, char const* between = ", ");
/// Returns the list in an answer that is an object, or the answer if it is a list itself.
json::array const& list_of(json::value const& answer, std::string_view key);

}  // namespace muster::cli
