// Fuzzes the bytes of an HTTP connection: requests with their bodies, one after the other. The
// connection itself (web/server/http_connection.cpp) needs a socket. This program therefore calls
// the same functions in the same order: Beast's parser with the server's limits, check_framing, the
// parts of a head, parse_query, check_host, check_origin and `dispatch` with all routes. A request
// that needs the engine ends there, because no engine runs.
//
// Checked properties:
// - Every request is answered, without waiting, by a response that can be parsed, with a known
//   status other than 500. A problem document is JSON.
// - Query parameters that are written and parsed again are the same.
// - A credential or sign-in is part of its header.
// - A body with a Content-Length has this length.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/system/system_error.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/base_path.hpp"
#include "base/text.hpp"
#include "server/hub/access/token_text.hpp"
#include "tests/fuzz/closed_engine.hpp"
#include "tests/fuzz/require.hpp"
#include "web/http/query.hpp"
#include "web/http/response_text.hpp"
#include "web/json/json_in.hpp"
#include "web/rest/idempotency_key.hpp"
#include "web/rest/sign_ins.hpp"
#include "web/server/dispatch.hpp"
#include "web/server/framing.hpp"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace coro = muster::coro;
namespace web = muster::web;
using boost::system::error_code;
using fuzz::require;
using request_parser = http::request_parser<http::buffer_body>;

constexpr std::size_t piece_bytes = 64 * 1024;
constexpr int requests_max = 32;

// The bytes of a client. Each read returns at most `most` bytes.
class memory_stream {
 public:
  memory_stream(std::string_view bytes, std::size_t most) : rest_(bytes), most_(most) {}

  template <class Buffers>
  std::size_t read_some(Buffers const& buffers) {
    error_code ec;
    auto const n = read_some(buffers, ec);
    if (ec) throw boost::system::system_error(ec);
    return n;
  }
  template <class Buffers>
  std::size_t read_some(Buffers const& buffers, error_code& ec) {
    ec = {};
    if (rest_.empty()) ec = asio::error::eof;
    auto const n =
        asio::buffer_copy(buffers, asio::buffer(rest_.data(), std::min(rest_.size(), most_)));
    rest_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view rest_;
  std::size_t const most_;
};

void check_head(web::response const& r) {
  require(r.status != 500, "no request causes an internal error");
  require(web::reason_phrase(r.status) != "Unknown", "the status of a response is known");
  auto const text = web::head_text(r, r.content().size(), true);
  http::response_parser<http::empty_body> reader;
  reader.skip(true);
  reader.header_limit(64 * 1024);
  error_code ec;
  reader.put(asio::buffer(text), ec);
  require(!ec && reader.is_header_done(), "the head of a response can be parsed");
  require(reader.get().result_int() == r.status, "the head of a response contains its status");
  for (auto const& [name, value] : r.headers)
    require(name.find_first_of(":\r\n") == std::string::npos &&
                value.find_first_of("\r\n") == std::string::npos,
            "a header is one line");
}

void check_response(web::response const& r) {
  check_head(r);
  if (r.content_type == "application/problem+json")
    require(!web::check_json(r.content()), "a problem document is JSON");
  else if (r.content_type == "application/json")
    require(web::is_json(r.content()), "a JSON response is JSON");
}

// The connection of one request.
class memory_exchange final : public web::exchange, private web::peer_watch {
 public:
  memory_exchange(memory_stream& stream, beast::flat_buffer& buffer, request_parser& parser)
      : stream_(stream), buffer_(buffer), parser_(parser) {}

  muster::result<std::string> read_piece() {
    if (parser_.is_done()) return std::string();
    std::string piece(piece_bytes, '\0');
    auto& body = parser_.get().body();
    body.data = piece.data();
    body.size = piece.size();
    error_code ec;
    http::read(stream_, buffer_, parser_, ec);
    if (ec && ec != http::error::need_buffer)
      return muster::status{muster::code::invalid_argument,
                            "the request's body is incomplete: " + ec.message()};
    piece.resize(piece.size() - body.size);
    body_bytes_ += piece.size();
    return piece;
  }

  void check_body() const {
    if (parser_.is_done() && req.content_length)
      require(body_bytes_ == *req.content_length, "a body has the length that its head states");
  }

  coro::task<muster::result<std::string>> read_some() override { co_return read_piece(); }
  coro::task<bool> begin_stream(web::response head) override {
    check_head(head);
    co_return !req.is_head();
  }
  coro::task<bool> write_piece(std::string) override { co_return true; }
  coro::task<bool> end_stream() override { co_return true; }
  web::peer_watch& peer() override { return *this; }
  bool stopping() const override { return false; }

 private:
  void arm(asio::steady_timer&, bool&) override {}
  void disarm() override {}

  memory_stream& stream_;
  beast::flat_buffer& buffer_;
  request_parser& parser_;
  std::uint64_t body_bytes_ = 0;
};

// Corresponds to connection::parse_head.
std::optional<web::problem> take_head(request_parser& parser, web::request& req) {
  auto const& head = parser.get();
  auto const field = [&](http::field f) { return std::string(head[f]); };
  req.method = std::string(head.method_string());
  req.target = std::string(head.target());
  req.host = field(http::field::host);
  req.origin = field(http::field::origin);
  req.content_type = field(http::field::content_type);
  req.content_encoding = field(http::field::content_encoding);
  req.accept = field(http::field::accept);
  req.accept_encoding = field(http::field::accept_encoding);
  req.if_none_match = field(http::field::if_none_match);
  req.authorization = field(http::field::authorization);
  req.cookie = field(http::field::cookie);
  req.idempotency_key = std::string(head["Idempotency-Key"]);
  req.address = "127.0.0.1";
  req.has_body = !parser.is_done();
  if (auto const n = parser.content_length()) req.content_length = *n;
  req.http_1_0 = head.version() < 11;
  if (head.count(http::field::host) > 1)
    return web::invalid("Host", "this header is repeated; send it once");
  auto const question = std::min(req.target.find('?'), req.target.size());
  req.path = req.target.substr(0, question);
  if (!req.path.starts_with('/')) return web::invalid({}, "the request target must be a path");
  req.path = muster::without_base_path(fuzz::closed().options.base_path, req.path);
  if (question == req.target.size()) return {};
  return web::parse_query(std::string_view(req.target).substr(question + 1), req);
}

void check_request(web::request const& req) {
  std::string query;
  for (auto const& [name, value] : req.query) {
    if (!query.empty()) query += '&';
    query += muster::percent_encoded(name) + "=" + muster::percent_encoded(value);
  }
  web::request again;
  require(!web::parse_query(query, again) && again.query == req.query,
          "query parameters that are written again are the same");
  auto const credential = muster::server::bearer_of(req.authorization);
  require(req.authorization.find(credential) != std::string::npos,
          "a credential is part of its header");
  auto const sign_in = web::sign_in_of(fuzz::closed().options, req);
  require(req.cookie.find(sign_in) != std::string::npos, "a sign-in is part of its header");
  std::string key;
  if (auto const wrong = web::take_idempotency_key(req, key))
    check_response(web::problem_response(*wrong));
  else
    require(key.size() <= 256, "an idempotency key is limited");
}

// Corresponds to connection::upgrade, up to the handshake.
std::optional<web::problem> check_upgrade(request_parser& parser, web::request const& req) {
  auto& site = fuzz::closed();
  auto const& head = parser.get();
  auto p = web::check_host(site.options, req);
  if (!p) p = web::check_origin(site.options, req);
  if (!p && !beast::websocket::is_upgrade(head))
    p = web::make_problem(426, muster::code::failed_precondition,
                          "this path requires a WebSocket with the protocol muster.v1");
  if (!p && !web::is_websocket_key(head[http::field::sec_websocket_key]))
    p = web::invalid("Sec-WebSocket-Key", "expected 16 bytes in base64");
  if (!p) p = site.sockets.refusal(head[http::field::sec_websocket_protocol], {});
  return p;
}

web::response run(memory_exchange& ex) {
  auto& site = fuzz::closed();
  std::optional<web::response> got;
  asio::co_spawn(site.context, web::dispatch(site.all, ex),
                 [&got](std::exception_ptr const& failed, web::response r) {
                   require(!failed, "no request causes an exception");
                   got = std::move(r);
                 });
  site.context.restart();
  site.context.poll();
  require(got.has_value(), "a request is answered without waiting");
  return std::move(*got);
}

// The description of the API does not depend on the request, and takes milliseconds.
bool is_description(web::request const& req) {
  return req.path.find("openapi.json") != std::string::npos;
}

// Corresponds to connection::next_request and connection::one_exchange. Returns whether the next
// request can follow.
bool serve_one(memory_stream& stream, beast::flat_buffer& buffer) {
  request_parser parser;
  parser.header_limit(fuzz::closed().options.header_limit_bytes);
  parser.body_limit(boost::none);
  error_code ec;
  http::read_header(stream, buffer, parser, ec);
  if (ec) return false;
  if (auto const wrong =
          web::check_framing(parser.get(), parser.get().version() < 11, parser.chunked())) {
    check_response(web::problem_response(*wrong));
    return false;
  }
  memory_exchange ex(stream, buffer, parser);
  if (auto const wrong = take_head(parser, ex.req)) {
    check_response(web::problem_response(*wrong));
    return false;
  }
  check_request(ex.req);
  bool closes = false;
  if (ex.req.path == "/api/v1/ws" && ex.req.method == "GET") {
    auto const p = check_upgrade(parser, ex.req);
    if (!p) return false;
    check_response(web::problem_response(*p));
  } else if (!is_description(ex.req)) {
    auto const r = run(ex);
    r.streamed ? void() : check_response(r);
    closes = r.close;
  }
  while (!parser.is_done() && ex.req.content_length.value_or(piece_bytes + 1) <= piece_bytes)
    if (!ex.read_piece()) break;
  ex.check_body();
  return parser.is_done() && parser.keep_alive() && !closes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  constexpr std::size_t read_sizes[] = {1, 13, 4'096};
  memory_stream stream({reinterpret_cast<char const*>(data), size}, read_sizes[size % 3]);
  beast::flat_buffer buffer;
  for (int n = 0; n < requests_max; ++n)
    if (!serve_one(stream, buffer)) break;
  return 0;
}
