#include "server/hub/id_parsing.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

using namespace std::chrono_literals;
using core::object_id;
using core::objects::object_spec;

/// A session that creates objects, and records the answers to its calls.
struct object_session : server::session_sink {
  void on_outcome(core::outcome const&) override {}
  void on_notice(core::session_notification const&) override {}
  void on_replaced() override {}
  void on_removed(muster::status const&) override {}
  void on_journal_failure(muster::status const&) override {}
  void on_object_answer(core::objects::call_answer const& a) override { answers.push_back(a); }
  std::vector<core::objects::call_answer> answers;
};

struct objects : web_fixture {
  server::hub_worker holder;
  object_session session;
  std::uint64_t number = 0;
  static constexpr core::session_id id{5}, others{6};

  void TearDown() override {
    if (engine_) core_engine().run([this](server::hub& h) { h.detach(id); });
    web_fixture::TearDown();
  }
  /// Attaches the task "ps:0", and a session of each token.
  void prepare(std::string const& submitter = {}, std::string const& other = {}) {
    core_engine().run([&, this](server::hub& h) {
      holder.attach(h);
      h.attach(id, session);
      attach_objects(h, 7);
      EXPECT_TRUE(h.objects().open(id, {"a ticket of a session", submitter, false}).ok());
      EXPECT_TRUE(h.objects().open(others, {"a ticket of another one", other, false}).ok());
    });
  }
  void attach_objects(server::hub& h, std::uint64_t incarnation) const {
    h.objects().attached(holder.stream, {"ps", 0}, core::incarnation{incarnation}, true);
  }
  std::string make(object_spec spec, bool built = true, core::session_id by = id) {
    if (spec.class_name.empty()) spec.class_name = "Weights";
    if (spec.job.empty()) spec.job = "ps";
    return core::text(core_engine().run([&, this](server::hub& h) {
      auto const made = *h.objects().create(by, ++number, spec);
      if (built) h.objects().built(holder.stream, made, std::nullopt);
      return made;
    }));
  }
  static object_spec named(std::string name) {
    object_spec s;
    s.name = std::move(name);
    return s;
  }
  void call(std::string const& object) {
    core_engine().run([&, this](server::hub& h) {
      h.objects().call(id, {{++number, *server::parse_object(object), "add", {}}}, {});
    });
  }
  std::vector<std::string> listed(std::string const& query) {
    std::vector<std::string> found;
    auto const page = get_json("/api/v1/objects?" + query);
    for (auto const& o : page.at("objects").as_array()) found.push_back(text_at(o, "/id"));
    return found;
  }
};

using texts = std::vector<std::string>;

TEST_F(objects, are_shown_with_state_task_and_calls) {
  start();
  prepare();
  auto spec = named("weights");
  spec.detached = true;
  spec.concurrency = 2;
  auto const made = make(spec);
  for (int i = 0; i < 3; ++i) call(made);
  auto const o = get_json("/api/v1/objects/weights");
  EXPECT_EQ(o, get_json("/api/v1/objects/" + made));
  EXPECT_EQ(text_at(o, "/id"), made);
  EXPECT_EQ(text_at(o, "/class"), "Weights");
  EXPECT_EQ(text_at(o, "/task"), "ps:0");
  EXPECT_EQ(text_at(o, "/state"), "READY");
  EXPECT_EQ(text_at(o, "/incarnation"), "0000000000000007");
  EXPECT_EQ(text_at(o, "/session"), "job_0000000000000005");
  EXPECT_TRUE(o.at("detached").as_bool());
  EXPECT_EQ(number_at(o, "/concurrency"), 2);
  EXPECT_EQ(number_at(o, "/calls/executing"), 2);
  EXPECT_EQ(number_at(o, "/calls/waiting"), 1);
  EXPECT_EQ(number_at(o, "/calls/answered"), 0);
  core_engine().run([&, this](server::hub& h) {
    core::failure const why{core::failure_kind::user, "ValueError", "no", "", "", 0};
    h.objects().reports(holder.stream, {{*server::parse_object(made),
                                         {{core::objects::caller_of(id), 2}, false, {}, why}}});
  });
  auto const later = get_json("/api/v1/objects/weights");
  EXPECT_EQ(text_at(later, "/last_error"), "ValueError: no");
  EXPECT_EQ(number_at(later, "/calls/answered"), 1);
  EXPECT_EQ(get("/api/v1/objects/nobody").status, 404u);
  EXPECT_EQ(get("/api/v1/objects/obj_0000000000000001").status, 404u);
  EXPECT_EQ(get("/api/v1/objects?cluster=nowhere").status, 404u);
}

TEST_F(objects, are_listed_newest_first_in_pages_and_filtered) {
  start();
  prepare();
  auto elsewhere = named("bias");
  elsewhere.job = "worker";
  elsewhere.index = 3;
  elsewhere.class_name = "Bias";
  auto const first = make(named("weights")), second = make(elsewhere, false),
             third = make({}, true, others);
  EXPECT_EQ(listed(""), (texts{third, second, first}));
  auto const page = get_json("/api/v1/objects?limit=2");
  EXPECT_EQ(page.at("objects").as_array().size(), 2u);
  EXPECT_EQ(listed("limit=2&page_token=" + text_at(page, "/next_page_token")), texts{first});
  EXPECT_EQ(listed("task=worker:3"), texts{second});
  EXPECT_EQ(listed("task=ps"), (texts{third, first}));
  EXPECT_EQ(listed("task=ps:1"), texts{});
  EXPECT_EQ(listed("class=Bias"), texts{second});
  EXPECT_EQ(listed("state=pending"), texts{second});
  EXPECT_EQ(listed("session=job_0000000000000006"), texts{third});
  EXPECT_EQ(listed("q=EIGH"), texts{first});
  EXPECT_EQ(get("/api/v1/objects?session=x").status, 400u);
}

TEST_F(objects, lost_object_and_its_event_have_the_reason) {
  start();
  prepare();
  auto const made = make(named("weights"));
  core_engine().run([this](server::hub& h) { attach_objects(h, 8); });
  auto const o = get_json("/api/v1/objects/" + made);
  EXPECT_EQ(text_at(o, "/state"), "LOST");
  EXPECT_EQ(text_at(o, "/reason"), "REPLACED");
  EXPECT_CONTAINS(text_at(o, "/error"), "another worker process took its place");
  EXPECT_EQ(get("/api/v1/objects/weights").status, 404u) << "the name is free";
  EXPECT_EQ(listed("state=LOST"), texts{made});
  auto const metrics = get("/metrics").body;
  EXPECT_CONTAINS(metrics, "muster_objects{state=\"lost\"} 1\n");
  auto const events = get("/api/v1/events").body;
  EXPECT_CONTAINS(events, "objects_lost");
  EXPECT_CONTAINS(events,
                  "1 object on it is lost (weights): another worker process took its place");
}

TEST_F(objects, deleted_object_fails_its_waiting_calls) {
  start();
  prepare();
  auto const made = make(named("weights"));
  call(made);
  EXPECT_EQ(send("DELETE", "/api/v1/objects/weights").status, 204u);
  EXPECT_EQ(send("DELETE", "/api/v1/objects/weights").status, 404u);
  auto const answers = core_engine().run([this](server::hub&) { return session.answers; });
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].why.kind, core::failure_kind::cancelled);
  EXPECT_CONTAINS(get("/metrics").body, "muster_object_calls_total{outcome=\"cancelled\"} 1\n");
}

TEST_F(objects, are_hidden_from_other_tokens) {
  start_guarded();
  auto const fresh = [this] {
    server::token_request w;
    w.role = core::role::submitter;
    return core_engine().run(
        [this, w](engine_services&) { return core_engine().tokens().create(w, nullptr).value(); });
  };
  auto const alice = fresh(), bob = fresh();
  auto const of_alice = alice.credential, of_bob = bob.credential;
  prepare(alice.token.id, bob.token.id);
  auto const made = make(named("weights"));
  make(named("bias"), true, others);
  auto const count = [&](std::string const& token) {
    return json::parse(send_as(token, "GET", "/api/v1/objects").body)
        .at("objects")
        .as_array()
        .size();
  };
  EXPECT_EQ(count(of_alice), 1u);
  EXPECT_EQ(count(of_bob), 1u);
  EXPECT_EQ(count(admin_), 2u);
  auto const path = "/api/v1/objects/" + made;
  EXPECT_EQ(text_at(json::parse(send_as(of_alice, "GET", path).body), "/submitted_by"),
            alice.token.id);
  EXPECT_EQ(send_as(of_bob, "GET", path).status, 403u);
  EXPECT_EQ(send_as(of_bob, "GET", "/api/v1/objects/weights").status, 403u);
  EXPECT_EQ(send_as(of_bob, "DELETE", path).status, 403u);
  EXPECT_EQ(send_as(make_token(core::role::viewer), "DELETE", path).status, 403u);
  EXPECT_EQ(send_as(of_alice, "DELETE", path).status, 204u);
  EXPECT_EQ(send_as(admin_, "DELETE", "/api/v1/objects/bias").status, 204u);
}

TEST_F(objects, are_visible_to_tokens_of_their_cluster) {
  start_guarded();
  prepare();
  make(named("weights"));
  ASSERT_EQ(send_as(admin_, "POST", "/api/v1/clusters", R"({"name":"train"})").status, 201u);
  auto const train = make_token(core::role::submitter, {"train"});
  for (auto const* path : {"/api/v1/objects", "/api/v1/objects/weights"})
    EXPECT_EQ(send_as(train, "GET", path).status, 403u) << path;
  EXPECT_EQ(send_as(train, "DELETE", "/api/v1/objects/weights").status, 403u);
  EXPECT_EQ(send_as(train, "GET", "/api/v1/objects?cluster=train").status, 200u);
  EXPECT_EQ(send_as(train, "GET", "/api/v1/objects/weights?cluster=train").status, 404u);
}

}  // namespace
}  // namespace muster::web::test
