// Fuzzes what a page sends on the WebSocket. An input that starts with `f` contains frames, which
// Beast's stream reads with the limits of the server; its second byte limits the bytes of a read.
// Any other input consists of lines: a line is a message of the page, or a change of the server:
//
//   !c<name><number>…   new rows of a topic: c, b, e, a or p, as in its name
//   !w<name><number>…   new rows of the programs that the page watches
//   !l<text>            new lines in the logs that the page watches
//
// Messages reach subscriber::receive, and subscriber::next returns the answers.
//
// Checked properties:
// - Every answer is a JSON object. Nothing follows an `err`.
// - A delta continues from the last message of its topic, or from the number that the page resumed.
// - A snapshot and its deltas together are the rows of the topic.
// - A page watches at most four logs and programs. A message is at most 4 KiB long; text is UTF-8.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/_experimental/test/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.hpp"
#include "tests/fuzz/closed_engine.hpp"
#include "tests/fuzz/require.hpp"
#include "web/json/json_in.hpp"
#include "web/live/log_topic.hpp"
#include "web/live/rows_topic.hpp"
#include "web/live/subscriber.hpp"
#include "web/live/topic_set.hpp"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace core = muster::core;
namespace http = beast::http;
namespace server = muster::server;
namespace web = muster::web;
namespace websocket = beast::websocket;
using fuzz::require;
using web::topic_name;

constexpr core::time_point start{std::chrono::seconds(1'700'000'000)};
constexpr std::string_view boot = "boot";

constexpr std::string_view letters = "cbeap";
constexpr topic_name rows_topics[] = {topic_name::clusters, topic_name::barriers,
                                      topic_name::events, topic_name::alerts, topic_name::programs};

using rows = std::map<std::string, std::string>;

unsigned number(char c) {
  return static_cast<unsigned char>(c);
}

rows rows_in(std::string_view text) {
  rows all;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    all[std::string(1, static_cast<char>('a' + number(text[i]) % 26))] =
        R"({"v":)" + std::to_string(number(text[i + 1])) + "}";
  return all;
}

// A page, its subscriber in the server, and what the page knows.
class page {
 public:
  page()
      : topics_(std::make_shared<web::topic_set>(fuzz::closed().link,
                                                 std::make_shared<server::cluster_scope const>(),
                                                 std::string(boot), start)),
        client_(fuzz::closed().sockets, topics_, {[] {}, [] {}, [] { return true; }}) {}

  bool leaves() const { return client_.leaving(); }

  void send(std::string_view text) {
    bool const valid = !web::check_json(text);
    if (valid) note_names(web::json_ref(text));
    client_.receive(text);
    if (leaves()) return;
    require(valid, "only JSON is accepted");
    note_request(web::json_ref(text));
    auto const watched = std::count_if(names_.begin(), names_.end(),
                                       [this](auto const& name) { return client_.watches(name); });
    require(watched <= std::ptrdiff_t{web::websocket_watched_max},
            "the number of watched logs and programs is limited");
  }
  void send_binary() {
    client_.send_error("INVALID_ARGUMENT", "messages must be text, not binary");
  }

  // Changes the topics as a tick of the server does.
  void change(std::string_view line) {
    if (line.empty()) return;
    now_ += std::chrono::seconds(1);
    auto const what = line.front();
    line.remove_prefix(1);
    if (what == 'w' || what == 'l') {
      for (auto const& name : names_)
        if (client_.watches(name)) what == 'w' ? put(name, rows_in(line)) : log(name, line);
      return;
    }
    auto const at = std::min(letters.find(what), letters.size());
    auto const t = rows_topics[at < letters.size() ? at : number(what) % letters.size()];
    auto& topic = topics_->topic_of(t);
    topic.live = client_.subscribed(t);
    if (topic.live) put(std::string(web::name(t)), rows_in(line));
  }

  // Takes all answers, and calls `write(text)` for each.
  template <class Write>
  void take(Write const& write) {
    while (auto const text = client_.next()) {
      note_answer(*text);
      write(*text);
    }
    require(client_.ended() == leaves(), "nothing follows the last message");
  }

 private:
  void note_names(web::json_ref const& message) {
    if (message.type() != web::json_type::object) return;
    for (web::json_walk m(message); m.next();) {
      if (m.value().type() == web::json_type::string) note_name(m.value().string());
      if (m.value().type() != web::json_type::object) continue;
      for (web::json_walk inner(m.value()); inner.next();) note_name(inner.key());
    }
  }
  void note_name(std::string name) {
    if (web::topic_set::is_topic_name(name)) names_.insert(std::move(name));
  }

  // REQUIRES: the server accepted the message.
  void note_request(web::json_ref const& message) {
    std::string type, topic;
    for (web::json_walk m(message); m.next();) {
      if (m.value().type() != web::json_type::string) continue;
      if (m.key() == "t") type = m.value().string();
      if (m.key() == "topic") topic = m.value().string();
    }
    if (type == "unsub") known_.erase(topic);
    if (type != "resume") return;
    for (web::json_walk m(message); m.next();) {
      if (m.key() != "topics") continue;
      for (web::json_walk topics(m.value()); topics.next();) {
        auto& k = known_[topics.key()];
        k.complete = false;
        k.seq = static_cast<std::uint64_t>(topics.value().integer().value_or(0));
      }
    }
  }

  void note_answer(std::string const& text) {
    boost::system::error_code ec;
    auto const message = boost::json::parse(text, ec);
    require(!ec && message.is_object(), "an answer is a JSON object");
    auto const& m = message.get_object();
    auto const type = m.at("t").as_string();
    if (type == "err" || type == "bye") return;
    bool const whole = type == "snap";
    require(whole || type == "d", "an answer is a snapshot or a delta");
    std::string const topic(m.at("topic").as_string());
    auto const seq = m.at("seq").to_number<std::uint64_t>();
    auto const known = known_.find(topic);
    if (!whole) {
      auto const from = m.at("from").to_number<std::uint64_t>();
      require(known != known_.end() && known->second.seq == from,
              "a delta continues from the last message");
      require(seq >= from, "a sequence number does not decrease");
    }
    auto& k = known_[topic];
    k.seq = seq;
    if (whole) k = {seq, true, {}};
    if (auto const* const t = rows_topic_named(topic)) note_rows(m, *t, k, there_[topic]);
  }

  struct knowledge {
    std::uint64_t seq = 0;
    bool complete = false;  // whether the page knows all rows
    rows shown{};
  };

  static void note_rows(boost::json::object const& m, web::rows_topic const& t, knowledge& k,
                        rows const& there) {
    for (auto const& [name, row] : m.at("rows").as_object())
      k.shown[std::string(name)] = boost::json::serialize(row);
    for (auto const& name : m.at("gone").as_array()) k.shown.erase(std::string(name.as_string()));
    require(!k.complete || k.seq != t.seq() || k.shown == there,
            "a snapshot and its deltas are the rows of the topic");
  }

  web::rows_topic* rows_topic_named(std::string const& name) {
    for (auto const t : rows_topics)
      if (web::name(t) == name) return dynamic_cast<web::rows_topic*>(&topics_->topic_of(t));
    return dynamic_cast<web::rows_topic*>(topics_->watched(name));
  }

  void put(std::string const& name, rows const& all) {
    auto* const topic = rows_topic_named(name);
    if (!topic) return;
    topic->update(web::named_rows(all.begin(), all.end()), 0, now_);
    topic->live = true;
    there_[name] = all;
  }

  void log(std::string const& name, std::string_view text) {
    auto* const topic = dynamic_cast<web::log_topic*>(topics_->watched(name));
    if (!topic) return;
    web::log_update news;
    news.name = name;
    news.now = now_;
    news.ended = text.starts_with('e');
    news.skipped = text.starts_with('s');
    for (char const c : text) {
      server::log_line line;
      line.seq = ++last_line_;
      line.at = now_;
      line.closure = core::closure_id{number(c) % 3 + 1};
      line.level = static_cast<server::log_level>(number(c) % 7);
      line.text = std::string("text ") + c;
      news.lines.push_back(std::move(line));
    }
    topic->update(std::move(news));
  }

  std::shared_ptr<web::topic_set> const topics_;
  web::subscriber client_;
  core::time_point now_ = start;
  std::uint64_t last_line_ = 0;
  std::set<std::string> names_;  // names of logs and programs that the page has sent
  std::map<std::string, knowledge> known_;
  std::map<std::string, rows> there_;
};

void play_lines(std::string_view input) {
  page p;
  while (!input.empty() && !p.leaves()) {
    auto const end = std::min(input.find('\n'), input.size());
    auto const line = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    if (line.starts_with('!'))
      p.change(line.substr(1));
    else if (!line.empty() && line.size() <= web::websocket_message_bytes_max)
      p.send(line);
    p.take([](std::string const&) {});
  }
}

http::request<http::empty_body> upgrade() {
  http::request<http::empty_body> r{http::verb::get, "/api/v1/ws", 11};
  r.set(http::field::host, "localhost");
  r.set(http::field::upgrade, "websocket");
  r.set(http::field::connection, "upgrade");
  r.set(http::field::sec_websocket_key, "dGhlIHNhbXBsZSBub25jZQ==");
  r.set(http::field::sec_websocket_version, "13");
  return r;
}

void play_frames(std::string_view input, std::size_t read_size) {
  auto& context = fuzz::closed().context;
  beast::test::stream far(context);
  websocket::stream<beast::test::stream> socket(context);
  far.connect(socket.next_layer());
  socket.read_message_max(web::websocket_message_bytes_max);
  socket.text(true);
  socket.auto_fragment(false);
  boost::system::error_code ec;
  socket.accept(upgrade(), ec);
  require(!ec, "a handshake succeeds");
  far.clear();
  socket.next_layer().append({input.data(), input.size()});
  socket.next_layer().read_size(read_size);
  far.close();  // a read at the end of the input fails instead of waiting

  page p;
  auto const write = [&](std::string const& text) {
    boost::system::error_code ignored;
    socket.write(asio::buffer(text), ignored);
    far.clear();
  };
  beast::flat_buffer buffer;
  while (!p.leaves()) {
    socket.read(buffer, ec);
    if (ec) return;
    auto const data = buffer.cdata();
    std::string_view const text(static_cast<char const*>(data.data()), data.size());
    require(text.size() <= web::websocket_message_bytes_max, "the size of a message is limited");
    require(!socket.got_text() || muster::is_utf8(text), "a text message is UTF-8");
    socket.got_text() ? p.send(text) : p.send_binary();
    buffer.consume(buffer.size());
    p.take(write);
  }
  socket.close(websocket::close_code::policy_error, ec);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const input(reinterpret_cast<char const*>(data), size);
  if (size >= 2 && input.front() == 'f')
    play_frames(input.substr(2), std::size_t{1} + number(input[1]));
  else
    play_lines(input);
  return 0;
}
