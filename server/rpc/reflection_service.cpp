#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <boost/asio/this_coro.hpp>
#include <set>

#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "server/rpc/stream_list.hpp"
#include "server/rpc/stream_service.hpp"

namespace muster::server {
namespace {

namespace pb = google::protobuf;
namespace v1 = grpc::reflection::v1;
namespace v1alpha = grpc::reflection::v1alpha;

// A call is cancelled if it sends no request for this time.
constexpr auto patience = std::chrono::seconds(60);
// Time for the caller to read the last message.
constexpr auto finish_patience = std::chrono::seconds(5);

void collect(pb::FileDescriptor const& file, std::set<pb::FileDescriptor const*>& into) {
  if (!into.insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) collect(*file.dependency(i), into);
}

template <class Response>
void put_file(pb::FileDescriptor const* file, std::string const& asked, Response& answer) {
  if (!file) {
    auto& error = *answer.mutable_error_response();
    error.set_error_code(grpc::StatusCode::NOT_FOUND);
    error.set_error_message("there is no '" + asked + "'");
    return;
  }
  std::set<pb::FileDescriptor const*> files;
  collect(*file, files);
  auto& out = *answer.mutable_file_descriptor_response();
  auto const put = [&out](pb::FileDescriptor const& f) {
    pb::FileDescriptorProto text;
    f.CopyTo(&text);
    out.add_file_descriptor_proto(text.SerializeAsString());
  };
  put(*file);
  for (auto const* f : files)
    if (f != file) put(*f);
}

// Searches the descriptors that are linked into the program. They contain no extensions.
template <class Request, class Response>
void answer_to(Request const& asked, std::vector<std::string> const& services, Response& answer) {
  auto const& pool = *pb::DescriptorPool::generated_pool();
  answer.Clear();
  answer.set_valid_host(asked.host());
  *answer.mutable_original_request() = asked;
  switch (asked.message_request_case()) {
    case Request::kListServices:
      for (auto const& name : services)
        answer.mutable_list_services_response()->add_service()->set_name(name);
      return;
    case Request::kFileByFilename:
      return put_file(pool.FindFileByName(asked.file_by_filename()), asked.file_by_filename(),
                      answer);
    case Request::kFileContainingSymbol:
      return put_file(pool.FindFileContainingSymbol(asked.file_containing_symbol()),
                      asked.file_containing_symbol(), answer);
    case Request::kAllExtensionNumbersOfType:
      if (pool.FindMessageTypeByName(asked.all_extension_numbers_of_type())) {
        answer.mutable_all_extension_numbers_response()->set_base_type_name(
            asked.all_extension_numbers_of_type());
        return;
      }
      return put_file<Response>(nullptr, asked.all_extension_numbers_of_type(), answer);
    case Request::kFileContainingExtension:
      return put_file<Response>(
          nullptr, "extension of " + asked.file_containing_extension().containing_type(), answer);
    case Request::MESSAGE_REQUEST_NOT_SET:
      auto& error = *answer.mutable_error_response();
      error.set_error_code(grpc::StatusCode::INVALID_ARGUMENT);
      error.set_error_message("message_request: required");
  }
}

/// Answers each request before it reads the next request.
template <class Request, class Response>
class reflection_stream {
 public:
  using call = coro::server_bidi<Request, Response>;

  reflection_stream(call& c, std::vector<std::string> const& services)
      : call_(c), services_(services), deadline_(c.engine()) {}
  reflection_stream(reflection_stream const&) = delete;

  coro::task<void> run() {
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    Request asked;
    Response answer;
    bool alive = true;
    while (alive && !stopping_) {
      cancel_in(patience);
      alive = co_await call_.read(asked);
      if (!alive || stopping_) break;
      answer_to(asked, services_, answer);
      alive = co_await call_.write(answer);
    }
    cancel_in(finish_patience);
    auto const status =
        stopping_ ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is shutting down")
                  : grpc::Status::OK;
    co_await call_.finish(status);
  }

  /// Cancels a pending read. At that time, all requests have been answered.
  void shut_down() {
    stopping_ = true;
    call_.cancel();
  }

 private:
  void cancel_in(std::chrono::seconds time) {
    deadline_.call_at(coro::timer::clock::now() + time, [this] { call_.cancel(); });
  }

  call& call_;
  std::vector<std::string> const& services_;
  coro::timer deadline_;
  bool stopping_ = false;
};

template <class Service, class Request, class Response>
struct version {
  using stream = reflection_stream<Request, Response>;

  version(coro::grpc_server& server, std::vector<std::string> const& services,
          std::size_t streams_max)
      : streams("reflection", server.engine(), streams_max) {
    server.add_service(service);
    streams.accept(server, service, &Service::RequestServerReflectionInfo, {"reflection", 2},
                   services);
  }

  Service service;
  stream_list<stream> streams;
};

class reflection_service final : public stream_service {
 public:
  reflection_service(coro::grpc_server& server, std::vector<std::string> services,
                     std::size_t streams_max)
      : services_(std::move(services)),
        now_(server, services_, streams_max),
        before_(server, services_, streams_max) {
    for (auto const* own : {v1::ServerReflection::service_full_name(),
                            v1alpha::ServerReflection::service_full_name()})
      services_.emplace_back(own);
  }

  coro::task<void> stop() override {
    co_await now_.streams.stop();
    co_await before_.streams.stop();
  }

 private:
  std::vector<std::string> services_;
  version<v1::ServerReflection::AsyncService, v1::ServerReflectionRequest,
          v1::ServerReflectionResponse>
      now_;
  version<v1alpha::ServerReflection::AsyncService, v1alpha::ServerReflectionRequest,
          v1alpha::ServerReflectionResponse>
      before_;
};

}  // namespace

std::unique_ptr<stream_service> serve_reflection(coro::grpc_server& server,
                                                 std::vector<std::string> services,
                                                 std::size_t streams_max) {
  return std::make_unique<reflection_service>(server, std::move(services), streams_max);
}

}  // namespace muster::server
