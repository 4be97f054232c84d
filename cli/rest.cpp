#include "cli/rest.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <thread>
#include <utility>

#include "base/bounded_file.hpp"
#include "base/host_port.hpp"
#include "base/http_client/url.hpp"
#include "base/plain_text.hpp"
#include "base/utf8.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cli {
namespace {

std::chrono::milliseconds to_milliseconds(duration d) {
  return std::chrono::ceil<std::chrono::milliseconds>(d);
}

// Throws command_error if a JSON body is not valid UTF-8, because command-line arguments can
// contain any bytes. The error shows the text around the first invalid byte.
void check_text(muster::http_request const& r) {
  constexpr std::size_t context = 16;
  if (!r.content_type.starts_with("application/json") || is_utf8(r.body)) return;
  auto const shown = to_utf8(r.body);
  auto const mark = shown.find("\ufffd");
  auto const from = utf8_boundary(shown, mark > context ? mark - context : 0);
  auto const to = std::min(shown.size(), mark + context);
  auto const end = to < shown.size() ? utf8_boundary(shown, to) : to;
  throw command_error(exit_usage, "the request contains bytes that are not valid UTF-8, near '" +
                                      shown.substr(from, end - from) +
                                      "'; the server accepts only UTF-8");
}

}  // namespace

void add_rest_options(CLI::App& verb, rest_options& options) {
  add_value(verb, "--url", options.url, "URL",
            "HTTP address of the server; with a comma-separated list, the active server is used")
      ->capture_default_str();
  add_token_options(verb, options.token, options.token_file);
  add_tls_flags(verb, options.tls.ca_file, options.tls.certificate_file, options.tls.key_file);
}

void add_tls_flags(CLI::App& verb, std::string& ca, std::string& certificate, std::string& key) {
  add_value(verb, "--ca", ca, "FILE",
            "PEM file with the CA certificates that verify the server (default: the system's)");
  add_value(verb, "--cert", certificate, "FILE",
            "PEM file with the client certificate, for servers that require one; needs --key");
  add_value(verb, "--key", key, "FILE", "PEM file with the private key of --cert");
}

void check_tls_files(https_options const& files) {
  if (files.ca_file.empty() && files.certificate_file.empty() && files.key_file.empty()) return;
  if (auto const made = make_client_context(files); !made)
    throw command_error(exit_usage, made.error().message +
                                        "; correct --ca, --cert and --key, or the variables "
                                        "MUSTER_CA, MUSTER_CERT and MUSTER_KEY");
}

void add_token_options(CLI::App& verb, std::string& token, std::string& token_file) {
  add_value(verb, "--token", token, "TOKEN",
            "Token for the server. Other users of this machine can see it in the process list; "
            "MUSTER_TOKEN and --token-file are safer");
  add_value(verb, "--token-file", token_file, "FILE", "File whose first line is the token");
}

std::string credential(std::string const& token, std::string const& token_file) {
  if (!token.empty() || token_file.empty()) return token;
  auto const line = first_line_of(token_file);
  if (!line)
    throw command_error(exit_usage, "--token-file " + token_file + ": " + line.error().message);
  return *line;
}

void add_output_option(CLI::App& verb, output_format& format) {
  add_choice(verb, "--output", format,
             {{"table", output_format::table}, {"json", output_format::json}},
             "Output format: table or json");
}

void add_server_options(CLI::App& verb, server_options& options) {
  add_output_option(verb, options.output);
  add_rest_options(verb, options.rest);
}

rest::rest(rest_options options)
    : options_(std::move(options)),
      client_({.ca_file = options_.tls.ca_file,
               .certificate_file = options_.tls.certificate_file,
               .key_file = options_.tls.key_file}) {
  check_tls_files(options_.tls);
  options_.token = credential(options_.token, options_.token_file);
  for (auto one : cluster::split(options_.url, ',')) {
    while (one.ends_with('/')) one.remove_suffix(1);
    if (one.empty()) continue;
    if (auto const target = parse_http_url(one); !target)
      throw command_error(exit_usage, "--url: " + target.error().message);
    urls_.emplace_back(one);
  }
  if (urls_.empty()) throw command_error(exit_usage, "--url: expected http://HOST:PORT");
  options_.url = urls_.front();
}

std::string rest::reachable(std::string const& address) const {
  auto at = host_port::parse(address);
  if (at.host != "0.0.0.0" && at.host != "::" && !at.host.empty()) return address;
  auto const begin = url().find("://") == url().npos ? 0 : url().find("://") + 3;
  at.host = host_port::parse(url().substr(begin, url().find('/', begin) - begin)).host;
  return at.text();
}

// If no server is ready, retries for `patience`, because another server may be about to take over.
void rest::choose() {
  if (chosen_ || (urls_.size() == 1 && !answered_)) return;
  constexpr auto patience = std::chrono::seconds(15);
  constexpr auto pause = std::chrono::milliseconds(200);
  auto const until = std::chrono::steady_clock::now() + patience;
  std::string why;
  request_end end;
  bool said = false;
  for (;; std::this_thread::sleep_for(pause)) {
    why.clear();
    end.failures.clear();
    for (auto const& url : urls_) {
      muster::http_request r;
      r.url = url + "/readyz";
      r.timeout = std::chrono::seconds(2);
      auto const answer = client_.send(r);
      if (!answer && answer.error().code == muster::code::invalid_argument)
        throw command_error(exit_usage, "--url: " + answer.error().message);
      if (answer && answer->status == 200) {
        options_.url = url;
        chosen_ = true;
        return;
      }
      if (!answer) end.failures.push_back(answer.error().failure);
      why += (why.empty() ? "" : "; ") +
             (answer ? url + ": HTTP status " + std::to_string(answer->status)
                     : answer.error().message);
    }
    if (!std::exchange(said, true) && answered_)
      std::cerr << "muster: " << options_.url << " does not answer; waiting for it\n";
    if (std::chrono::steady_clock::now() >= until)
      throw request_error(exit_unreachable, "no server is ready: " + why, end);
  }
}

// Sends `r`, and sends it again to the active server if the selected server is no longer ready. If
// the connection was lost, the server may already have executed the request, so `r` is sent again
// only if `repeatable` is set.
muster::http_result<muster::http_response> rest::exchange(muster::http_request r,
                                                          std::string const& path,
                                                          bool repeatable) {
  constexpr int restarts_max = 10;
  check_text(r);
  for (int restarts = 0;; ++restarts) {
    auto answer = client_.send(r);
    bool const broke = !answer && answer.error().code == muster::code::unavailable;
    bool const away = broke || (answer && answer->status == 503);
    if (!away) {
      chosen_ = answered_ = true;
      return answer;
    }
    if (urls_.size() == 1 && !answered_) return answer;
    chosen_ = false;
    // A connection can be lost again while the server starts. A refused request is sent only twice.
    if (broke ? !repeatable || restarts == restarts_max : restarts > 0) return answer;
    auto const before = options_.url;
    choose();
    if (options_.url == before && !broke && urls_.size() > 1) return answer;
    r.url = options_.url + path;
  }
}

muster::http_request rest::request(std::string const& method, std::string const& path_and_query) {
  choose();
  muster::http_request r;
  r.method = method;
  r.url = options_.url + path_and_query;
  r.token = options_.token;
  return r;
}

request_error rest::no_answer(muster::http_error const& why) const {
  request_end const end{.failures = {why.failure}};
  if (why.code == muster::code::invalid_argument) return {exit_usage, "--url: " + why.message, end};
  if (why.code == muster::code::unavailable)
    return {exit_unreachable,
            "no server answers at " + options_.url + " (" + why.message +
                "): start one with 'muster serve', or give --url",
            end};
  return {exit_failed, why.message, end};
}

muster::http_response rest::send(std::string const& method, std::string const& path_and_query,
                                 std::string body, std::string content_type, duration timeout) {
  auto r = request(method, path_and_query);
  r.body = std::move(body);
  r.content_type = std::move(content_type);
  r.timeout = to_milliseconds(timeout);
  auto response = exchange(std::move(r), path_and_query, method == "GET");
  if (!response) throw no_answer(response.error());
  return std::move(*response);
}

json::value rest::get(std::string const& path_and_query, duration timeout) {
  auto const response = send("GET", path_and_query, {}, {}, timeout);
  if (!response.ok()) throw problem(response);
  return json::parse(response.body);
}

json::array rest::all(std::string const& path_and_query, std::string_view key) {
  return some(path_and_query, key, std::numeric_limits<std::size_t>::max());
}

json::array rest::some(std::string const& path_and_query, std::string_view key, std::size_t limit,
                       bool* more) {
  constexpr std::size_t page_max = 1000;
  auto const question = path_and_query.find('?');
  bool const follows = question == std::string::npos || question + 1 == path_and_query.size();
  auto const path = path_and_query + (question == std::string::npos ? "?" : follows ? "" : "&");
  json::array entries;
  std::string page;
  do {
    auto const wanted = std::min(page_max, limit - entries.size());
    auto const answer = get(path + "limit=" + std::to_string(wanted) +
                            (page.empty() ? page : "&page_token=" + percent_encoded(page)));
    for (auto const& entry : list_of(answer, key)) entries.push_back(entry);
    page = text_of(answer, "next_page_token");
  } while (!page.empty() && entries.size() < limit);
  if (more) *more = !page.empty();
  return entries;
}

json::value rest::post(std::string const& path, std::string body, std::string content_type) {
  auto const response = send("POST", path, std::move(body), std::move(content_type));
  if (!response.ok()) throw problem(response);
  return response.body.empty() ? json::value() : json::parse(response.body);
}

void rest::meet() {
  if (!answered_) send("GET", "/livez");
}

json::value rest::post_once(std::string const& path, std::string body) {
  meet();
  auto r = request("POST", path);
  r.body = std::move(body);
  r.content_type = "application/json";
  auto const response = exchange(std::move(r), path, true);
  if (!response) throw no_answer(response.error());
  if (!response->ok()) throw problem(*response);
  return json::parse(response->body);
}

void rest::remove(std::string const& path) {
  auto const response = send("DELETE", path);
  if (!response.ok()) throw problem(response);
}

muster::http_response rest::put(std::string const& path, std::string body,
                                std::string const& if_none_match, duration timeout) {
  auto r = request("PUT", path);
  r.timeout = to_milliseconds(timeout);
  r.body = std::move(body);
  r.content_type = "application/octet-stream";
  if (!if_none_match.empty()) r.headers.emplace_back("If-None-Match", if_none_match);
  auto response = exchange(std::move(r), path, if_none_match.empty());
  if (!response) throw no_answer(response.error());
  return std::move(*response);
}

bool rest::stream(std::string const& path_and_query, muster::http_client::line_handler const& line,
                  duration patience) {
  auto r = request("GET", path_and_query);
  r.timeout = to_milliseconds(patience);
  auto const response = client_.stream(r, line);
  if (!response && response.error().code == muster::code::deadline_exceeded) return false;
  chosen_ = chosen_ && response;
  if (!response) throw no_answer(response.error());
  if (!response->ok()) throw problem(*response);
  return true;
}

request_error rest::problem(muster::http_response const& response) {
  boost::system::error_code ec;
  auto const body = json::parse(response.body, ec);
  request_end const end{
      .status = response.status, .code = text_of(body, "code"), .field = text_of(body, "field")};
  if (auto const& failure = field_of(body, "failure"); !failure.is_null())
    return {exit_failed, in_full(failure), end};
  auto text = text_of(body, "detail");
  if (text.empty()) text = text_of(body, "title");
  if (text.empty())
    text = "the server answered with HTTP status " + std::to_string(response.status);
  return {exit_failed, text, end};
}

std::string in_short(json::value const& failure) {
  auto const type = text_of(failure, "type");
  return text_of(failure, "kind") + " " + (type.empty() ? "" : type + ": ") +
         text_of(failure, "message");
}

std::string in_full(json::value const& failure) {
  auto text = in_short(failure);
  auto const worker = text_of(failure, "worker");
  auto const attempt = number_of(failure, "attempt");
  if (!worker.empty())
    text += " (" + worker + (attempt > 0 ? ", attempt " + std::to_string(attempt) : "") + ")";
  auto const traceback = text_of(failure, "traceback");
  return traceback.empty() ? text : text + "\n" + traceback;
}

json::value const& field_of(json::value const& object, std::string_view key) {
  static json::value const none;
  auto const* o = object.if_object();
  auto const* v = o ? o->if_contains(key) : nullptr;
  return v ? *v : none;
}

std::string text_of(json::value const& object, std::string_view key) {
  auto const& v = field_of(object, key);
  if (auto const* s = v.if_string()) return std::string(*s);
  if (auto const* d = v.if_double()) return plain_decimal(*d);
  return v.is_null() ? std::string() : json::serialize(v);
}

std::int64_t number_of(json::value const& object, std::string_view key) {
  auto const& v = field_of(object, key);
  boost::system::error_code ec;
  if (v.is_double()) return static_cast<std::int64_t>(v.get_double());
  auto const n = v.to_number<std::int64_t>(ec);
  return ec ? 0 : n;
}

std::uint64_t count_of(json::value const& object, std::string_view key) {
  return static_cast<std::uint64_t>(number_of(object, key));
}

double real_of(json::value const& object, std::string_view key) {
  auto const& v = field_of(object, key);
  return v.is_double() ? v.get_double() : static_cast<double>(number_of(object, key));
}

bool is_true(json::value const& object, std::string_view key) {
  return field_of(object, key) == json::value(true);
}

std::string texts_of(json::value const& object, std::string_view key, char const* between) {
  std::string text;
  for (auto const& one : list_of(field_of(object, key), ""))
    if (auto const* s = one.if_string()) text += (text.empty() ? "" : between) + std::string(*s);
  return text;
}

json::array const& list_of(json::value const& answer, std::string_view key) {
  static json::array const none;
  if (auto const* a = answer.if_array()) return *a;
  auto const* a = field_of(answer, key).if_array();
  return a ? *a : none;
}

}  // namespace muster::cli
