#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <set>

#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "tests/support/hand_worker.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {
namespace {

namespace v1 = grpc::reflection::v1;
namespace v1alpha = grpc::reflection::v1alpha;

/// A stream of a client such as grpcurl.
template <class Service, class Request, class Response>
class asking : public hand_stream<Request, Response> {
 public:
  explicit asking(std::string const& address) : stub_(Service::NewStub(channel_to(address))) {
    this->stream_ = stub_->ServerReflectionInfo(&this->context_);
  }
  Response ask(Request const& r) {
    EXPECT_TRUE(this->write(r));
    auto const answer = this->read();
    EXPECT_TRUE(answer);
    return answer.value_or(Response());
  }
  Response symbol(std::string const& name) {
    Request r;
    r.set_file_containing_symbol(name);
    return ask(r);
  }
  std::set<std::string> services() {
    Request r;
    r.set_list_services("*");
    std::set<std::string> names;
    auto const answer = ask(r);
    for (auto const& s : answer.list_services_response().service()) names.insert(s.name());
    return names;
  }
  grpc::Status end() {
    this->half_close();
    return this->finish();
  }

 private:
  std::unique_ptr<typename Service::Stub> stub_;
};

using client =
    asking<v1::ServerReflection, v1::ServerReflectionRequest, v1::ServerReflectionResponse>;
using old_client = asking<v1alpha::ServerReflection, v1alpha::ServerReflectionRequest,
                          v1alpha::ServerReflectionResponse>;

template <class Response>
std::set<std::string> files(Response const& r) {
  std::set<std::string> names;
  for (auto const& bytes : r.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    EXPECT_TRUE(file.ParseFromString(bytes));
    names.insert(file.name());
  }
  return names;
}

TEST(reflection, lists_services_and_resolves_each) {
  test_server server;
  client c(server.address());
  auto const services = c.services();
  for (auto const* name :
       {"muster.v1.WorkerService", "muster.v1.CoordinatorService", "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"})
    EXPECT_TRUE(services.contains(name)) << name;
  for (auto const& name : services)
    EXPECT_TRUE(c.symbol(name).has_file_descriptor_response()) << name;
  EXPECT_TRUE(c.end().ok());
}

TEST(reflection, symbol_is_returned_with_all_imported_files) {
  test_server server;
  old_client c(server.address());
  auto const answer = c.symbol("muster.v1.CoordinatorService.Schedule");
  auto const got = files(answer);
  EXPECT_TRUE(got.contains("muster/v1/coordinator.proto"));
  EXPECT_TRUE(got.contains("muster/v1/common.proto"));
  EXPECT_EQ(answer.original_request().file_containing_symbol(),
            "muster.v1.CoordinatorService.Schedule");
  v1alpha::ServerReflectionRequest by_name;
  by_name.set_file_by_filename("muster/v1/common.proto");
  EXPECT_EQ(files(c.ask(by_name)), std::set<std::string>{"muster/v1/common.proto"});
  EXPECT_TRUE(c.end().ok());
}

TEST(reflection, unknown_symbol_is_an_error_of_its_request_only) {
  test_server server;
  client c(server.address());
  EXPECT_EQ(c.symbol("muster.v1.Nothing").error_response().error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(c.ask({}).error_response().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::ServerReflectionRequest extension;
  extension.mutable_file_containing_extension()->set_containing_type("muster.v1.Value");
  EXPECT_EQ(c.ask(extension).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  extension.set_all_extension_numbers_of_type("no.Such");
  EXPECT_EQ(c.ask(extension).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_FALSE(c.services().empty());
  EXPECT_TRUE(c.end().ok());
}

TEST(reflection, streams_beyond_the_limit_are_refused) {
  test_server server;
  std::vector<std::unique_ptr<client>> open;
  for (int i = 0; i < reflection_streams_max; ++i) {
    open.push_back(std::make_unique<client>(server.address()));
    EXPECT_FALSE(open.back()->services().empty());
  }
  client more(server.address());
  EXPECT_EQ(more.finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(open.front()->end().ok());
}

TEST(reflection, a_stream_ends_with_the_server) {
  test_server server;
  client c(server.address());
  EXPECT_FALSE(c.services().empty());
  server.stop();
  EXPECT_FALSE(c.finish().ok());
}

}  // namespace
}  // namespace muster::test
