#include <gtest/gtest.h>

#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class health : public testing::Test {
 protected:
  grpc::Status check(std::string const& service, HealthCheckResponse& answer) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    HealthCheckRequest request;
    request.set_service(service);
    return stub->Check(&context, request, &answer);
  }
  test_server server;
  std::unique_ptr<Health::Stub> stub = Health::NewStub(channel_to(server.address()));
};

TEST_F(health, check_returns_the_serving_status) {
  HealthCheckResponse answer;
  for (auto const* name : {"", "muster.v1.WorkerService", "muster.v1.CoordinatorService"}) {
    ASSERT_TRUE(check(name, answer).ok());
    EXPECT_EQ(answer.status(), HealthCheckResponse::SERVING);
  }
  server.set_serving(false);
  ASSERT_TRUE(check("", answer).ok());
  EXPECT_EQ(answer.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(check("no.such", answer).error_code(), grpc::StatusCode::NOT_FOUND);
}

struct watching : hand_stream<HealthCheckRequest, HealthCheckResponse> {
  watching(Health::Stub& stub, std::string const& service) {
    stream_ = stub.Watch(&context_);
    HealthCheckRequest request;
    request.set_service(service);
    write(request);
    half_close();
  }
  HealthCheckResponse::ServingStatus next() {
    auto const m = read();
    return m ? m->status() : HealthCheckResponse::UNKNOWN;
  }
};

TEST_F(health, watch_reports_changes_and_the_end) {
  watching w(*stub, "");
  EXPECT_EQ(w.next(), HealthCheckResponse::SERVING);
  server.set_serving(false);
  EXPECT_EQ(w.next(), HealthCheckResponse::NOT_SERVING);
  server.set_serving(true);
  EXPECT_EQ(w.next(), HealthCheckResponse::SERVING);
  server.stop();
  EXPECT_EQ(w.next(), HealthCheckResponse::UNKNOWN);
  EXPECT_EQ(w.finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(health, watch_of_an_unknown_service_is_not_an_error) {
  watching w(*stub, "no.such");
  EXPECT_EQ(w.next(), HealthCheckResponse::SERVICE_UNKNOWN);
}

}  // namespace
}  // namespace muster::test
