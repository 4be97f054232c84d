#include <gtest/gtest.h>

#include "server/hub/hub.hpp"
#include "tests/support/hub_sinks.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

struct drawing_worker : hub_worker {
  void on_object_answer(core::objects::call_answer const& a) override { answers.push_back(a); }
  std::vector<core::objects::call_answer> answers;
  std::uint64_t incarnation = 0, number = 0;
};

struct dataset_hub : ::testing::Test {
  core::time_point clock{1s};
  hub h{{}, {[this] { return clock; }, [](core::time_point) {}}};
  static constexpr std::string_view ticket = "a ticket of a session";
  core::session_id session{};
  core::dataset_id dataset{};
  drawing_worker first, second;

  void begin(std::size_t closures, std::size_t splits) {
    attach(first, 7);
    attach(second, 8);
    core::open_session e;
    e.spec.open = true;
    e.spec.on_error = core::on_error::continue_all;
    for (std::size_t i = 0; i < closures; ++i)
      e.closures.push_back({h.learn({"f"}).ids.at(0), 0, i, {}});
    h.ask(std::move(e),
          [&](core::reply const& r) { session = std::get<core::session_reply>(r.body).session; });
    ASSERT_TRUE(h.objects().open(session, {std::string(ticket), {}, true}).ok());
    core::datasets::dataset_spec spec;
    for (std::size_t i = 0; i < splits; ++i) spec.splits.push_back("s" + std::to_string(i));
    dataset = *h.objects().create_dataset(session, 1, spec);
  }
  void attach(drawing_worker& w, std::uint64_t incarnation) {
    core::worker_spec spec;
    spec.incarnation = core::incarnation{incarnation};
    spec.slots = 1;
    spec.credits = 1;
    w.incarnation = incarnation;
    w.attach(h, spec);
    h.objects().attached(w.stream, {"worker", w.index}, core::incarnation{incarnation}, true);
  }
  /// Returns the immediate answer, or an empty string if the draw waits.
  std::string draw(drawing_worker& w, core::closure_id closure, std::uint32_t attempt = 1) {
    w.answers.clear();
    std::string args;
    for (int i = 0; i < 8; ++i) args.push_back(static_cast<char>(core::raw(closure) >> 8 * i));
    for (std::uint32_t n : {attempt, core::datasets::any_epoch, 1u})
      for (int i = 0; i < 4; ++i) args.push_back(static_cast<char>(n >> 8 * i));
    h.objects().call(core::incarnation{w.incarnation}, ticket,
                     {{++w.number, core::object_id{core::raw(dataset)}, "draw",
                       core::blob(args, core::encoding::bytes)}},
                     {});
    return told(w);
  }
  static std::string told(drawing_worker const& w) {
    if (w.answers.empty()) return {};
    auto const& a = w.answers.back();
    if (!a.ok) return a.why.message;
    auto const value = a.value.view();
    return std::string(a.value.encoding() == core::encoding::bytes ? value.substr(8) : value);
  }
  core::datasets::dataset_view view() { return h.objects().state().find(dataset)->view(dataset); }
};

TEST_F(dataset_hub, a_split_is_done_once_its_closure_has_succeeded) {
  begin(2, 2);
  auto const mine = first.held.at(0).closure;
  EXPECT_EQ(draw(first, mine), "s0");
  EXPECT_EQ(view().drawn, 1u);
  first.succeed(h, "1", 1);
  EXPECT_EQ(view().done, 1u);
  EXPECT_EQ(view().workers.at("worker:0").done, 1u);
  auto const other = second.held.at(0).closure;
  EXPECT_EQ(draw(second, other), "s1");
  EXPECT_EQ(draw(second, other), "null");
}

TEST_F(dataset_hub, failed_closure_and_lost_worker_return_their_splits) {
  begin(3, 2);
  auto const mine = first.held.at(0).closure, other = second.held.at(0).closure;
  EXPECT_EQ(draw(first, mine), "s0");
  EXPECT_EQ(draw(second, other), "s1");
  first.answer(
      h,
      [](core::worker_result& r, core::blob const&) {
        r.ok = false;
        r.failure = core::failure{core::failure_kind::user, "ValueError", "no", "", "", 0};
      },
      1);
  EXPECT_EQ(view().given_back, 1u);
  EXPECT_EQ(draw(first, first.held.at(0).closure), "s0");
  EXPECT_EQ(draw(first, first.held.at(0).closure), "") << "the other one can return its split";
  h.apply(core::worker_disconnected{second.stream, false, "gone"});
  EXPECT_EQ(told(first), "s1");
  EXPECT_EQ(view().given_back, 2u);
}

TEST_F(dataset_hub, closure_cancelled_before_its_first_draw_receives_the_end) {
  begin(1, 2);
  auto const mine = first.held.at(0).closure;
  h.ask(core::cancel_closure{{}, mine}, [](core::reply const&) {});
  EXPECT_EQ(draw(first, mine), "null");
  EXPECT_EQ(view().queued, 2u);
}

TEST_F(dataset_hub, worker_draws_only_for_closures_it_executes) {
  begin(2, 2);
  auto const mine = first.held.at(0).closure, other = second.held.at(0).closure;
  EXPECT_NE(draw(first, other).find("is not running"), std::string::npos);
  EXPECT_NE(draw(first, mine, 2).find("is not running"), std::string::npos);
  h.objects().call(core::incarnation{7}, ticket,
                   {{++first.number, core::object_id{core::raw(dataset)}, "draw", {}}}, {});
  EXPECT_EQ(told(first), "args: not valid for reading a split");
  EXPECT_EQ(view().queued, 2u);
}

}  // namespace
}  // namespace muster::server
