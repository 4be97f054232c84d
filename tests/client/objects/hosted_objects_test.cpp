#include "client/worker/hosted_objects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "muster/function_error.hpp"
#include "tests/client/fake_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {
namespace {

constexpr std::uint64_t id = 40, who = 9;

void order_build(v1::ServerMessage& m, std::string const& name, std::uint64_t object = id) {
  auto& b = *m.mutable_objects()->add_build();
  b.set_object(object);
  b.set_function(name);
  b.set_args("[]");
  b.set_concurrency(1);
}

void order_call(v1::ServerMessage& m, std::uint64_t number, std::string const& method = "count",
                std::uint64_t caller = who, std::string const& args = "[]",
                v1::Encoding e = v1::JSON) {
  auto& o = *m.mutable_objects();
  o.add_object(id);
  o.add_caller(caller);
  o.add_of_worker(false);
  o.add_number(number);
  o.add_method(method);
  o.add_args(args);
  o.add_encoding(e);
}

void order_begin(v1::ServerMessage& m, bool keeps) {
  m.mutable_objects()->set_begin(true);
  if (keeps) m.mutable_objects()->add_kept(id);
}

struct heard {
  std::vector<std::string> values;
  std::vector<std::uint64_t> firsts, built;
  std::vector<v1::Failure> failures, failed;
};

/// Reads until there are reports about this many answers and objects.
heard read_reports(worker_stream* s, std::size_t answers, std::size_t objects) {
  heard h;
  v1::WorkerMessage m;
  while (h.values.size() < answers || h.built.size() + h.failed.size() < objects) {
    if (!s->Read(&m)) break;
    auto const& r = m.objects();
    for (auto const& v : r.value()) h.values.push_back(v);
    if (r.value_size() > 0) h.firsts.push_back(r.first());
    for (auto const& f : r.failure()) h.failures.push_back(f);
    for (auto const b : r.built()) h.built.push_back(b);
    for (auto const& f : r.failed()) h.failed.push_back(f.failure());
  }
  return h;
}

void drain(worker_stream* s) {
  v1::ServerMessage m;
  m.set_drain(true);
  s->Write(m);
  v1::WorkerMessage rest;
  while (s->Read(&rest)) {
  }
}

struct tally {
  int count() { return ++n; }
  int n = 0;
};

struct hosted : testing::Test {
  fake_server server;
  std::atomic<int> made = 0;

  /// Serves the streams one after the other. The last stream drains the worker.
  void run(std::vector<std::function<void(worker_stream*)>> streams) {
    std::size_t n = 0;
    server.on_attach = [&](worker_stream* s) {
      auto const hello = greet(s);
      EXPECT_TRUE(hello.hello().objects());
      streams[std::min(n, streams.size() - 1)](s);
      if (++n < streams.size()) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "later");
      drain(s);
      return grpc::Status::OK;
    };
    worker_thread w(options_for(server.address()), [this](worker& to) {
      to.object(object_class<tally>("Tally")
                    .made_by([this] {
                      ++made;
                      return std::make_shared<tally>();
                    })
                    .method("count", &tally::count));
    });
    EXPECT_EQ(w.join(), 0);
  }
};

TEST_F(hosted, repeats_answers_without_executing_calls_twice) {
  run({[](worker_stream* s) {
         v1::ServerMessage m;
         order_begin(m, false);
         order_build(m, "Tally");
         order_call(m, 1);
         order_call(m, 2);
         s->Write(m);
         auto const h = read_reports(s, 2, 1);
         EXPECT_EQ(h.values, (std::vector<std::string>{"1", "2"}));
         EXPECT_EQ(h.built, std::vector<std::uint64_t>{id});
         EXPECT_EQ(h.firsts.front(), 1u);
       },
       [](worker_stream* s) {
         v1::ServerMessage m;
         order_begin(m, true);
         order_build(m, "Tally");
         order_call(m, 1);
         order_call(m, 2);
         order_call(m, 3);
         s->Write(m);
         auto h = read_reports(s, 3, 1);
         std::sort(h.values.begin(), h.values.end());
         EXPECT_EQ(h.values, (std::vector<std::string>{"1", "2", "3"}));
         EXPECT_EQ(h.built, std::vector<std::uint64_t>{id}) << "it says so again";
         EXPECT_EQ(h.firsts.front(), 3u) << "numbers continue across streams";
         v1::ServerMessage taken;
         taken.mutable_objects()->set_answers_taken(5);
         order_call(taken, 4);
         s->Write(taken);
         EXPECT_EQ(read_reports(s, 1, 0).values, std::vector<std::string>{"4"});
       },
       [](worker_stream* s) {
         v1::ServerMessage m;
         order_begin(m, true);
         order_call(m, 3);  // its answer was acknowledged, and is not kept
         order_call(m, 4);
         s->Write(m);
         EXPECT_EQ(read_reports(s, 1, 0).values, std::vector<std::string>{"4"});
       }});
  EXPECT_EQ(made, 1);
}

TEST_F(hosted, drops_objects_that_the_server_does_not_keep) {
  auto const anew = [](worker_stream* s) {
    v1::ServerMessage m;
    order_begin(m, false);
    order_build(m, "Tally");
    order_call(m, 1);
    s->Write(m);
    EXPECT_EQ(read_reports(s, 1, 1).values, std::vector<std::string>{"1"});
  };
  run({anew, anew});
  EXPECT_EQ(made, 2);
}

TEST_F(hosted, repeats_the_failure_of_a_constructor) {
  auto const none = [](worker_stream* s) {
    v1::ServerMessage m;
    order_begin(m, false);
    order_build(m, "python:3.11");
    s->Write(m);
    auto const h = read_reports(s, 0, 1);
    ASSERT_EQ(h.failed.size(), 1u);
    EXPECT_EQ(h.failed[0].kind(), v1::STALE_HANDLE);
    EXPECT_EQ(h.failed[0].message(),
              "this C++ worker has no class 'python:3.11'; its classes are: Tally");
  };
  run({none, none});
}

TEST_F(hosted, names_the_accepted_format_to_callers_in_other_languages) {
  run({[](worker_stream* s) {
    v1::ServerMessage m;
    order_begin(m, false);
    order_build(m, "Tally");
    order_call(m, 1, "count", who, "\x80\x05.", v1::BYTES);
    s->Write(m);
    auto const h = read_reports(s, 1, 1);
    ASSERT_EQ(h.failures.size(), 1u);
    EXPECT_EQ(h.failures[0].message(),
              "C++ objects accept only JSON arguments, not pickled arguments from Python");
  }});
}

TEST_F(hosted, remembers_call_numbers_of_a_limited_number_of_callers) {
  run({[](worker_stream* s) {
    v1::ServerMessage m;
    order_begin(m, false);
    order_build(m, "Tally");
    auto const callers = hosted_objects::callers_max + 1;
    for (std::uint64_t k = 1; k <= callers; ++k) order_call(m, 1, "count", k);
    s->Write(m);
    read_reports(s, callers, 1);
    v1::ServerMessage taken, again;
    taken.mutable_objects()->set_answers_taken(callers);
    s->Write(taken);
    order_call(again, 1, "count", 2);  // known, so it is not executed again
    order_call(again, 1, "count", 1);  // the first caller was forgotten
    s->Write(again);
    EXPECT_EQ(read_reports(s, 1, 0).values, std::vector<std::string>{std::to_string(callers + 1)});
  }});
}

TEST_F(hosted, ignores_unequal_columns_and_unknown_objects) {
  run({[](worker_stream* s) {
    v1::ServerMessage m;
    order_begin(m, false);
    m.mutable_objects()->add_drop(77);
    order_call(m, 1);  // of no object
    m.mutable_objects()->add_number(5);
    s->Write(m);
    v1::ServerMessage more;
    order_build(more, "Tally");
    order_call(more, 1);
    s->Write(more);
    EXPECT_EQ(read_reports(s, 1, 1).values, std::vector<std::string>{"1"});
  }});
}

// A caller must not delay a draining worker by sending more calls.
TEST_F(hosted, executes_no_calls_received_after_its_worker_leaves) {
  std::promise<void> reached;
  std::vector<std::string> small;
  server.on_attach = [&](worker_stream* s) {
    greet(s);
    v1::ServerMessage m, leave, more;
    order_begin(m, false);
    order_build(m, "Tally");
    for (std::uint64_t n = 1; n <= 20; ++n) order_call(m, n, "large");
    order_call(m, 21, "last");
    s->Write(m);
    reached.get_future().wait();  // the answers wait for the client to read
    leave.set_drain(true);
    s->Write(leave);
    order_call(more, 22);
    s->Write(more);
    v1::WorkerMessage r;
    while (s->Read(&r))
      for (auto const& v : r.objects().value())
        if (v.size() < 10) small.push_back(v);
    return grpc::Status::OK;
  };
  worker_thread w(options_for(server.address()), [&](worker& to) {
    to.object(
        object_class<tally>("Tally")
            .method("count", &tally::count)
            .method("large",
                    [](tally&) { return std::string(hosted_objects::bytes_per_message_max, 'x'); })
            .method("last", [&](tally&) { reached.set_value(); }));
  });
  EXPECT_EQ(w.join(), 0);
  EXPECT_LE(small.size(), 1u) << "the answers of the message before it";
}

/// Objects without a stream. Counts the wake-ups that ask for a report.
struct hosted_alone : testing::Test {
  std::atomic<int> wakes = 0;
  std::promise<void> reached, go_on;
  bool let_go = false;
  hosted_objects all;

  ~hosted_alone() override {
    if (!std::exchange(let_go, true)) go_on.set_value();
    all.end();
  }

  void begin(object_class<tally> const& c) {
    all.add(c.entry());
    all.begin([this] {
      ++wakes;
      wakes.notify_all();
    });
    all.welcomed(std::make_shared<worker_identity const>());
    v1::ServerMessage m;
    order_build(m, "Tally");
    all.take(*m.mutable_objects());
  }
  /// Returns a method that signals its start, and then blocks.
  auto blocks() {
    return [this](tally&) {
      reached.set_value();
      go_on.get_future().wait();
    };
  }
  v1::WorkerMessage said() {
    v1::WorkerMessage m;
    if (all.reports()) all.report(m);
    return m;
  }
};

TEST_F(hosted_alone, calls_made_by_methods_alternate_with_large_answers) {
  auto const large = hosted_objects::bytes_per_message_max + 1;
  begin(object_class<tally>("Tally")
            .method("large", [](tally&) { return std::string(large, 'x'); })
            .method("ask", [](tally&, remote_object const& o) { o.call<void>("count"); })
            .method("block", blocks()));
  v1::ServerMessage m;
  for (std::uint64_t n = 1; n <= 10; ++n) order_call(m, n, "large");
  order_call(m, 11, "ask", who,
             R"([{"$object":"obj_0000000000000001","task":"ps:0","class":"C","ticket":"AAAA"}])");
  order_call(m, 12, "block");
  all.take(*m.mutable_objects());
  reached.get_future().wait();
  EXPECT_EQ(said().objects().value_size(), 1);
  auto const second = said();
  ASSERT_EQ(second.object_requests_size(), 1) << "not behind nine more answers";
  EXPECT_EQ(second.object_requests(0).method(0), "count");
  EXPECT_EQ(second.objects().value_size(), 0);
  EXPECT_EQ(said().objects().value_size(), 1);
}

TEST_F(hosted_alone, tracebacks_count_towards_the_message_size) {
  auto const large = hosted_objects::bytes_per_message_max / 2 + 1;
  begin(object_class<tally>("Tally")
            .method("raise",
                    [](tally&) {
                      throw function_error("broken", "ValueError", std::string(large, 'x'));
                    })
            .method("block", blocks()));
  v1::ServerMessage m;
  for (std::uint64_t n = 1; n <= 4; ++n) order_call(m, n, "raise");
  order_call(m, 5, "block");
  all.take(*m.mutable_objects());
  reached.get_future().wait();
  for (int n = 1; n <= 4; ++n) EXPECT_EQ(said().objects().failure_size(), 1);
}

// A report can include an answer before its wake-up. The next answer still has to wake the
// reporter.
TEST_F(hosted_alone, answer_after_an_early_report_wakes_the_stream_again) {
  begin(object_class<tally>("Tally").method("count", &tally::count));
  for (std::uint64_t n = 1; n <= 20'000; ++n) {
    v1::ServerMessage m;
    order_call(m, n);
    all.take(*m.mutable_objects());
    for (int answers = 0; answers == 0;) {
      int const before = wakes;
      if (all.reports())
        answers = said().objects().value_size();
      else if (n % 2 == 0)
        wakes.wait(before);
    }
  }
}

TEST(object_class, invalid_class_is_refused) {
  muster::worker w(options_for("127.0.0.1:1"));
  w.object(object_class<tally>("Tally"));
  EXPECT_THROW(w.object(object_class<tally>("Tally")), std::invalid_argument);
  EXPECT_THROW(w.object(object_class<tally>("")), std::invalid_argument);
  EXPECT_THROW(w.object(object_class<tally>("Other").concurrency(0)), std::invalid_argument);
  struct needs_one {
    explicit needs_one(int) {}
  };
  EXPECT_THROW(w.object(object_class<needs_one>("One")), std::invalid_argument);
  object_class<tally> c("Twice");
  c.method("count", &tally::count);
  EXPECT_THROW(c.method("count", &tally::count), std::invalid_argument);
}

}  // namespace
}  // namespace muster::test
