// Asio's asynchronous operations carry the time limits; each is started and the context run until
// it is over, so the code reads from top to bottom.
#include "web/http_client.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>

#include "web/text.hpp"
#include "web/url.hpp"

namespace muster::web {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

namespace {

constexpr std::size_t piece_bytes = 64 * 1024;
constexpr std::size_t line_bytes_max = std::size_t{256} << 20;
constexpr std::uint32_t header_bytes_max = 64 * 1024;

std::string request_text(http_request const& r, http_target const& t) {
  auto text = r.method + " " + t.path + " HTTP/1.1\r\nHost: " + t.authority() +
              "\r\nUser-Agent: muster\r\n";
  if (!r.token.empty()) text += "Authorization: Bearer " + r.token + "\r\n";
  if (!r.body.empty()) text += "Content-Type: " + r.content_type + "\r\n";
  if (!r.body.empty() || r.method == "POST" || r.method == "PUT")
    text += "Content-Length: " + std::to_string(r.body.size()) + "\r\n";
  for (auto const& [name, value] : r.headers) text += name + ": " + value + "\r\n";
  return text + "\r\n" + r.body;
}

bool is_timeout(error_code ec) {
  return ec == beast::error::timeout || ec == asio::error::timed_out;
}

}  // namespace

std::string_view http_response::header(std::string_view name) const {
  for (auto const& [key, value] : headers)
    if (equal_ignoring_case(key, name)) return value;
  return {};
}

struct http_client::impl {
  using clock = std::chrono::steady_clock;

  // Starts an operation and runs it to its end.
  template <class Start>
  error_code perform(Start const& start) {
    error_code result;
    start([&result](error_code ec, auto const&...) { result = ec; });
    context.restart();
    context.run();
    return result;
  }

  core::result<http_response> exchange(http_request const& r, line_handler const* line);
  core::status connect(http_target const& t);
  core::status read_head(http_target const& t);
  core::result<http_response> read_answer(http_request const& r, http_target const& t,
                                          line_handler const* line);
  core::result<std::string> read_piece(http_target const& t, bool streaming);
  core::status broken(http_target const& t, error_code ec, std::string const& doing) const;
  bool still_open();
  void limit(bool streaming);
  void close() {
    error_code ignored;
    stream.socket().close(ignored);
    connected_to.clear();
    buffer.clear();
  }

  asio::io_context context{1};
  beast::tcp_stream stream{context};
  beast::flat_buffer buffer;
  std::optional<http::response_parser<http::buffer_body>> parser;
  std::string connected_to;
  clock::time_point deadline{};
  std::chrono::milliseconds step{};
};

core::status http_client::impl::broken(http_target const& t, error_code ec,
                                       std::string const& doing) const {
  if (is_timeout(ec)) return {core::code::deadline_exceeded, t.url() + ": timed out " + doing};
  return {core::code::unavailable,
          t.url() + ": the connection broke " + doing + ": " + lower(ec.message())};
}

// For an exchange one limit for all of it, for a stream one for each wait.
void http_client::impl::limit(bool streaming) {
  if (step.count() == 0)
    stream.expires_never();
  else if (streaming)
    stream.expires_after(step);
  else
    stream.expires_at(deadline);
}

core::status http_client::impl::connect(http_target const& t) {
  auto const cannot = [&](std::string const& why, char const* hint) {
    close();
    return core::status{core::code::unavailable, "cannot reach " + t.url() + ": " + why + hint};
  };
  error_code ec;
  tcp::resolver resolver(context);
  auto const endpoints = resolver.resolve(t.host, t.port, ec);
  if (ec) return cannot(lower(ec.message()), "");
  limit(false);
  ec = perform([&](auto done) { stream.async_connect(endpoints, std::move(done)); });
  if (is_timeout(ec)) return cannot("timed out", "");
  if (ec == asio::error::connection_refused)
    return cannot("connection refused", ". Is `muster serve` running?");
  if (ec) return cannot(lower(ec.message()), "");
  error_code ignored;
  stream.socket().set_option(tcp::no_delay(true), ignored);
  stream.socket().set_option(asio::socket_base::keep_alive(true), ignored);
  connected_to = t.authority();
  return {};
}

// A kept connection on which the server has said something, or good-bye, is of no use.
bool http_client::impl::still_open() {
  if (!stream.socket().is_open() || buffer.size() > 0) return false;
  error_code ec;
  stream.socket().non_blocking(true, ec);
  char byte = 0;
  stream.socket().receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, ec);
  return ec == asio::error::would_block;
}

core::status http_client::impl::read_head(http_target const& t) {
  do {  // past "100 Continue"
    parser.emplace();
    parser->header_limit(header_bytes_max);
    parser->body_limit(boost::none);
    auto const ec = perform(
        [&](auto done) { http::async_read_header(stream, buffer, *parser, std::move(done)); });
    if (ec) return broken(t, ec, "waiting for the answer");
  } while (parser->get().result_int() == 100);
  return {};
}

core::result<std::string> http_client::impl::read_piece(http_target const& t, bool streaming) {
  std::string piece(piece_bytes, '\0');
  parser->get().body().data = piece.data();
  parser->get().body().size = piece.size();
  limit(streaming);
  auto const ec =
      perform([&](auto done) { http::async_read_some(stream, buffer, *parser, std::move(done)); });
  if (ec && ec != http::error::need_buffer) return broken(t, ec, "in the middle of the answer");
  piece.resize(piece.size() - parser->get().body().size);
  return piece;
}

core::result<http_response> http_client::impl::read_answer(http_request const& r,
                                                           http_target const& t,
                                                           line_handler const* line) {
  if (auto bad = read_head(t); !bad.ok()) return bad;
  http_response answer;
  answer.status = parser->get().result_int();
  for (auto const& f : parser->get())
    answer.headers.emplace_back(std::string(f.name_string()), std::string(f.value()));
  bool const streaming = line && answer.ok();
  bool wants_more = r.method != "HEAD";
  std::size_t searched = 0;
  while (wants_more && !parser->is_done()) {
    auto const piece = read_piece(t, streaming);
    if (!piece) return piece.error();
    answer.body += *piece;
    if (answer.body.size() > (streaming ? line_bytes_max : answer_bytes_max))
      return core::status{core::code::resource_exhausted, t.url() + ": the answer is too long"};
    if (!streaming) continue;
    std::size_t from = 0;
    for (auto end = answer.body.find('\n', searched); wants_more && end != std::string::npos;
         end = answer.body.find('\n', from)) {
      wants_more = (*line)(std::string_view(answer.body).substr(from, end - from));
      from = end + 1;
    }
    answer.body.erase(0, from);
    searched = answer.body.size();
  }
  if (streaming && wants_more && !answer.body.empty()) (*line)(answer.body);
  if (streaming) answer.body.clear();
  if (!parser->is_done() || !parser->keep_alive() || r.method == "HEAD") close();
  return answer;
}

core::result<http_response> http_client::impl::exchange(http_request const& r,
                                                        line_handler const* line) {
  auto const t = parse_http_url(r.url);
  if (!t) return t.error();
  step = r.timeout;
  deadline = clock::now() + r.timeout;
  if (connected_to != t->authority() || !still_open()) {
    close();
    if (auto bad = connect(*t); !bad.ok()) return bad;
  }
  auto const text = request_text(r, *t);
  limit(false);
  auto const ec =
      perform([&](auto done) { asio::async_write(stream, asio::buffer(text), std::move(done)); });
  // A server that refuses a body answers before it has read all of it: look for the answer first.
  if (ec && is_timeout(ec)) {
    close();
    return broken(*t, ec, "sending the request");
  }
  limit(line != nullptr);
  auto answer = read_answer(r, *t, line);
  if (!answer) close();
  return answer;
}

http_client::http_client() : impl_(std::make_unique<impl>()) {}
http_client::~http_client() = default;
http_client::http_client(http_client&&) noexcept = default;
http_client& http_client::operator=(http_client&&) noexcept = default;

core::result<http_response> http_client::send(http_request const& request) {
  return impl_->exchange(request, nullptr);
}

core::result<http_response> http_client::stream(http_request const& request,
                                                line_handler const& line) {
  return impl_->exchange(request, &line);
}

}  // namespace muster::web
