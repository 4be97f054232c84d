#include "tests/etcd/members.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/certificates.hpp"
#include "tests/support/reserved_port.hpp"

namespace muster::test {
namespace {

namespace etcd = server::journal::etcd;
using namespace std::chrono_literals;

constexpr auto program = "/usr/bin/etcd";

std::string read(std::filesystem::path const& file) {
  return e2e::read_file(file);
}

}  // namespace

std::uint16_t free_port() {
  static std::deque<reserved_port> ports;  // until the process ends
  return ports.emplace_back().number();
}

bool etcd_is_installed() {
  return std::filesystem::exists(program);
}

etcd_members::etcd_members(std::size_t count, std::vector<std::string> const& flags, bool tls)
    : tls_(tls) {
  if (tls) {
    authority const ca;
    auto const mine = ca.issue();
    std::ofstream(file("ca.pem")) << ca.pem();
    std::ofstream(file("cert.pem")) << mine.chain_pem;
    std::ofstream(file("key.pem")) << mine.key_pem;
  }
  for (std::size_t i = 0; i < count; ++i) {
    hosts_.push_back("127.0.0.1:" + std::to_string(free_port()));
    peers_.push_back("127.0.0.1:" + std::to_string(free_port()));
  }
  for (std::size_t i = 0; i < count; ++i) start(i, flags);
  EXPECT_TRUE(e2e::await([&] { return answer() && leader(); }, 40s)) << processes_.front().errors();
}

void etcd_members::start(std::size_t i, std::vector<std::string> const& flags) {
  auto const http = tls_ ? std::string("https://") : std::string("http://");
  std::string all;
  for (std::size_t n = 0; n < peers_.size(); ++n)
    all += (n > 0 ? "," : "") + std::string("m") + std::to_string(n) + "=http://" + peers_[n];
  auto const number = std::to_string(i);
  e2e::spawn_options o;
  o.arguments = {program,
                 "--name=m" + number,
                 "--data-dir=" + file("data." + number).string(),
                 "--listen-client-urls=" + http + hosts_[i],
                 "--advertise-client-urls=" + http + hosts_[i],
                 "--listen-peer-urls=http://" + peers_[i],
                 "--initial-advertise-peer-urls=http://" + peers_[i],
                 "--initial-cluster=" + all,
                 "--log-level=error"};
  if (tls_) {
    o.arguments.push_back("--cert-file=" + file("cert.pem").string());
    o.arguments.push_back("--key-file=" + file("key.pem").string());
  }
  o.arguments.insert(o.arguments.end(), flags.begin(), flags.end());
  o.output = file("out." + number);
  o.errors = file("err." + number);
  processes_.emplace_back(std::move(o));
}

std::string etcd_members::url(std::string const& user) const {
  auto all = tls_ ? std::string("etcds://") : std::string("etcd://");
  if (!user.empty()) all += user + "@";
  for (std::size_t i = 0; i < hosts_.size(); ++i) all += (i > 0 ? "," : "") + hosts_[i];
  return all + "/test";
}

etcd::access etcd_members::access() const {
  etcd::access a{etcd::parse_address(url()).value(), {}, {}, {}, {}};
  if (tls_) a.authorities = read(file("ca.pem"));
  return a;
}

bool etcd_members::answer() const {
  etcd::client c(access());
  etcd::wire::RangeRequest request;
  request.set_key("nothing");
  std::size_t said = 0;
  c.each(1s, [&](etcd::member& m, grpc::ClientContext& context) {
    etcd::wire::RangeResponse answer;
    auto const s = m.kv->Range(&context, request, &answer);
    said += s.ok();
    return s;
  });
  return said == hosts_.size();
}

std::optional<std::size_t> etcd_members::leader() const {
  etcd::client c(access());
  std::optional<std::size_t> found;
  std::size_t i = 0;
  c.each(1s, [&](etcd::member& m, grpc::ClientContext& context) {
    etcd::wire::StatusResponse answer;
    auto const s = m.maintenance->Status(&context, {}, &answer);
    if (s.ok() && answer.leader() != 0 && answer.header().member_id() == answer.leader()) found = i;
    ++i;
    return s;
  });
  return found;
}

int etcd_members::control(std::vector<std::string> const& words) {
  e2e::spawn_options o;
  o.arguments = {"/usr/bin/etcdctl",
                 "--endpoints=" + std::string(tls_ ? "https://" : "http://") + hosts_[0]};
  if (tls_) o.arguments.push_back("--cacert=" + file("ca.pem").string());
  o.arguments.insert(o.arguments.end(), words.begin(), words.end());
  o.environment = {{"ETCDCTL_API", "3"}};
  auto const number = std::to_string(++serial_);
  o.output = file("ctl.out." + number);
  o.errors = file("ctl.err." + number);
  e2e::process p(std::move(o));
  auto const status = p.wait();
  EXPECT_EQ(status, 0) << p.errors();
  return status.value_or(-1);
}

}  // namespace muster::test
