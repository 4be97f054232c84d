#include "muster/checkpoints.hpp"

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <thread>

#include "client/variables/checkpoint_files.hpp"
#include "client/variables/known_state.hpp"
#include "muster/log.hpp"
#include "muster/variable.hpp"
#include "tests/client/objects/objects_fixture.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::test {
namespace {

using floats = std::vector<float>;
using detail::checkpoints_in;

/// An object that is saved, unless the test makes it refuse.
struct saved_tally {
  int add(int n) { return count += n; }
  void refuse(bool does) { refuses = does; }
  std::map<std::string, int> save() const { return {{"count", count}}; }
  void load(std::map<std::string, int> const& state) {
    if (refuses) throw function_error("not today", "ValueError");
    count = state.at("count");
  }
  int count = 0;
  bool refuses = false;
};

class logged {
 public:
  logged() {
    set_log([this](log_level, std::string_view line) {
      std::lock_guard held(mutex_);
      text_ += std::string(line) + "\n";
      changed_.notify_all();
    });
  }
  ~logged() { set_log({}); }
  /// Waits for a text after those that earlier calls have found.
  void wait_for(std::string const& what) {
    std::unique_lock held(mutex_);
    ASSERT_TRUE(changed_.wait_for(held, std::chrono::seconds(20), [&] {
      return text_.find(what, read_) != text_.npos;
    })) << text_;
    read_ = text_.find(what, read_) + what.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::size_t read_ = 0;
};

constexpr auto waits = "no checkpoint is saved until restore() has been called";

struct checkpoints : testing::Test {
  static constexpr auto often = milliseconds(10);

  test_server server{server_with_grace(milliseconds(100))};
  temporary_directory folder;
  std::string const path = std::string(folder.path()) + "/c";
  gate g;
  std::optional<worker_thread> ps0, ps1, worker;
  std::optional<cluster_coordinator> c;

  static void add_tally(muster::worker& w) {
    w.object(object_class<saved_tally>("Tally")
                 .method("add", &saved_tally::add)
                 .method("refuse", &saved_tally::refuse)
                 .method("bytes",
                         [](saved_tally&) {
                           return value{"x", encoding::bytes};
                         })
                 .saved(&saved_tally::save, &saved_tally::load));
    w.object(object_class<counter>("Counter").constructor<int>().method("value", &counter::value));
  }
  checkpoints() {
    ps0.emplace(ps_at(server.address(), 0), add_tally);
    ps1.emplace(ps_at(server.address(), 1), add_tally);
    worker.emplace(options_for(server.address()), [this](muster::worker& w) {
      w.function("both", [](std::vector<variable<float>> const& vs) {
        for (auto const& v : vs) v.assign_add(1).fetch();
      });
      w.function("hold", g.function());
      w.function("same", [](int n) { return n; });
    });
    c.emplace(coordinator_options{.server = server.address()});
  }
  ~checkpoints() override { g.open(); }

  struct model {
    variable<float> v;
    remote_object n;

    int count() const { return n.call<int>("add", 0).fetch(); }
    floats numbers() const { return v.read().fetch().data; }
  };
  static model made_by(cluster_coordinator& c, std::uint64_t shards, std::string const& of_n) {
    return {c.make_variable<float>({.name = "v",
                                    .tasks = {"ps:0", "ps:1"},
                                    .partitioner = fixed_shards_partitioner(shards)},
                                   {4}),
            c.create({.task = of_n, .name = "n", .saved = true}, "Tally")};
  }
  model again(std::uint64_t shards = 2, std::string const& of_n = "ps:0") {
    c.reset();
    c.emplace(coordinator_options{.server = server.address()});
    return made_by(*c, shards, of_n);
  }
  std::uint64_t newest() const { return checkpoints_in(path).back(); }
  /// Waits for a checkpoint that began after this call.
  static void wait_for_next(periodic_checkpoints const& made) {
    auto const before = made.last().value_or(0);
    while (made.last().value_or(0) < before + 2) std::this_thread::yield();
  }
};

TEST_F(checkpoints, objects_and_variables_are_saved_and_restored) {
  auto m = made_by(*c, 2, "ps:0");
  m.v.assign(floats{1, 2, 3, 4});
  m.n.call<int>("add", 5).fetch();
  EXPECT_EQ(c->save(path), 1u);
  m = again(1, "ps:1");
  EXPECT_EQ(c->restore(path), 1u);
  EXPECT_EQ(m.numbers(), (floats{1, 2, 3, 4}));
  EXPECT_EQ(m.count(), 5);
  auto const found = detail::newest_checkpoint(path);
  EXPECT_EQ(found.newest->object("n"), R"({"count":5})");
}

TEST_F(checkpoints, only_objects_created_with_saved_are_stored) {
  c->create({.task = "ps:0"}, "Tally");
  auto const other = c->create({.task = "ps:0", .name = "counter"}, "Counter", 7);
  EXPECT_EQ(c->save(path), 1u);
  EXPECT_EQ(
      thrown_by<std::invalid_argument>([&] {
        c->create({.task = "ps:0", .saved = true}, "Tally");
      }).what(),
      std::string("object_options.saved: an object that is saved in checkpoints needs a name"));
  auto const n = c->create({.task = "ps:0", .name = "n", .saved = true}, "Tally");
  EXPECT_EQ(thrown_by<std::invalid_argument>([&] { c->restore(path); }).what(),
            std::string("checkpoint 1 has no object 'n'"));
  c->create({.task = "ps:0", .name = "wrong", .saved = true}, "Counter", 7);
  EXPECT_EQ(thrown_by<closure_error>([&] { c->save(path); }).message(),
            "'Counter' has no method 'save_state'; its methods are: value");
  EXPECT_EQ(newest(), 1u);
  EXPECT_TRUE(checkpoints_in(path, true).empty());
}

TEST_F(checkpoints, recreated_objects_are_not_saved_before_restore) {
  logged log;
  auto m = made_by(*c, 2, "ps:0");
  m.v.assign(1);
  auto made = c->checkpoints(path, often, {.keep = 2});
  wait_for_next(made);
  m.n.erase();
  wait_for_next(made);
  m.n = c->create({.task = "ps:1", .name = "n", .saved = true}, "Tally");
  log.wait_for(waits);
  m.n.erase();
  m.v.erase();
  m = made_by(*c, 1, "ps:0");
  // The newest has no "n", which was deleted before.
  EXPECT_THROW(c->restore(path), std::invalid_argument);
  m.n.erase();
  EXPECT_EQ(c->restore(path), newest());
  EXPECT_EQ(m.numbers(), floats(4, 1));
  wait_for_next(made);
  EXPECT_LE(checkpoints_in(path).size(), 3u);
  made.stop();
  EXPECT_EQ(checkpoints_in(path).size(), 2u);
}

TEST_F(checkpoints, existing_checkpoint_is_kept_until_it_is_restored) {
  logged log;
  auto m = made_by(*c, 2, "ps:0");
  m.v.assign(4);
  c->save(path);
  m = again();
  auto const made = c->checkpoints(path, often);
  log.wait_for(waits);
  EXPECT_EQ(checkpoints_in(path).size(), 1u);
  EXPECT_EQ(c->restore(path), 1u);
  wait_for_next(made);
  EXPECT_EQ(m.numbers(), floats(4, 4));
}

TEST_F(checkpoints, checkpoints_pause_after_a_task_loss_until_restore) {
  logged log;
  auto m = made_by(*c, 2, "ps:0");
  auto const made = c->checkpoints(path, often);
  m.v.assign(3);
  m.n.call<int>("add", 3).fetch();
  wait_for_next(made);
  ps1.reset();
  log.wait_for("no checkpoint was saved: ");
  log.wait_for(waits);
  auto const last = newest();
  EXPECT_THROW(c->join(), unavailable_error) << "the error is reported as usual";
  ps1.emplace(ps_at(server.address(), 1), add_tally);
  m.v.erase();
  m.n.erase();
  m = made_by(*c, 3, "ps:1");
  EXPECT_EQ(newest(), last);
  EXPECT_EQ(c->restore(path), last);
  EXPECT_EQ(m.numbers(), floats(4, 3));
  EXPECT_EQ(m.count(), 3);
  wait_for_next(made);
}

TEST_F(checkpoints, partly_restored_state_is_not_saved) {
  auto m = made_by(*c, 2, "ps:0");
  m.v.assign(1);
  c->save(path);
  m.v.assign(0);
  m.n.call<void>("refuse", true).fetch();
  EXPECT_THROW(c->restore(path), closure_error);
  EXPECT_EQ(m.numbers(), floats(4, 1)) << "the variable was restored before the object refused";
  logged log;
  auto const made = c->checkpoints(path, often);
  log.wait_for(waits);
  m.n.call<void>("refuse", false).fetch();
  EXPECT_EQ(c->restore(path), 1u);
  wait_for_next(made);
}

TEST_F(checkpoints, quiesced_checkpoint_is_consistent_across_variables) {
  std::vector const vs{c->make_variable<float>({.name = "v0", .task = "ps:0"}, {1}),
                       c->make_variable<float>({.name = "v1", .task = "ps:1"}, {1})};
  std::atomic<bool> over = false;
  std::thread schedules([&] {
    while (!over) {
      for (int i = 0; i < 5; ++i) c->schedule<void>("both", vs);
      c->join();
    }
  });
  auto const at = [](detail::checkpoint_reader& from, char const* name) {
    float n = 0;
    copy(from.rows(name, 0, 1).first.at(0).view(), &n);
    return n;
  };
  for (int i = 0; i < 5; ++i) {
    auto const number = c->save(path, {.keep = 1, .quiesce = true});
    detail::checkpoint_reader from(path, number);
    auto const n = at(from, "v0");
    EXPECT_EQ(n, at(from, "v1"));
    while (vs[0].read().fetch().data[0] <= n) std::this_thread::yield();  // others continue
  }
  over = true;
  schedules.join();
}

TEST_F(checkpoints, quiesce_times_out_while_calls_run) {
  c.emplace(coordinator_options{.server = server.address(), .schedule_timeout = milliseconds(50)});
  c->make_variable<float>({.name = "v"}, {1});
  auto const held = c->schedule<int>("hold");
  g.wait_for(1);
  EXPECT_EQ(thrown_by<wait_timeout>([&] {
              c->save(path, {.quiesce = true, .timeout = milliseconds(20)});
            }).what(),
            std::string("1 closure that the checkpoint waits for did not finish within 20 ms"));
  {
    auto const made = c->checkpoints(path, often, {.quiesce = true});
    auto const is_held = [&] {
      try {
        c->schedule<int>("same", 1);
        return false;
      } catch (wait_timeout const&) {
        return true;
      }
    };
    while (!is_held()) std::this_thread::yield();
  }  // does not wait for running calls
  EXPECT_FALSE(std::filesystem::exists(path));
  auto const more = c->schedule<int>("same", 2);
  g.open();
  EXPECT_EQ(held.fetch() + more.fetch(), 3) << "and scheduling is not paused any longer";
  EXPECT_EQ(c->save(path, {.quiesce = true}), 1u);
}

TEST_F(checkpoints, quiesced_checkpoint_throws_the_pending_error) {
  c->schedule<void>("both", "no variables");
  EXPECT_THROW(c->save(path, {.quiesce = true}), closure_error);
  EXPECT_EQ(c->save(path, {.quiesce = true}), 1u);
}

TEST_F(checkpoints, write_error_is_thrown_once_by_the_next_call) {
  c->make_variable<float>({.name = "v"}, {1});
  std::ofstream(path) << "no directory";
  {
    logged log;
    auto made = c->checkpoints(path, often);
    log.wait_for("no checkpoint was saved: ");
    EXPECT_THROW(made.stop(), std::exception);
    EXPECT_NO_THROW(made.stop());
    EXPECT_NO_THROW(c->join());
  }
  {
    logged log;
    auto const made = c->checkpoints(path, often);
    log.wait_for("no checkpoint was saved: ");
  }
  EXPECT_THROW(c->done(), std::exception);
  EXPECT_NO_THROW(c->done());
  EXPECT_THROW((void)c->checkpoints(path, milliseconds(0)), std::invalid_argument);
  EXPECT_THROW((void)c->checkpoints(path, often, {.keep = 0}), std::invalid_argument);
}

TEST(known_state, remembers_a_limited_number_of_deleted_names) {
  temporary_directory const folder;
  detail::known_state known;
  std::uint64_t id = 0;
  auto const make_and_delete = [&](std::string const& name) {
    auto const place = std::make_shared<detail::object_place const>(detail::object_place{++id});
    known.add({place, nullptr}, name);
    known.forget(id);
  };
  for (std::size_t n = 0; n <= known.deleted_max; ++n) make_and_delete(std::to_string(100'000 + n));
  make_and_delete("100000");  // which was forgotten
  EXPECT_EQ(known.save_unless_restarted(folder.path(), {}), 1u);
  make_and_delete("100001");
  EXPECT_EQ(known.save_unless_restarted(folder.path(), {}), std::nullopt);
}

TEST_F(checkpoints, end_with_their_coordinator) {
  auto made = c->checkpoints(path, std::chrono::hours(1));
  c.reset();
  made.stop();
  EXPECT_EQ(made.last(), std::nullopt);
}

}  // namespace
}  // namespace muster::test
