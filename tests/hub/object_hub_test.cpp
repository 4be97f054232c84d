#include <gtest/gtest.h>

#include "server/hub/hub.hpp"
#include "tests/support/hub_sinks.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using core::objects::call_answer;

/// `unread` bytes wait to be read.
struct object_worker : hub_worker {
  void on_build(core::object_id id, core::objects::object_spec const&) override {
    built.push_back(id);
  }
  void on_call(core::objects::call_order const& o, std::string const&, core::blob const&) override {
    called.push_back(o.name.number);
  }
  std::size_t bytes_to_send() const override { return unread; }

  std::vector<core::object_id> built;
  std::vector<std::uint64_t> called;
  std::size_t unread = 0;
};

struct object_session : session_sink {
  void on_outcome(core::outcome const&) override {}
  void on_notice(core::session_notification const&) override {}
  void on_replaced() override {}
  void on_removed(muster::status const&) override {}
  void on_journal_failure(muster::status const&) override {}
  void on_object_answer(call_answer const& a) override { answers.push_back(a); }
  std::vector<call_answer> answers;
};

TEST(object_hub, worker_that_does_not_read_gets_no_more_messages) {
  hub h{{}, {[] { return core::time_point{1s}; }, [](core::time_point) {}}};
  object_worker w;
  w.attach(h);
  h.objects().attached(w.stream, {"worker", 0}, core::incarnation{7}, true);
  object_session s;
  core::session_id const session{5};
  h.attach(session, s);
  ASSERT_TRUE(h.objects().open(session, {"a ticket of a session", {}, true}).ok());
  core::objects::object_spec spec;
  spec.job = "worker";
  auto const id = h.objects().create(session, 1, spec);
  ASSERT_TRUE(id);
  EXPECT_EQ(w.built, std::vector<core::object_id>{*id});
  h.objects().built(w.stream, *id, std::nullopt);
  auto const limit = 2 * core::objects::object_limits().waiting_bytes_max;
  w.unread = limit;
  h.objects().call(session, {{2, *id, "add", {}}}, {});
  EXPECT_EQ(w.called, std::vector<std::uint64_t>{2});
  w.unread = limit + 1;
  h.objects().call(session, {{3, *id, "add", {}}}, {});
  EXPECT_EQ(w.called.size(), 1u);
  ASSERT_EQ(s.answers.size(), 1u);
  EXPECT_EQ(s.answers[0].why.type, "muster.ResourceExhausted");
  auto const& o = *h.objects().state().find(*id);
  EXPECT_EQ(o.answered, 0u) << "its worker has not answered";
  EXPECT_EQ(o.last_error, "") << "no method has failed";
  auto const more = h.objects().create(session, 4, spec);
  ASSERT_TRUE(more);
  EXPECT_EQ(w.built.size(), 1u);
  EXPECT_EQ(h.objects().state().find(*more)->state, core::objects::object_state::failed);
}

TEST(object_hub, an_object_without_a_task_is_placed_on_the_task_with_the_fewest_objects) {
  hub h{{}, {[] { return core::time_point{1s}; }, [](core::time_point) {}}};
  object_session s;
  core::session_id const session{5};
  h.attach(session, s);
  ASSERT_TRUE(h.objects().open(session, {"a ticket of a session", {}, true}).ok());
  core::objects::object_spec spec;
  spec.function = "f";
  auto const none = h.objects().create(session, 1, spec);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, muster::code::unavailable);
  EXPECT_NE(none.error().message.find("provides 'f'"), std::string::npos);
  std::vector<object_worker> workers(3);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    auto& w = workers[i];
    core::worker_spec worker;
    worker.job = "worker";
    worker.index = static_cast<std::int64_t>(i);
    worker.incarnation = core::incarnation{7 + i};
    w.attach(h, worker);
    h.objects().attached(w.stream, {"worker", worker.index}, worker.incarnation, i != 1);
  }
  auto const first = h.objects().create(session, 2, spec);
  auto const second = h.objects().create(session, 3, spec);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(workers[0].built, std::vector<core::object_id>{*first});
  EXPECT_EQ(workers[2].built, std::vector<core::object_id>{*second}) << "worker:1 takes no objects";
  EXPECT_EQ(*h.objects().create(session, 2, spec), *first) << "it was requested again";
  h.apply(core::cordon_task{{}, "worker", 0, true});
  ASSERT_TRUE(h.objects().create(session, 4, spec));
  EXPECT_EQ(workers[2].built.size(), 2u) << "worker:0 accepts nothing new";
}

}  // namespace
}  // namespace muster::server
