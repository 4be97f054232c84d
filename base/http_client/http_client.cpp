#include "base/http_client/http_client.hpp"

#include "base/http_client/client_socket.hpp"
#include "base/http_client/url.hpp"
#include "base/text.hpp"

namespace muster {
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {
constexpr std::size_t piece_bytes = 64 * 1024;
constexpr std::size_t line_bytes_max = std::size_t{256} << 20;
constexpr std::uint32_t header_bytes_max = 64 * 1024;

client_socket::request_message message_of(http_request const& r, http_target const& t) {
  client_socket::request_message m;
  m.method_string(r.method);
  m.target(t.path);
  m.set(http::field::host, t.authority());
  m.set(http::field::user_agent, "muster");
  if (!r.token.empty()) m.set(http::field::authorization, "Bearer " + r.token);
  if (!r.body.empty()) m.set(http::field::content_type, r.content_type);
  if (!r.body.empty() || r.method == "POST" || r.method == "PUT") m.content_length(r.body.size());
  for (auto const& [name, value] : r.headers) m.insert(name, value);
  m.body() = {r.body.data(), r.body.size()};
  return m;
}

http_error check_headers(http_request const& r) {
  auto const refused = [](std::string why) {
    return http_error{{muster::code::invalid_argument, std::move(why)}, http_failure::bad_header};
  };
  auto const bad = [](std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
  };
  if (bad(r.method)) return refused("the method contains a line break");
  if (bad(r.token)) return refused(r.url + ": the token contains a line break");
  for (auto const& [name, value] : r.headers)
    if (bad(name) || bad(value))
      return refused(r.url + ": header " + name + " contains a line break");
  return {};
}

}  // namespace

std::string_view http_response::header(std::string_view name) const {
  for (auto const& [key, value] : headers)
    if (equal_ignoring_case(key, name)) return value;
  return {};
}

struct http_client::impl {
  using clock = std::chrono::steady_clock;

  explicit impl(http_client_options o)
      : answer_bytes_max(o.answer_bytes_max),
        socket({o.ca_file, o.verify, o.certificate_file, o.key_file}) {}

  http_result<http_response> exchange(http_request const& r, line_handler const* line) {
    auto const t = parse_http_url(r.url);
    if (!t) return http_error{t.error(), http_failure::bad_url};
    if (auto bad = check_headers(r); !bad.ok()) return bad;
    step = r.timeout;
    deadline = clock::now() + r.timeout;
    if (!socket.usable_for(*t))
      if (auto bad = socket.connect(*t, limit(false)); !bad.ok()) return bad;
    socket.limit(limit(false));
    auto const message = message_of(r, *t);
    auto const ec = socket.write(message);
    // Reads the answer first, because a server that rejects a body answers before it has read the
    // whole body.
    if (ec && is_timeout(ec)) {
      socket.close();
      return broken(*t, ec, "while sending the request");
    }
    socket.limit(limit(line != nullptr));
    auto answer = read_answer(r, *t, line);
    if (!answer) socket.close();
    return answer;
  }

  http_error read_head(http_target const& t) {
    do {  // skips "100 Continue"
      parser.emplace();
      parser->header_limit(header_bytes_max);
      parser->body_limit(boost::none);
      if (auto const ec = socket.read_header(*parser))
        return broken(t, ec, "while waiting for the answer");
    } while (parser->get().result_int() == 100);
    return {};
  }

  http_result<http_response> read_answer(http_request const& r, http_target const& t,
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
        return too_long(t, streaming ? line_bytes_max : answer_bytes_max);
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
    if (!parser->is_done() || !parser->keep_alive() || r.method == "HEAD") socket.close();
    return answer;
  }

  http_result<std::string> read_piece(http_target const& t, bool streaming) {
    std::string piece(piece_bytes, '\0');
    parser->get().body().data = piece.data();
    parser->get().body().size = piece.size();
    socket.limit(limit(streaming));
    auto const ec = socket.read_some(*parser);
    if (ec && ec != http::error::need_buffer) return broken(t, ec, "while reading the answer");
    piece.resize(piece.size() - parser->get().body().size);
    return piece;
  }

  static http_error broken(http_target const& t, error_code ec, std::string const& doing) {
    if (is_timeout(ec))
      return {{muster::code::deadline_exceeded, t.url() + ": timed out " + doing},
              http_failure::timed_out};
    return {{muster::code::unavailable,
             t.url() + ": the connection was lost " + doing + ": " + lower(ec.message())},
            http_failure::broke};
  }

  static http_error too_long(http_target const& t, std::size_t bytes_max) {
    return {{muster::code::resource_exhausted,
             t.url() + ": the answer is longer than " + std::to_string(bytes_max) + " bytes"},
            http_failure::answer_too_long};
  }

  // Returns the limit for the whole exchange, or for each wait of a stream.
  std::optional<clock::time_point> limit(bool streaming) const {
    if (step.count() == 0) return {};
    return streaming ? clock::now() + step : deadline;
  }

  std::size_t const answer_bytes_max;
  client_socket socket;
  std::optional<client_socket::answer_parser> parser;
  clock::time_point deadline{};
  std::chrono::milliseconds step{};
};

http_client::http_client(http_client_options options)
    : impl_(std::make_unique<impl>(std::move(options))) {}
http_client::~http_client() = default;
http_client::http_client(http_client&&) noexcept = default;
http_client& http_client::operator=(http_client&&) noexcept = default;

http_result<http_response> http_client::send(http_request const& request) {
  return impl_->exchange(request, nullptr);
}

http_result<http_response> http_client::stream(http_request const& request,
                                               line_handler const& line) {
  return impl_->exchange(request, &line);
}

}  // namespace muster
