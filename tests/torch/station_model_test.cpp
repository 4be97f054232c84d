// The station, compared with a model. Connections begin and end at any moment: during waits, within
// messages, as restarted ranks, and while attempts begin.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "tests/torch/key_model.hpp"
#include "tests/torch/torch_clients.hpp"

namespace muster::torch {
namespace {

struct said {
  op what{};
  std::vector<std::string> words;
  std::int64_t number = 0;
};

std::optional<std::string> encoded(numbering n, said const& s) {
  for (int b = 0; b < 32; ++b) {
    if (command_of(n, static_cast<std::uint8_t>(b)) != s.what) continue;
    auto const shape = shape_of(s.what);
    auto bytes = byte(b);
    if (shape.counted) bytes += u64(s.words.size() / shape.words);
    for (auto const& w : s.words) bytes += text(w);
    return bytes + u64(static_cast<std::uint64_t>(s.number)).substr(0, shape.number_bytes);
  }
  return std::nullopt;
}

std::string key_of_rank(unsigned rank) {
  return "/default_pg/0//cpu//0/" + std::to_string(rank);
}
std::optional<std::uint32_t> rank_of(std::string const& key) {
  if (!key.starts_with("/default_pg")) return std::nullopt;
  return static_cast<std::uint32_t>(key.back() - '0');
}

/// Implements the documented rules on attempts and ranks (docs/pytorch.md) with a key model per
/// attempt.
struct station_model {
  struct owner {
    connection_id connection = 0;
    std::string host;
    std::optional<std::uint32_t> pid;
  };
  struct attempt {
    attempt_cause cause{};
    key_model keys;
    std::map<std::uint32_t, owner> ranks;
  };
  struct client {
    std::string host;
    std::size_t attempt = 0;
    std::optional<std::uint32_t> rank, pid;
    bool only_said_hello = true;
    bool refused = false;
  };

  std::vector<std::unique_ptr<attempt>> attempts;  // number n at n - 1
  std::size_t before = 0;                          // 0: none
  std::map<connection_id, client> clients;
  std::map<connection_id, std::string> got;
  std::vector<incident::kind> told;

  attempt& of(client const& c) { return *attempts[c.attempt - 1]; }
  std::size_t connections(std::size_t n) const {
    return static_cast<std::size_t>(std::count_if(clients.begin(), clients.end(),
                                                  [&](auto& c) { return c.second.attempt == n; }));
  }

  void begin(attempt_cause cause) {
    auto const old = attempts.size();
    attempts.push_back(std::make_unique<attempt>());
    attempts.back()->cause = cause;
    if (cause != attempt_cause::first) told.push_back(incident::kind::attempt_began);
    if (old > 0 && attempts[old - 1]->keys.entries() > 0) before = old;
    for (auto& [id, c] : clients)
      if (c.attempt == old && c.only_said_hello) c.attempt = attempts.size();
  }
  void open(connection_id id, std::string host) {
    if (attempts.empty())
      begin(attempt_cause::first);
    else if (connections(attempts.size()) == 0 && attempts.back()->keys.entries() > 0)
      begin(attempt_cause::all_left);
    clients[id].host = std::move(host);
    clients[id].attempt = attempts.size();
  }
  void close(connection_id id) {
    auto const c = clients.at(id);
    auto& in = of(c);
    bool const waited = in.keys.waits_for(id) > 0;
    in.keys.leave(id);
    clients.erase(id);
    if (c.rank && in.ranks.at(*c.rank).connection == id)
      told.push_back(waited ? incident::kind::rank_left_waiting : incident::kind::rank_left);
  }
  void refuse(client& c) {
    c.refused = true;
    told.push_back(incident::kind::refused);
  }
  bool is_anothers(attempt const& in, std::uint32_t rank, connection_id id) const {
    if (!in.ranks.contains(rank)) return false;
    auto const& o = in.ranks.at(rank);
    auto const& c = clients.at(id);
    bool const same_process = c.pid && o.pid == c.pid && o.host == c.host;
    return o.connection != id && !(same_process && clients.contains(o.connection));
  }
  void write_address(connection_id id, std::uint32_t rank) {
    auto& c = clients.at(id);
    if (is_anothers(of(c), rank, id)) {
      if (is_anothers(*attempts.back(), rank, id)) begin(attempt_cause::rank_restarted);
      c.attempt = attempts.size();
    }
    c.rank = rank;
    of(c).ranks[rank] = {id, c.host, c.pid};
  }

  void carry_out(connection_id id, said const& s) {
    auto& c = clients.at(id);
    of(c).keys.leave(id);
    auto const& w = s.words;
    auto const rank = s.what == op::set ? rank_of(w[0]) : std::nullopt;
    if (rank) write_address(id, *rank);
    bool const hello =
        s.what == op::validate || s.what == op::ping || (s.what == op::add && w[0] == "init/");
    if (!hello) c.only_said_hello = false;
    auto& keys = of(c).keys;
    auto& out = got[id];
    auto const value_of = [&](std::string const& k) {
      return text(keys.keys.contains(k) ? keys.keys[k] : "");
    };
    switch (s.what) {
      case op::ping:
        c.pid = static_cast<std::uint32_t>(s.number);
        out += u64(*c.pid).substr(0, 4);
        break;
      case op::set:
        keys.set(w[0], w[1]);
        break;
      case op::compare_set:
        out += text(keys.compare_set(w[0], w[1], w[2]));
        break;
      case op::get:
        out += value_of(w[0]);
        break;
      case op::add: {
        auto const sum = keys.add(w[0], s.number);
        if (!sum) return refuse(c);
        out += u64(static_cast<std::uint64_t>(*sum));
        break;
      }
      case op::check:
        out +=
            byte(std::all_of(w.begin(), w.end(), [&](auto& k) { return keys.there(k); }) ? 0 : 1);
        break;
      case op::wait:
        if (keys.wait(id, w)) out += byte(0);
        break;
      case op::count_keys:
        out += u64(keys.keys.size());
        break;
      case op::delete_key:
        out += u64(keys.erase(w[0]) ? 1 : 0);
        break;
      case op::append:
        keys.append(w[0], w[1]);
        break;
      case op::multi_get:
        for (auto const& k : w) out += value_of(k);
        break;
      case op::multi_set:
        for (std::size_t i = 0; i < w.size(); i += 2) keys.set(w[i], w[i + 1]);
        break;
      case op::cancel_wait:
        out += byte(1);
        break;
      case op::queue_push:
        keys.push(w[0], w[1]);
        break;
      case op::queue_pop:
        out += u64(keys.length(w[0]));
        if (keys.length(w[0]) > 0) out += text(keys.pop(w[0]));
        break;
      case op::queue_length:
        out += u64(keys.length(w[0]));
        break;
      case op::list_keys:
        out += u64(keys.keys.size());
        for (auto const& [k, v] : keys.keys) out += text(k);
        break;
      case op::barrier: {
        auto const all = keys.arrive(id, w[0], s.number);
        if (!all) return refuse(c);
        if (*all) out += byte(0);
        break;
      }
      default:
        break;
    }
    for (auto const other : std::exchange(keys.woken, {})) got[other] += byte(0);
  }
};

/// Random clients and their fate.
class walk {
 public:
  explicit walk(unsigned seed) : random_(seed) {}

  void step() {
    server_.now += std::chrono::seconds(1);
    auto const n = below(100);
    if (talkers_.empty() || (n < 6 && talkers_.size() < 8)) return come();
    auto it = talkers_.begin();
    std::advance(it, below(static_cast<unsigned>(talkers_.size())));
    if (n < 10 || model_.clients.at(it->first).refused) return go(it->first);
    if (n < 11) {
      server_.tcp_store.begin_attempt(attempt_cause::asked, server_.now);
      server_.take();
      return model_.begin(attempt_cause::asked);
    }
    talk(it->first, it->second);
  }
  void end() {
    while (!talkers_.empty()) go(talkers_.begin()->first);
  }
  void compare();

  // Counts events, so that a test can check that they occurred.
  unsigned cut_off = 0, left_waiting = 0, refused = 0;
  std::map<attempt_cause, unsigned> began;

 private:
  struct talker {
    numbering speaks{};
    std::string unsent;
    // The messages that are complete when this many bytes are unsent.
    std::vector<std::pair<std::size_t, said>> ends;
  };

  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::string some_key() {
    auto const n = below(8);
    return n < 3 ? key_of_rank(n) : "/k" + std::to_string(n);
  }
  std::string some_value() {
    static constexpr char const* values[] = {"1", "2", "30", "30", "5", "x", ""};
    return values[below(7)];
  }
  said something() {
    static constexpr op ops[] = {op::set,        op::set,        op::compare_set, op::get,
                                 op::add,        op::check,      op::wait,        op::wait,
                                 op::wait,       op::count_keys, op::delete_key,  op::append,
                                 op::multi_get,  op::multi_set,  op::cancel_wait, op::ping,
                                 op::queue_push, op::queue_pop,  op::barrier,     op::queue_length,
                                 op::list_keys,  op::delete_key, op::add};
    said s{ops[below(std::size(ops))], {}, 0};
    auto const shape = shape_of(s.what);
    for (auto times = shape.counted ? below(4) : 1; times > 0; --times)
      for (unsigned w = 0; w < shape.words; ++w)
        s.words.push_back(w == 0 ? some_key() : some_value());
    if (shape.number_bytes > 0) s.number = below(4);
    return s;
  }
  bool say(talker& t, said const& s) {
    auto const bytes = encoded(t.speaks, s);
    if (!bytes) return false;
    t.unsent += *bytes;
    for (auto& [left, one] : t.ends) left += bytes->size();
    t.ends.emplace_back(0, s);
    return true;
  }

  /// Connects a process on one of two hosts, with the greeting of its torch version. Its pid may
  /// already exist: it is the same process, or another with the same number.
  void come() {
    auto const host = "10.0.0." + std::to_string(1 + below(2));
    auto const id = server_.open(host + ":" + std::to_string(++last_port_));
    model_.open(id, host);
    auto& t = talkers_[id];
    t.speaks = below(3) == 0 ? numbering::a : numbering::c;
    if (t.speaks == numbering::c) say(t, {op::validate, {}, magic});
    if (t.speaks == numbering::c && below(2)) say(t, {op::ping, {}, 1 + below(3)});
    if (below(2)) say(t, {op::add, {"init/"}, 1});
    if (below(2)) say(t, {op::set, {key_of_rank(below(3)), "1"}, 0});
  }
  void go(connection_id id) {
    cut_off +=
        !talkers_[id].ends.empty() && talkers_[id].ends.front().first < talkers_[id].unsent.size()
            ? 1
            : 0;
    server_.close(id);
    model_.close(id);
    talkers_.erase(id);
  }
  void talk(connection_id id, talker& t) {
    for (auto more = t.unsent.empty() ? 1 + below(8) / 6 : 0; more > 0;)
      more -= say(t, something());
    auto const whole = t.unsent.size();
    auto const bytes = below(4) == 0 ? 1 + below(static_cast<unsigned>(whole)) : whole;
    server_.send(id, t.unsent.substr(0, bytes));
    t.unsent.erase(0, bytes);
    while (!t.ends.empty() && t.ends.front().first >= t.unsent.size()) {
      if (!model_.clients.at(id).refused) model_.carry_out(id, t.ends.front().second);
      t.ends.erase(t.ends.begin());
    }
  }

  std::mt19937 random_;
  clients server_;
  station_model model_;
  std::map<connection_id, talker> talkers_;
  unsigned last_port_ = 1000;
};

void walk::compare() {
  ASSERT_EQ(server_.tcp_store.invalid(), "");
  for (auto const& [id, t] : talkers_) {
    ASSERT_EQ(server_.read(id), std::exchange(model_.got[id], {})) << "connection " << id;
    ASSERT_EQ(server_.is_refused(id), model_.clients.at(id).refused) << "connection " << id;
  }
  std::vector<incident::kind> told;
  for (auto const& i : std::exchange(server_.told, {})) told.push_back(i.what);
  ASSERT_EQ(told, model_.told);
  for (auto const k : std::exchange(model_.told, {})) {
    left_waiting += k == incident::kind::rank_left_waiting;
    refused += k == incident::kind::refused;
    if (k == incident::kind::attempt_began) ++began[model_.attempts.back()->cause];
  }

  auto const seen = server_.tcp_store.view(100);
  ASSERT_EQ(seen.shown.size(), model_.clients.size());
  for (auto const& c : seen.shown) {
    SCOPED_TRACE("connection " + std::to_string(c.id));
    auto const& m = model_.clients.at(c.id);
    ASSERT_EQ(c.attempt, m.attempt);
    ASSERT_EQ(c.rank, m.rank);
    ASSERT_EQ(c.pid, m.pid);
    ASSERT_EQ(c.waits_for, model_.of(m).keys.waits_for(c.id));
  }
  std::vector<std::size_t> numbers{model_.attempts.size()};
  if (model_.before > 0) numbers.push_back(model_.before);
  ASSERT_EQ(seen.attempts.size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    auto const& m = *model_.attempts[numbers[i] - 1];
    ASSERT_EQ(seen.attempts[i].number, numbers[i]);
    ASSERT_EQ(seen.attempts[i].cause, m.cause);
    ASSERT_EQ(seen.attempts[i].connections, model_.connections(numbers[i]));
    ASSERT_EQ(seen.attempts[i].keys, m.keys.entries());
    std::map<std::string, std::size_t> there, expected;
    auto const keys = server_.tcp_store.keys(numbers[i], "", "", 100);
    ASSERT_TRUE(keys);
    for (auto const& k : *keys) there[k.key] = k.bytes;
    for (auto const& [k, v] : m.keys.keys) expected[k] = v.size();
    ASSERT_EQ(there, expected);
  }
  auto const& newest = *model_.attempts.back();
  ASSERT_EQ(seen.ranks.size(), newest.ranks.size());
  for (auto const& r : seen.ranks) {
    ASSERT_EQ(r.connection, newest.ranks.at(r.rank).connection);
    ASSERT_EQ(r.connected, model_.clients.contains(r.connection));
  }
  std::set<std::uint32_t> missing;
  for (auto const& [who, keys] : newest.keys.waits)
    for (auto const& k : keys)
      if (auto const rank = rank_of(k)) missing.insert(*rank);
  ASSERT_TRUE(std::equal(seen.missing.begin(), seen.missing.end(), missing.begin(), missing.end()));
}

TEST(torch_tcp_store_model, store_matches_the_model_in_random_walks) {
  unsigned cut_off = 0, left_waiting = 0, refused = 0;
  std::map<attempt_cause, unsigned> began;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    walk w(seed);
    for (int step = 0; step < 300; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      w.step();
      ASSERT_NO_FATAL_FAILURE(w.compare());
    }
    w.end();
    ASSERT_NO_FATAL_FAILURE(w.compare());
    cut_off += w.cut_off;
    left_waiting += w.left_waiting;
    refused += w.refused;
    for (auto const& [cause, n] : w.began) began[cause] += n;
  }
  // The random walks reach all interesting cases.
  EXPECT_GT(cut_off, 100u);
  EXPECT_GT(left_waiting, 100u);
  EXPECT_GT(refused, 100u);
  EXPECT_GT(began[attempt_cause::asked], 100u);
  EXPECT_GT(began[attempt_cause::all_left], 100u);
  EXPECT_GT(began[attempt_cause::rank_restarted], 100u);
}

}  // namespace
}  // namespace muster::torch
