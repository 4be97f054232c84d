// Each call is executed at most once, in its caller's order, and answered once.
#include <deque>
#include <map>
#include <random>
#include <set>

#include "tests/core/objects/bench.hpp"

namespace muster::core::objects {
namespace {

/// Follows the protocol: skips repeated calls and keeps its answers.
struct process {
  std::uint64_t incarnation = 0;
  std::set<object_id> objects{};
  std::map<std::pair<object_id, caller_id>, std::uint64_t> last{};
  std::set<std::pair<object_id, call_name>> answers{};
};

struct world : table_bench {
  explicit world(std::uint32_t seed) : random(seed) {}

  std::mt19937 random;
  std::map<std::int64_t, process> processes{};  // by index
  std::map<std::int64_t, stream_id> streams{};
  std::uint64_t last_stream = 0, last_incarnation = 0, last_session = 0;
  struct client {
    std::uint64_t last = 0;
    std::set<std::uint64_t> open{};
    std::vector<object_id> objects{};
  };
  std::map<session_id, client> clients{};
  std::set<call_name> executed{}, answered{};

  std::uint32_t draw(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }

  void attach_one(std::int64_t index) {
    auto& p = processes[index];
    if (p.incarnation == 0) p.incarnation = ++last_incarnation;
    if (streams.contains(index)) table.task_disconnected(now, streams[index], false, "cut");
    streams[index] = stream_id{++last_stream};
    table.attached(now, {"ps", index}, core::incarnation{p.incarnation}, streams[index], true);
  }

  process* at(stream_id stream, std::int64_t* index = nullptr) {
    for (auto const& [i, s] : streams)
      if (s == stream) {
        if (index) *index = i;
        return &processes[i];
      }
    return nullptr;
  }

  void perform(output const& said) {
    for (auto const& b : said.begins)
      if (auto* p = at(b.stream))
        std::erase_if(p->objects, [&](object_id id) {
          return std::find(b.kept.begin(), b.kept.end(), id) == b.kept.end();
        });
    for (auto const& b : said.builds)
      if (auto* p = at(b.stream)) {
        p->objects.insert(b.object);
        table.built(now, b.stream, b.object, std::nullopt);
      }
    for (auto const& o : said.calls) execute(o);
    for (auto const& d : said.drops)
      if (auto* p = at(d.stream)) p->objects.erase(d.object);
    for (auto const& a : said.answers) {
      auto const it = clients.find(session_id{a.name.caller.number});
      if (it == clients.end()) continue;
      bool const first = it->second.open.erase(a.name.number) > 0;
      EXPECT_EQ(first, answered.insert(a.name).second) << "answered twice";
      if (draw(2)) table.taken(a.name.caller, a.name.number);
    }
  }

  void execute(call_order const& o) {
    auto* p = at(o.stream);
    if (!p) return;
    ASSERT_TRUE(p->objects.contains(o.object));
    auto& last = p->last[{o.object, o.name.caller}];
    if (o.name.number > last) {
      last = o.name.number;
      EXPECT_TRUE(executed.insert(o.name).second) << "executed twice";
      p->answers.insert({o.object, o.name});
    }
    if (draw(8) > 0 && p->answers.contains({o.object, o.name})) answer(o.stream, o.object, o.name);
  }

  void client_steps() {
    if (clients.size() < 3) {
      auto const s = open(++last_session);
      clients[s];
    }
    auto it = std::next(clients.begin(), draw(static_cast<std::uint32_t>(clients.size())));
    auto& [s, c] = *it;
    switch (draw(12)) {
      case 0:
        c.objects.push_back(make(s, ++c.last, spec("", draw(3))));
        return;
      case 1:
        for (auto const n : c.open) table.call(caller_of(s), s, {n, object_id{}, "add", {}});
        return;
      case 2:
        if (draw(6) == 0) {
          table.session_ended(s);
          clients.erase(it);
        }
        return;
      case 3:
        if (!c.objects.empty()) {
          static_cast<void>(table.drop(s, c.objects.back()));
          c.objects.pop_back();
        }
        return;
      default:
        if (c.objects.empty()) return;
        c.open.insert(++c.last);
        call(s, c.last, c.objects[draw(static_cast<std::uint32_t>(c.objects.size()))]);
    }
  }

  void worker_steps() {
    auto const index = static_cast<std::int64_t>(draw(3));
    switch (draw(10)) {
      case 0:
        return attach_one(index);
      case 1:
        processes.erase(index);  // killed
        if (auto const it = streams.find(index); it != streams.end()) {
          table.task_disconnected(now, it->second, draw(2) == 0, "killed");
          streams.erase(it);
        }
        return;
      case 2:
        if (auto const it = streams.find(index); it != streams.end()) {
          table.task_disconnected(now, it->second, false, "cut");
          streams.erase(it);
        }
        return;
      default:
        now += std::chrono::milliseconds(draw(800));
        if (table.due() <= now) table.tick(now);
    }
  }

  void settle() {
    for (int i = 0; i < 100; ++i) {
      auto const said = this->pending_output();
      if (said.begins.empty() && said.builds.empty() && said.calls.empty() && said.drops.empty() &&
          said.answers.empty())
        return;
      perform(said);
    }
    ADD_FAILURE() << "it does not terminate";
  }
};

TEST(object_table_model, calls_are_executed_at_most_once_and_answered_once) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    world w(seed);
    for (int step = 0; step < 400 && !::testing::Test::HasFailure(); ++step) {
      w.draw(3) ? w.client_steps() : w.worker_steps();
      w.settle();
    }
    if (::testing::Test::HasFailure()) return;
    // All workers return, killed ones as new processes; then each call must be answered.
    for (std::int64_t i = 0; i < 3; ++i) w.attach_one(i);
    for (int i = 0; i < 40; ++i) {
      w.settle();
      for (std::int64_t index = 0; index < 3; ++index)
        w.attach_one(index);  // repeats answers that were lost
    }
    w.settle();
    for (auto const& [s, c] : w.clients) EXPECT_TRUE(c.open.empty()) << c.open.size();
  }
}

}  // namespace
}  // namespace muster::core::objects
