#include "server/hub/id_parsing.hpp"
#include "tests/support/hub_sinks.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

using texts = std::vector<std::string>;

struct datasets : web_fixture {
  std::uint64_t number = 0;
  static constexpr core::session_id id{5}, others{6};

  void prepare(std::string const& submitter = {}, std::string const& other = {}) {
    core_engine().run([&](server::hub& h) {
      EXPECT_TRUE(h.objects().open(id, {"a ticket of a session", submitter, false}).ok());
      EXPECT_TRUE(h.objects().open(others, {"a ticket of another one", other, false}).ok());
    });
  }
  std::string make(std::string name, core::session_id by = id) {
    return core::text(core_engine().run([&, this](server::hub& h) {
      core::datasets::dataset_spec spec;
      spec.name = std::move(name);
      spec.splits = {"a", "b", "c"};
      spec.epochs = 2;
      spec.at = {1, {2}};
      return *h.objects().create_dataset(by, ++number, spec);
    }));
  }
  texts listed(std::string const& query) {
    texts found;
    auto const page = get_json("/api/v1/datasets?" + query);
    for (auto const& o : page.at("datasets").as_array()) found.push_back(text_at(o, "/id"));
    return found;
  }
};

TEST_F(datasets, are_shown_with_their_progress) {
  start();
  prepare();
  auto const made = make("files");
  auto const d = get_json("/api/v1/datasets/" + made);
  EXPECT_EQ(text_at(d, "/id"), made);
  EXPECT_EQ(text_at(d, "/name"), "files");
  EXPECT_EQ(text_at(d, "/session"), "job_0000000000000005");
  EXPECT_EQ(number_at(d, "/epochs"), 2);
  EXPECT_EQ(number_at(d, "/epoch"), 1);
  EXPECT_EQ(number_at(d, "/splits"), 3);
  EXPECT_EQ(number_at(d, "/queued"), 2);
  EXPECT_EQ(number_at(d, "/drawn"), 0);
  EXPECT_EQ(number_at(d, "/done"), 1);
  EXPECT_TRUE(d.at("workers").as_array().empty());
  EXPECT_EQ(get("/api/v1/datasets/ds_0000000000000001").status, 404u);
  EXPECT_EQ(get("/api/v1/datasets/x").status, 404u);
  EXPECT_EQ(get("/api/v1/datasets?cluster=nowhere").status, 404u);
}

TEST_F(datasets, list_their_consumers) {
  start();
  server::hub_worker w;
  core::dataset_id dataset{};
  core_engine().run([&](server::hub& h) {
    core::worker_spec spec;
    spec.incarnation = core::incarnation{7};
    w.attach(h, spec);
    h.objects().attached(w.stream, {"worker", 0}, spec.incarnation, true);
    core::open_session e;
    e.spec.open = true;
    e.closures.push_back({h.learn({"f"}).ids.at(0), 0, 0, {}});
    core::session_id session{};
    h.ask(std::move(e),
          [&](core::reply const& r) { session = std::get<core::session_reply>(r.body).session; });
    EXPECT_TRUE(h.objects().open(session, {"a ticket of a session", {}, true}).ok());
    core::datasets::dataset_spec of;
    of.splits = {"a", "b"};
    dataset = *h.objects().create_dataset(session, 1, of);
    std::string args;
    auto const add = [&args](std::uint64_t n, int bytes) {
      for (int i = 0; i < bytes; ++i) args.push_back(static_cast<char>(n >> 8 * i));
    };
    add(core::raw(w.held.at(0).closure), 8);
    for (std::uint32_t const n : {1u, core::datasets::any_epoch, 1u}) add(n, 4);
    h.objects().call(
        core::incarnation{7}, "a ticket of a session",
        {{1, core::object_id{core::raw(dataset)}, "draw", core::blob(args, core::encoding::bytes)}},
        {});
  });
  auto const d = get_json("/api/v1/datasets/" + core::text(dataset));
  ASSERT_EQ(d.at("workers").as_array().size(), 1u);
  EXPECT_EQ(text_at(d, "/workers/0/task"), "worker:0");
  EXPECT_EQ(number_at(d, "/workers/0/drawn"), 1);
  EXPECT_EQ(number_at(d, "/workers/0/done"), 0);
}

TEST_F(datasets, are_listed_newest_first_in_pages) {
  start();
  prepare();
  auto const first = make("a"), second = make("b"), third = make("");
  EXPECT_EQ(listed(""), (texts{third, second, first}));
  auto const page = get_json("/api/v1/datasets?limit=2");
  EXPECT_EQ(page.at("datasets").as_array().size(), 2u);
  EXPECT_EQ(listed("limit=2&page_token=" + text_at(page, "/next_page_token")), texts{first});
}

TEST_F(datasets, are_hidden_from_other_tokens) {
  start_guarded();
  auto const fresh = [this] {
    server::token_request w;
    w.role = core::role::submitter;
    return core_engine().run(
        [this, w](engine_services&) { return core_engine().tokens().create(w, nullptr).value(); });
  };
  auto const alice = fresh(), bob = fresh();
  prepare(alice.token.id, bob.token.id);
  auto const made = make("a");
  make("b", others);
  auto const count = [&](std::string const& token) {
    return json::parse(send_as(token, "GET", "/api/v1/datasets").body)
        .at("datasets")
        .as_array()
        .size();
  };
  EXPECT_EQ(count(alice.credential), 1u);
  EXPECT_EQ(count(admin_), 2u);
  auto const path = "/api/v1/datasets/" + made;
  EXPECT_EQ(send_as(alice.credential, "GET", path).status, 200u);
  EXPECT_EQ(send_as(bob.credential, "GET", path).status, 403u);
  EXPECT_EQ(send_as(admin_, "GET", path).status, 200u);
}

}  // namespace
}  // namespace muster::web::test
