// The verbs' way to a running server: REST over http_client, with every failure turned into a
// request_error that says what to do. One thread.
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
/// The credential that is sent: the token, or the first line of the file that keeps it. Empty:
/// none. command_error (usage): the file cannot be read.
std::string credential(std::string const& token, std::string const& token_file);
/// Adds --ca, --cert and --key: whom a verb trusts when it asks a server over TLS, what it shows.
void add_tls_flags(CLI::App& verb, std::string& ca, std::string& certificate, std::string& key);
/// Reads the files of these flags. command_error (usage): one cannot be used; it is named.
void check_tls_files(https_options const& files);
/// Adds --token and --token-file.
void add_token_options(CLI::App& verb, std::string& token, std::string& token_file);
/// Adds --url, --token, --token-file, --ca, --cert and --key.
void add_rest_options(CLI::App& verb, rest_options& options);

enum class output_format { table, json };
/// Adds --output table|json.
void add_output_option(CLI::App& verb, output_format& format);

/// What nearly every verb takes that asks a server.
struct server_options {
  rest_options rest;
  output_format output = output_format::table;
};
/// Adds --output, and what add_rest_options adds.
void add_server_options(CLI::App& verb, server_options& options);

/// Prints an answer as it is when JSON is wanted. False: it is not.
template <class Json>
bool printed_as_json(output_format format, Json const& answer) {
  if (format != output_format::json) return false;
  std::cout << json::serialize(answer) << '\n';
  return true;
}

/// What a request ended with, for code that has to tell; the sentence beside it is for people.
struct request_end {
  /// Without an answer: why, of each server that was asked.
  std::vector<muster::http_failure> failures{};
  unsigned status = 0;  // of HTTP; 0: there was no answer
  /// Of the answer's problem; empty: it is not one of a Muster server, or names no field.
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
  /// `url` may be several with commas between: what is asked goes to whichever serves.
  explicit rest(rest_options options);
  /// Of the server that answered last.
  std::string const& url() const { return options_.url; }
  bool sends_token() const { return !options_.token.empty(); }
  /// An address that it told: one that listens everywhere is reached where its HTTP is.
  std::string reachable(std::string const& address) const;

  /// Asks the server for a word, unless it has answered before: from here on it is away when it
  /// does not answer, not absent, and is waited for.
  void meet();

  /// The answer's JSON; anything but a 2xx is a request_error with the problem's own words.
  json::value get(std::string const& path_and_query, duration timeout = std::chrono::seconds(30));
  /// All pages of a listing, joined: the entries of `key`. The path has a query.
  json::array all(std::string const& path_and_query, std::string_view key);
  /// The same, but no more than `limit` entries. `more`: whether there are others behind them.
  json::array some(std::string const& path_and_query, std::string_view key, std::size_t limit,
                   bool* more = nullptr);
  json::value post(std::string const& path, std::string body,
                   std::string content_type = "application/json");
  /// The same for what changes nothing when it comes twice: sent again to a server that went away
  /// before it answered, if it comes back.
  json::value post_once(std::string const& path, std::string body);
  void remove(std::string const& path);
  /// Sends any bytes; `if_none_match` is a header unless empty. Without it the request changes
  /// nothing when it comes twice, and is sent again to a server that went away before it answered.
  /// As send.
  muster::http_response put(std::string const& path, std::string body,
                            std::string const& if_none_match,
                            duration timeout = std::chrono::seconds(60));
  /// The raw exchange, for callers that judge the status themselves. Throws only when there was
  /// no answer.
  muster::http_response send(std::string const& method, std::string const& path_and_query,
                             std::string body = {}, std::string content_type = "application/json",
                             duration timeout = std::chrono::seconds(60));
  /// Each line of an NDJSON answer; false from `line` ends it early. False: the server was silent
  /// for longer than `patience` (0: there is no such limit).
  bool stream(std::string const& path_and_query, muster::http_client::line_handler const& line,
              duration patience = {});

  /// What an answer that is not 2xx says, with the exit status that fits it.
  static request_error problem(muster::http_response const& response);

 private:
  muster::http_request request(std::string const& method, std::string const& path_and_query);
  request_error no_answer(muster::http_error const& why) const;
  /// Of several servers the one that says that it serves; waits for one, and for the only one when
  /// it has answered before.
  void choose();
  /// `repeatable`: to be sent again also when it may have been carried out.
  muster::http_result<muster::http_response> exchange(muster::http_request r,
                                                      std::string const& path, bool repeatable);

  rest_options options_;           // url: that of the server in use
  std::vector<std::string> urls_;  // of all
  bool chosen_ = false;
  bool answered_ = false;  // one has, so when it is away it may come back
  muster::http_client client_;
};

/// A closure's failure: "USER ValueError: no such column".
std::string in_short(json::value const& failure);
/// The same with " (worker:2, attempt 1)", then the traceback if there is one.
std::string in_full(json::value const& failure);

// Fields of an answer, forgiving: a field that is missing or of another type reads as empty or 0,
// so that the verbs also work with a newer server.
std::string text_of(json::value const& object, std::string_view key);
std::int64_t number_of(json::value const& object, std::string_view key);
std::uint64_t count_of(json::value const& object, std::string_view key);
double real_of(json::value const& object, std::string_view key);
bool is_true(json::value const& object, std::string_view key);
json::value const& field_of(json::value const& object, std::string_view key);
/// The strings of a list in it.
std::string texts_of(json::value const& object, std::string_view key, char const* between = ", ");
/// A whole answer that is an object with a list in it, or the list itself.
json::array const& list_of(json::value const& answer, std::string_view key);

}  // namespace muster::cli
