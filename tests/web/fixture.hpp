// A web server on its own port over a real engine, and a client for tests.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/http_client/http_client.hpp"
#include "tests/support/raw_socket.hpp"
#include "tests/support/text.hpp"
#include "tests/web/engine.hpp"
#include "web/server/server.hpp"

namespace muster::web::test {

namespace json = boost::json;

class web_fixture : public ::testing::Test {
 protected:
  /// Starts the server. Without this call, the first request starts it with the defaults.
  void start(web_options options = {}, core::config config = {}, std::uint32_t agents = 0,
             core::coordination::limits limits = {});
  /// Starts a server that requires tokens. `admin_` is an admin's token.
  void start_guarded(web_options options = {}, bool keeps_tokens = true);
  /// Reads tokens as from a --token-file with these lines.
  void read_tokens(std::string const& text);
  std::string make_token(core::role r, std::vector<std::string> clusters = {},
                         bool allow_exec = false);
  std::string make_token(server::token_request const& w);
  /// Sends a request with this token; empty: none.
  http_response send_as(std::string const& token, std::string const& method,
                        std::string const& path, std::string const& body = {});
  void TearDown() override;

  engine& core_engine() { return *engine_; }
  worker& add_worker(worker::habit h, std::int64_t index = -1, std::uint32_t slots = 4);

  std::string url(std::string const& path) const { return "http://" + address_ + path; }
  std::string const& address() const { return address_; }
  unsigned short port() const { return port_; }

  http_response get(std::string const& path) { return send("GET", path); }
  http_response post(std::string const& path, std::string const& body = {},
                     std::string const& type = "application/json") {
    return send("POST", path, body, type);
  }
  http_response send(std::string const& method, std::string const& path,
                     std::string const& body = {}, std::string const& type = "application/json");
  http_response send(http_request const& r);

  /// Expects the status, and returns the JSON body.
  json::value get_json(std::string const& path, unsigned status = 200);
  json::value post_json(std::string const& path, std::string const& body, unsigned status = 200);
  json::value submit(std::size_t n, std::string const& extra = {});

  void stop_web(std::chrono::milliseconds grace = std::chrono::seconds(5));

  std::unique_ptr<engine> engine_;
  std::unique_ptr<web_server> server_;
  std::thread web_thread_;
  std::vector<std::unique_ptr<worker>> workers_;
  http_client client_;
  std::string admin_;
  std::string address_;
  unsigned short port_ = 0;
};

std::string text_at(json::value const& v, std::string const& pointer);
std::int64_t number_at(json::value const& v, std::string const& pointer);

using muster::test::contains;
using muster::test::count;
using muster::test::raw_socket;

}  // namespace muster::web::test
