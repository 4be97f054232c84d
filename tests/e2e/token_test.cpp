// Tokens with real processes: the first admin token, every role at every gRPC service, restarts of
// the server, token files, and agents in allowed networks.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <muster/cluster_coordinator.hpp>
#include <muster/coordination_agent.hpp>

#include "muster/v1/blobs.grpc.pb.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "muster/v1/worker.grpc.pb.h"
#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace token_cases {

using namespace std::chrono_literals;

std::string first_line(std::filesystem::path const& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

struct guarded : cluster {
  explicit guarded(words more = {}) {
    more.insert(more.begin(), {"--data-dir", file("data").string(), "--auth", "on"});
    server = &serve(more);
    admin = first_line(file("data") / "admin.token");
  }
  finished as(std::string const& token, words verb) {
    return run(verb, {}, {{"MUSTER_TOKEN", token}});
  }
  std::string make(words flags) {
    flags.insert(flags.begin(), {"token", "create"});
    auto const f = as(admin, flags);
    EXPECT_EQ(f.status, 0) << f.err;
    return f.out.substr(0, f.out.find('\n'));
  }
  std::string admin;
  process* server = nullptr;
};

std::string id_of(std::string const& token) {
  return token.substr(7, token.rfind('.') - 7);
}

void sign(grpc::ClientContext& context, std::string const& token) {
  context.set_deadline(std::chrono::system_clock::now() + 10s);
  if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
}

/// Makes calls that are otherwise invalid to each service. The status shows whether the token was
/// accepted.
struct services {
  explicit services(std::string const& address)
      : channel(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())) {}

  grpc::StatusCode attach(std::string const& token) {
    grpc::ClientContext context;
    sign(context, token);
    auto const stream = v1::WorkerService::NewStub(channel)->Attach(&context);
    stream->WritesDone();
    v1::ServerMessage m;
    while (stream->Read(&m)) {
    }
    return stream->Finish().error_code();
  }
  grpc::StatusCode stream(std::string const& token) {
    grpc::ClientContext context;
    sign(context, token);
    auto const stream = v1::CoordinatorService::NewStub(channel)->Session(&context);
    stream->WritesDone();
    v1::SessionResponse m;
    while (stream->Read(&m)) {
    }
    return stream->Finish().error_code();
  }
  grpc::StatusCode done(std::string const& token, std::string const& session) {
    grpc::ClientContext context;
    sign(context, token);
    v1::DoneRequest r;
    r.set_session(session);
    v1::JoinResponse answer;
    return v1::CoordinatorService::NewStub(channel)->Done(&context, r, &answer).error_code();
  }
  std::string open(std::string const& token) {
    grpc::ClientContext context;
    sign(context, token);
    v1::OpenSessionRequest r;
    v1::Opened answer;
    auto const s = v1::CoordinatorService::NewStub(channel)->OpenSession(&context, r, &answer);
    EXPECT_TRUE(s.ok()) << s.error_message();
    return answer.session();
  }
  grpc::StatusCode has_blob(std::string const& token) {
    grpc::ClientContext context;
    sign(context, token);
    v1::HasBlobs r;
    v1::BlobsThere answer;
    return v1::BlobService::NewStub(channel)->Has(&context, r, &answer).error_code();
  }

  std::shared_ptr<grpc::Channel> channel;
};

TEST(tokens, first_admin_token_is_in_a_private_file) {
  guarded c;
  struct stat s {};
  ASSERT_EQ(::stat((c.file("data") / "admin.token").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
  EXPECT_TRUE(c.admin.starts_with("muster.admin-"));
  auto const list = c.as(c.admin, {"token", "list", "--output", "json"});
  EXPECT_EQ(list.status, 0) << list.err;
  EXPECT_NE(list.out.find(id_of(c.admin)), std::string::npos);
  // --token-file takes precedence over MUSTER_TOKEN.
  auto const file = c.file("data") / "admin.token";
  EXPECT_EQ(c.as("muster.x.y", {"jobs", "--token-file", file.string()}).status, 0);
  auto const nobody = c.run({"jobs"});
  EXPECT_EQ(nobody.status, 1);
  EXPECT_NE(nobody.err.find("--token-file"), std::string::npos) << nobody.err;
}

TEST(tokens, roles_are_enforced_at_every_service) {
  guarded c;
  services s(c.grpc());
  auto const viewer = c.make({"--role", "viewer"}), submitter = c.make({"--role", "submitter"}),
             worker = c.make({"--role", "worker"});
  auto const denied = grpc::StatusCode::PERMISSION_DENIED;
  auto const unknown = grpc::StatusCode::UNAUTHENTICATED;
  auto const wrong = grpc::StatusCode::INVALID_ARGUMENT;  // token accepted, but the call is empty
  EXPECT_EQ(s.attach({}), unknown);
  EXPECT_EQ(s.attach(viewer), denied);
  EXPECT_EQ(s.attach(submitter), denied);
  EXPECT_EQ(s.attach(worker), wrong);
  EXPECT_EQ(s.attach(c.admin), wrong);
  EXPECT_EQ(s.stream({}), unknown);
  EXPECT_EQ(s.stream(viewer), denied);
  EXPECT_EQ(s.stream(submitter), wrong);
  EXPECT_EQ(s.stream(worker), denied);
  EXPECT_EQ(s.stream(c.admin), wrong);
  EXPECT_EQ(s.has_blob({}), unknown);
  EXPECT_EQ(s.has_blob(viewer), denied);
  EXPECT_EQ(s.has_blob(submitter), grpc::StatusCode::OK);
  EXPECT_EQ(s.has_blob(worker), grpc::StatusCode::OK);
  EXPECT_EQ(s.has_blob(c.admin), grpc::StatusCode::OK);
}

TEST(tokens, session_belongs_to_its_submitter) {
  guarded c;
  services s(c.grpc());
  auto const mine = c.make({"--role", "submitter"}), other = c.make({"--role", "submitter"});
  auto const session = s.open(mine);
  EXPECT_EQ(s.done(mine, session), grpc::StatusCode::OK);
  EXPECT_EQ(s.done(other, session), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(s.done(c.admin, session), grpc::StatusCode::OK);
}

TEST(tokens, worker_stops_when_its_token_is_revoked) {
  guarded c;
  auto const worker = c.make({"--role", "worker", "--name", "gpu"});
  auto& w = c.spawn({"worker", "--server", c.grpc()}, {{"MUSTER_TOKEN", worker}});
  auto const submitter = c.make({"--role", "submitter"});
  auto const done = c.as(submitter, {"submit", "muster.echo", "42", "--quiet"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, "42\n");
  coordinator_options o;
  o.server = c.grpc();
  o.token = submitter;
  {
    cluster_coordinator session(o);
    session.schedule<int>("muster.echo", 1);
    session.join();
  }
  EXPECT_EQ(c.as(c.admin, {"token", "revoke", id_of(worker)}).status, 0);
  EXPECT_EQ(w.wait(), 1);
  EXPECT_TRUE(w.says("unknown, revoked or expired"));
}

TEST(tokens, survive_a_restart_and_can_be_edited_while_the_server_is_stopped) {
  guarded c;
  auto const viewer = c.make({"--role", "viewer"});
  auto const data = c.file("data").string();
  auto const in_use = c.run({"token", "list", "--data-dir", data});
  EXPECT_EQ(in_use.status, 2) << in_use.out;
  c.server->signal(SIGTERM);
  ASSERT_EQ(c.server->wait(), 0);
  auto const made = c.run({"token", "create", "--role", "submitter", "--data-dir", data});
  EXPECT_EQ(made.status, 0) << made.err;
  auto const submitter = made.out.substr(0, made.out.find('\n'));
  EXPECT_EQ(c.run({"token", "revoke", id_of(viewer), "--data-dir", data}).status, 0);
  auto const rotated = c.run({"token", "rotate", id_of(c.admin), "--data-dir", data});
  EXPECT_EQ(rotated.status, 0) << rotated.err;
  c.serve({"--data-dir", data});  // requires tokens, since some exist
  EXPECT_EQ(c.as(viewer, {"jobs"}).status, 1);
  EXPECT_EQ(c.as(submitter, {"jobs"}).status, 0);
  EXPECT_EQ(c.as(c.admin, {"jobs"}).status, 1);
  EXPECT_EQ(c.as(rotated.out.substr(0, rotated.out.find('\n')), {"token", "list"}).status, 0);
}

TEST(tokens, first_tokens_are_required_from_the_next_start) {
  cluster c;
  auto const data = c.file("data").string();
  auto& first = c.serve({"--data-dir", data});
  auto const made = c.run({"token", "create", "--role", "admin"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_NE(
      made.err.find("warning: this server accepts requests without a token until it restarts"),
      std::string::npos)
      << made.err;
  EXPECT_EQ(c.run({"jobs"}).status, 0);
  EXPECT_NE(c.run({"doctor"}).out.find("accepted until the server restarts"), std::string::npos);
  first.signal(SIGTERM);
  ASSERT_EQ(first.wait(), 0);
  c.serve({"--data-dir", data});
  EXPECT_EQ(c.run({"jobs"}).status, 1);
  EXPECT_EQ(c.run({"jobs"}, {}, {{"MUSTER_TOKEN", made.out.substr(0, made.out.find('\n'))}}).status,
            0);
}

TEST(tokens, can_rotate_and_revoke_themselves) {
  guarded c;
  auto own = c.make({"--role", "admin"});
  for (int i = 0; i < 3; ++i) {
    auto const rotated = c.as(own, {"token", "rotate", id_of(own)});
    ASSERT_EQ(rotated.status, 0) << rotated.err;
    own = rotated.out.substr(0, rotated.out.find('\n'));
  }
  auto const revoked = c.as(own, {"token", "revoke", id_of(own)});
  EXPECT_EQ(revoked.status, 0) << revoked.err;
  EXPECT_EQ(c.as(own, {"token", "list"}).status, 1);
}

TEST(tokens, token_file_is_reread_when_it_changes) {
  cluster c;
  std::string const a(40, 'a'), b(40, 'b');
  auto const file = c.write("tokens", "admin " + a + "\nviewer " + b + "\n");
  c.serve({"--token-file", file.string()});
  auto const jobs = [&](std::string const& token) {
    return c.run({"jobs"}, {}, {{"MUSTER_TOKEN", token}}).status;
  };
  EXPECT_EQ(jobs(a), 0);
  EXPECT_EQ(jobs(b), 0);
  EXPECT_EQ(jobs({}), 1);
  auto const kept = c.run({"token", "create", "--role", "viewer"}, {}, {{"MUSTER_TOKEN", a}});
  EXPECT_EQ(kept.status, 1);
  EXPECT_NE(kept.err.find("cannot store tokens"), std::string::npos) << kept.err;
  std::filesystem::rename(c.write("changed", "admin " + a + "\n"), file);
  EXPECT_TRUE(await([&] { return jobs(b) == 1; }));
  EXPECT_EQ(jobs(a), 0);
  auto const wrong = c.run({"serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0",
                            "--token-file", c.write("wrong", "root x\n").string()});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("line 1: must begin with a role"), std::string::npos) << wrong.err;
}

// Returns the error of an agent that connects; empty if it succeeds.
std::string why_not_an_agent(std::string const& server, std::string const& token) {
  coordination_options o;
  o.server = server;
  o.token = token;
  o.connect_timeout = 5s;
  coordination_agent agent(o);
  try {
    agent.connect();
    agent.shutdown();
    return {};
  } catch (std::exception const& e) {
    return e.what();
  }
}

TEST(tokens, agents_need_a_listed_network_or_a_token) {
  auto const connects = [](guarded& c, std::string const& token) {
    return why_not_an_agent(c.grpc(), token);
  };
  guarded near({"--cluster", "default:worker=1"});
  EXPECT_EQ(connects(near, {}), "");
  guarded far({"--cluster", "default:worker=1", "--agents-from", "192.0.2.0/24"});
  EXPECT_NE(connects(far, {}).find("--agents-from"), std::string::npos);
  EXPECT_NE(connects(far, far.make({"--role", "viewer"})).find("viewer"), std::string::npos);
  EXPECT_EQ(connects(far, far.make({"--role", "worker"})), "");
  EXPECT_NE(connects(far, far.make({"--role", "worker", "--cluster", "other"}))
                .find("not valid for cluster"),
            std::string::npos);
}

TEST(tokens, cluster_can_have_its_own_networks) {
  guarded c({"--cluster", "train:worker=1", "--cluster", "eval:worker=1", "--agents-from",
             "192.0.2.0/24,eval=127.0.0.0/8"});
  auto const why_not = [&](std::string const& cluster) {
    auto const f = c.as(c.admin, {"clusters", "show", cluster, "--output", "json"});
    auto const shown = boost::json::parse(f.out);
    return why_not_an_agent(std::string(shown.at("address").as_string()), {});
  };
  EXPECT_EQ(why_not("eval"), "");
  EXPECT_NE(why_not("train").find("'127.0.0.1' is in none of them"), std::string::npos);
  auto const wrong = c.run({"serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--auth",
                            "off", "--agents-from", "train=10.0.0.0/99"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("--agents-from: train=: '10.0.0.0/99' is not a network"),
            std::string::npos)
      << wrong.err;
}

// These calls do not end soon by themselves. Heartbeats, which would return the error, are sent
// only every 50 s. With a `connection_grace`, the other agents would receive the error of a lost
// task.
TEST(tokens, waiting_calls_of_agents_end_with_their_token) {
  guarded c({"--cluster", "default:worker=3;register_barrier=false;connection_grace=0s"});
  auto const worker = c.make({"--role", "worker"});
  auto const brief = c.make({"--role", "worker", "--expires", "15s"});
  std::vector<std::unique_ptr<coordination_agent>> agents;
  std::vector<std::future<std::string>> waiting;
  for (auto const& token : {worker, brief, std::string()}) {
    coordination_options o;
    o.server = c.grpc();
    o.token = token;
    o.task = static_cast<std::uint32_t>(agents.size());
    agents.push_back(std::make_unique<coordination_agent>(o));
    agents.back()->connect();
    auto const wait = [a = agents.back().get()]() -> std::string {
      try {
        return a->get("k", 60s);
      } catch (std::exception const& e) {
        return e.what();
      }
    };
    waiting.push_back(std::async(std::launch::async, wait));
  }
  auto const parked = [&](std::int64_t n) {
    return await([&] {
      auto const f = c.as(c.admin, {"clusters", "show", "default", "--output", "json"});
      auto const calls = boost::json::parse(f.out).at("generation").at("parked_calls");
      return calls.at("key_waits").to_number<std::int64_t>() == n;
    });
  };
  ASSERT_TRUE(parked(3));
  EXPECT_EQ(c.as(c.admin, {"token", "revoke", id_of(worker)}).status, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(waiting[i].wait_for(30s), std::future_status::ready) << i;
    auto const told = waiting[i].get();
    EXPECT_NE(told.find("unknown, revoked or expired"), std::string::npos) << told;
  }
  EXPECT_TRUE(parked(1)) << "agents that need no token continue to wait";
  EXPECT_EQ(c.as(c.admin, {"kv", "put", "k", "v"}).status, 0);
  EXPECT_EQ(waiting[2].get(), "v");
}

}  // namespace token_cases
}  // namespace muster::e2e
