#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

using namespace std::chrono_literals;

class stop : public web_fixture {
 protected:
  std::uint64_t parked() {
    return core_engine().run(
        [](server::hub& h) { return h.state().overview(h.now()).parked_calls; });
  }
};

TEST_F(stop, idle_connections_do_not_delay_it) {
  start();
  raw_socket silent(port());
  get("/livez");
  auto const begin = std::chrono::steady_clock::now();
  stop_web(30s);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_EQ(silent.receive_all(), "");
}

TEST_F(stop, request_in_progress_is_finished) {
  start();
  auto& w = add_worker(worker::habit::hold);
  auto const id = text_at(submit(1), "/id");
  raw_socket s(port());
  s.send("GET /api/v1/jobs/" + id + "/join HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  server_->stop(20s);
  w.finish_all("1");
  auto const answer = s.receive_all();
  EXPECT_NE(answer.find("\"done\":true"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  web_thread_.join();
}

TEST_F(stop, requests_beyond_the_grace_period_are_cut_off) {
  start();
  auto const id = text_at(submit(1), "/id");
  raw_socket s(port());
  s.send("GET /api/v1/jobs/" + id + "/join?timeout=5m HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  auto const begin = std::chrono::steady_clock::now();
  stop_web(100ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_EQ(s.receive_all(), "");
  EXPECT_TRUE(eventually([&] { return parked() == 0; }));
}

TEST_F(stop, parked_calls_are_answered_when_the_engine_stops_first) {
  start();
  auto const id = text_at(submit(1), "/id");
  raw_socket s(port());
  s.send("GET /api/v1/jobs/" + id + "/join?timeout=5m HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return parked() == 1; }));
  engine_->stop();
  EXPECT_NE(s.receive_until("\r\n\r\n").find("503 "), std::string::npos);
}

TEST_F(stop, can_be_repeated_and_precede_the_start) {
  start();
  server_->stop(1s);
  server_->stop(1s);
  stop_web();
  server_->stop(1s);

  web_options options;
  options.port = 0;
  web_server early(options, core_engine().gateway());
  ASSERT_TRUE(early.listen());
  early.stop(1s);
  early.run();
}

TEST_F(stop, closed_gateway_refuses_work_with_503) {
  start();
  bool ran = false;
  core_engine().gateway().close();
  EXPECT_FALSE(core_engine().gateway().post([&](engine_services&) { ran = true; }));
  EXPECT_EQ(get("/readyz").status, 503u);
  core_engine().gateway().open();
  EXPECT_EQ(get("/readyz").status, 200u);
  EXPECT_FALSE(ran);
}

TEST_F(stop, new_connections_are_refused) {
  start();
  stop_web();
  http_request r;
  r.url = url("/livez");
  auto const answer = client_.send(r);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, muster::code::unavailable);
}

}  // namespace
}  // namespace muster::web::test
