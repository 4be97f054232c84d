#include "tests/web/fixture.hpp"

#include "server/hub/access/token_file.hpp"
#include "tests/web/contract/contract.hpp"

namespace muster::web::test {

void web_fixture::start(web_options options, core::config config, std::uint32_t agents,
                        core::coordination::limits limits) {
  if (!engine_) engine_ = std::make_unique<engine>(config, agents, limits);
  options.port = 0;
  if (options.boot == 0) options.boot = 0x9f27c0de51a3b8e4;
  server_ = std::make_unique<web_server>(options, engine_->gateway());
  auto const bound = server_->listen();
  ASSERT_TRUE(bound) << bound.error().message;
  address_ = *bound;
  port_ = static_cast<unsigned short>(std::stoi(address_.substr(address_.rfind(':') + 1)));
  web_thread_ = std::thread([this] { server_->run(); });
}

void web_fixture::start_guarded(web_options options, bool keeps_tokens) {
  engine_ = std::make_unique<engine>(core::config{}, 2, core::coordination::limits{}, keeps_tokens);
  engine_->gate().require();
  options.gate = &engine_->gate();
  start(options);
  engine_->run([this](engine_services&) {
    engine_->on_token_ended = [this](std::string const& id) { server_->end_all_of(id); };
  });
  if (keeps_tokens) admin_ = make_token(core::role::admin, {}, true);
}

void web_fixture::read_tokens(std::string const& text) {
  auto const all = server::parse_token_file(text).value();
  engine_->run([&](engine_services&) { engine_->tokens().replace_file(all); });
}

std::string web_fixture::make_token(server::token_request const& w) {
  return engine_->run(
      [&](engine_services&) { return engine_->tokens().create(w, nullptr).value().credential; });
}

std::string web_fixture::make_token(core::role r, std::vector<std::string> clusters,
                                    bool allow_exec) {
  server::token_request w;
  w.role = r;
  w.clusters = std::move(clusters);
  w.allow_exec = allow_exec;
  return make_token(w);
}

http_response web_fixture::send_as(std::string const& token, std::string const& method,
                                   std::string const& path, std::string const& body) {
  http_request r;
  r.method = method;
  r.url = url(path);
  r.token = token;
  r.body = body;
  if (!body.empty()) r.content_type = "application/json";
  return send(r);
}

void web_fixture::stop_web(std::chrono::milliseconds grace) {
  if (!web_thread_.joinable()) return;
  server_->stop(grace);
  web_thread_.join();
}

void web_fixture::TearDown() {
  client_ = http_client();
  workers_.clear();  // while the engine still runs
  if (engine_) engine_->stop();
  stop_web(std::chrono::milliseconds(200));
  server_.reset();
  engine_.reset();
}

worker& web_fixture::add_worker(worker::habit h, std::int64_t index, std::uint32_t slots) {
  workers_.push_back(std::make_unique<worker>(*engine_, h, index, slots));
  return *workers_.back();
}

http_response web_fixture::send(http_request const& r) {
  auto answer = client_.send(r);
  if (answer) {
    auto const breach = contract::instance().breach(r, *answer);
    EXPECT_EQ(breach, "") << r.method << " " << r.url << " " << r.body.substr(0, 1000) << "\n"
                          << answer->status << " " << answer->body.substr(0, 1000);
    return std::move(*answer);
  }
  ADD_FAILURE() << r.method << " " << r.url << ": " << answer.error().message;
  return {};
}

http_response web_fixture::send(std::string const& method, std::string const& path,
                                std::string const& body, std::string const& type) {
  http_request r;
  r.method = method;
  r.url = url(path);
  r.body = body;
  r.content_type = type;
  return send(r);
}

namespace {
json::value parsed(http_response const& r, unsigned status) {
  EXPECT_EQ(r.status, status) << r.body;
  boost::system::error_code ec;
  auto v = json::parse(r.body, ec);
  EXPECT_FALSE(ec) << r.body;
  return v;
}
}  // namespace

json::value web_fixture::get_json(std::string const& path, unsigned status) {
  return parsed(get(path), status);
}

json::value web_fixture::post_json(std::string const& path, std::string const& body,
                                   unsigned status) {
  return parsed(post(path, body), status);
}

json::value web_fixture::submit(std::size_t n, std::string const& extra) {
  std::string args;
  for (std::size_t i = 0; i < n; ++i) args += (i ? ",[" : "[") + std::to_string(i) + "]";
  return post_json("/api/v1/jobs",
                   R"({"map":{"function":"muster.echo","args":[)" + args + "]}" + extra + "}", 201);
}

std::string text_at(json::value const& v, std::string const& pointer) {
  boost::system::error_code ec;
  auto const* at = v.find_pointer(pointer, ec);
  if (!at || !at->is_string()) {
    ADD_FAILURE() << "no string at " << pointer << " in " << json::serialize(v);
    return {};
  }
  return std::string(at->get_string());
}

std::int64_t number_at(json::value const& v, std::string const& pointer) {
  boost::system::error_code ec;
  auto const* at = v.find_pointer(pointer, ec);
  if (!at || !at->is_number()) {
    ADD_FAILURE() << "no number at " << pointer << " in " << json::serialize(v);
    return -1;
  }
  return at->to_number<std::int64_t>();
}

}  // namespace muster::web::test
