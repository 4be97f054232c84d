#include "web/server/http_connection.hpp"

#include <sys/socket.h>

#include <boost/beast/http/read.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

#include "base/base_path.hpp"
#include "server/net/client_hello.hpp"
#include "web/http/query.hpp"
#include "web/live/websocket_hub.hpp"
#include "web/metrics/metrics.hpp"
#include "web/rest/caller_check.hpp"
#include "web/server/dispatch.hpp"
#include "web/server/framing.hpp"
#include "web/server/websocket_session.hpp"

namespace muster::web {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

namespace {
// Returns an IPv4-mapped IPv6 address as IPv4.
std::string plain_address(asio::ip::address const& a) {
  if (a.is_v6() && a.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, a.to_v6()).to_string();
  return a.to_string();
}

// Adds the prefix to the Location header of a response, if its value is a path.
void add_base_path(std::string_view base_path, response& r) {
  if (base_path.empty()) return;
  for (auto& [name, value] : r.headers)
    if (name == "Location" && value.starts_with('/')) value.insert(0, base_path);
}
}  // namespace

connection::connection(web_context& context, connection_set& set, accepted_client client,
                       std::uint64_t network)
    : context_(context),
      set_(set),
      stream_(std::move(client.socket)),
      tls_(std::move(client.tls)),
      half_open_(set.half_open.add(*this, network)) {
  set_.open.insert(this);
  address_ = plain_address(client.address);
  ++context_.metrics.connections;
  ++context_.metrics.connections_total;
}

connection::~connection() {
  *alive_ = false;
  spoke();
  end_idle();
  if (leaving_) --set_.leaving;
  set_.open.erase(this);
  --context_.metrics.connections;
}

void connection::close() {
  error_code ignored;
  stream_.socket().close(ignored);
}

void connection::abort() {
  if (!std::exchange(leaving_, true)) ++set_.leaving;
  spoke();
  end_idle();
  close();
}

void connection::end_access() {
  if (req.ends_own_token)
    access_ended_ = true;
  else
    abort();
}

void connection::begin_idle() {
  idle_ = true;
  if (half_open_.number == 0) idle_place_ = set_.idle.insert(set_.idle.end(), this);
}

void connection::end_idle() {
  idle_ = false;
  if (idle_place_) set_.idle.erase(*idle_place_);
  idle_place_.reset();
}

coro::task<void> connection::run() {
  bool more = true;
  if (tls_) {
    more = co_await begin_tls();
  }
  while (more && !set_.stopping) {
    more = co_await next_request();
    if (!more) break;
    more = co_await one_exchange();
  }
  if (stream_.socket().is_open()) {
    co_await linger();
  }
}

// Returns false if the connection must be closed.
coro::task<bool> connection::begin_tls() {
  char first = 0;
  auto const seen = ::recv(stream_.socket().native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (seen == 1 && !net::begins_tls({&first, 1})) {
    co_await send_problem(make_problem(400, muster::code::invalid_argument,
                                       "this port requires TLS: use https:// instead of http://",
                                       "scheme"));
    co_return false;
  }
  limits().expires_after(context_.options.timeouts.header);
  auto const ec = co_await stream_.tls_handshake(*tls_);
  if (ec == beast::error::timeout) ++context_.metrics.listener.header_timeout;
  if (ec) close();
  certificate_name = stream_.certificate_name();
  co_return !ec;
}

coro::task<void> connection::send_problem(problem p) {
  req = request{};
  auto const r = problem_response(p);
  context_.metrics.count(r.status);
  co_await write(r, false);
}

// Returns false if the connection must be closed.
coro::task<bool> connection::next_request() {
  if (buffer_.size() == 0) {
    bool const came = co_await first_byte();
    if (!came) co_return false;
  }
  parser_.emplace();
  parser_->header_limit(context_.options.header_limit_bytes);
  parser_->body_limit(boost::none);  // because each route sets its own limit
  limits().expires_after(context_.options.timeouts.header);
  auto [ec, n] = co_await http::async_read_header(stream_, buffer_, *parser_, awaited);
  if (ec == beast::error::timeout) ++context_.metrics.listener.header_timeout;
  if (!ec && parser_->is_done()) spoke();
  if (!ec) co_return true;
  co_await refuse(ec);
  co_return false;
}

coro::task<bool> connection::first_byte() {
  begin_idle();
  // Without TLS, the first header has already arrived. With TLS, the first header is subject to the
  // header timeout.
  bool const first = half_open_.number != 0;
  limits().expires_after(first ? context_.options.timeouts.header : context_.options.timeouts.idle);
  auto [ec, n] = co_await stream_.async_read_some(buffer_.prepare(4096), awaited);
  end_idle();
  buffer_.commit(n);
  co_return !ec;
}

coro::task<void> connection::refuse(error_code ec) {
  problem p;
  if (ec == http::error::header_limit) {
    p = make_problem(431, muster::code::invalid_argument, "the request's header is too long", {},
                     std::to_string(context_.options.header_limit_bytes) + " bytes");
  } else if (ec.category() == make_error_code(http::error::bad_method).category() &&
             ec != http::error::end_of_stream && ec != http::error::partial_message) {
    p = make_problem(400, muster::code::invalid_argument, "not an HTTP request: " + ec.message());
  } else {
    close();  // the peer has disconnected or was too slow
    co_return;
  }
  if (stream_.socket().is_open()) co_await send_problem(std::move(p));
}

std::optional<problem> connection::parse_head() {
  auto const& head = parser_->get();
  auto const field = [&](http::field f) { return std::string(head[f]); };
  req = request{};
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
  req.address = address_;
  req.certificate = certificate_name;
  req.has_body = !parser_->is_done();
  if (auto const n = parser_->content_length()) req.content_length = *n;
  req.http_1_0 = head.version() < 11;
  expects_100_ = beast::iequals(head[http::field::expect], "100-continue");
  wants_websocket_ = beast::websocket::is_upgrade(head);
  if (head.count(http::field::host) > 1)
    return invalid("Host", "this header is repeated; send it once");
  auto const question = std::min(req.target.find('?'), req.target.size());
  req.path = req.target.substr(0, question);
  if (!req.path.starts_with('/')) return invalid({}, "the request target must be a path");
  req.path = without_base_path(context_.options.base_path, req.path);
  if (question == req.target.size()) return {};
  return parse_query(std::string_view(req.target).substr(question + 1), req);
}

coro::task<bool> connection::one_exchange() {
  if (auto wrong =
          check_framing(parser_->get(), parser_->get().version() < 11, parser_->chunked())) {
    co_await send_problem(std::move(*wrong));
    co_return false;
  }
  auto const wrong = parse_head();
  bool const is_socket_path = req.path == "/api/v1/ws" || req.path == "/api/v1/ws/";
  if (!wrong && is_socket_path && req.method == "GET") {
    co_return co_await upgrade();
  }
  response r;
  if (wrong) {
    r = problem_response(*wrong);
  } else {
    r = co_await dispatch(context_, *this);
    add_base_path(context_.options.base_path, r);
  }
  context_.metrics.count(r.status);
  co_await skip_small_body();
  bool const unread = !parser_->is_done();
  // For HEAD, only the header of a stream is sent. To the handler, the client appears disconnected,
  // so the handler sets `close`, which must be ignored.
  bool const cut_off = r.close && !(r.streamed && req.is_head());
  bool const keep = parser_->keep_alive() && !cut_off && !unread && !set_.stopping &&
                    !set_.scarce && !access_ended_;
  if (r.streamed) {
    if (cut_off) close();  // because a normal end would make the response look complete
    co_return keep && !req.http_1_0;
  }
  bool const written = co_await write(r, keep);
  req.ends_own_token = false;
  co_return written&& keep && !access_ended_;
}

coro::task<bool> connection::upgrade() {
  std::optional<problem> p = check_host(context_.options, req);
  if (!p) p = check_origin(context_.options, req);
  if (!p) p = check_serving(context_.options, req);
  std::chrono::milliseconds delay{0};
  std::shared_ptr<void> place;
  if (!p) p = check_caller(context_, req, core::permission::view, delay, place);
  if (delay.count() > 0) co_await context_.engine.pause(delay);
  if (!p && !wants_websocket_) {
    p = make_problem(426, muster::code::failed_precondition,
                     "this path requires a WebSocket with the protocol muster.v1");
  }
  if (!p && !is_websocket_key(parser_->get()[http::field::sec_websocket_key]))
    p = invalid("Sec-WebSocket-Key", "expected 16 bytes in base64");
  server::cluster_scope const scope(req.who, context_.options.main_cluster);
  if (!p) p = context_.sockets.refusal(parser_->get()[http::field::sec_websocket_protocol], scope);
  if (p) {
    auto r = problem_response(*p);
    if (p->status == 426) r.headers.emplace_back("Upgrade", "websocket");
    context_.metrics.count(r.status);
    bool const keep = parser_->keep_alive() && parser_->is_done() && p->status != 503;
    bool const written = co_await write(r, keep);
    co_return written&& keep;
  }
  context_.metrics.count(101);
  limits().expires_never();
  http::request<http::empty_body> head;
  head.base() = parser_->get().base();
  auto has_access = sign_in_check(context_, req);
  co_await run_websocket(context_, stream_, context_.sockets.topics_for(scope),
                         std::move(has_access), std::move(head));
  close();
  co_return false;
}

coro::task<void> serve_connection(web_context& context, connection_set& connections,
                                  accepted_client client, std::uint64_t network) {
  connection c(context, connections, std::move(client), network);
  co_await c.run();
}

}  // namespace muster::web
