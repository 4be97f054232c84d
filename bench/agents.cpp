// Coordination calls as state machines on one completion queue, and statistics of their results.
#include "bench/agents.hpp"

#include <algorithm>
#include <stdexcept>

namespace muster::bench {

agents::agents(std::string const& server, int count, int connections) : count_(count) {
  for (int i = 0; i < std::min(count, connections); ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    auto channel = grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
    stubs_.push_back(wire::CoordinationService::NewStub(channel));
    raw_stubs_.push_back(std::make_unique<grpc::GenericStub>(channel));
  }
}

agents::~agents() {
  for (auto* c = calls_; c; c = c->next) c->context.TryCancel();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
    auto* const c = static_cast<call*>(tag);
    unlink(*c);
    delete c;
  }
}

void agents::link(call& c) {
  c.next = calls_;
  if (calls_) calls_->previous = &c;
  calls_ = &c;
  ++in_flight_;
}

void agents::unlink(call& c) {
  if (c.previous) c.previous->next = c.next;
  if (c.next) c.next->previous = c.previous;
  if (calls_ == &c) calls_ = c.next;
  --in_flight_;
}

void agents::handle(void* tag) {
  std::unique_ptr<call> const c(static_cast<call*>(tag));
  unlink(*c);
  c->finish();
}

struct agents::raw_call final : call {
  void finish() override {
    if (!status.ok()) throw std::runtime_error("watch: " + status.error_message());
    done(response.Length());
  }
  grpc::ByteBuffer response;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  std::function<void(std::size_t)> done;
};

void agents::watch(int i, std::int64_t version, std::function<void(std::size_t)> done) {
  wire::WatchTasksRequest request;
  request.set_version_number(version);
  request.mutable_incarnations()->set_task_incarnation(incarnation(i));
  request.mutable_incarnations()->set_service_incarnation(service_);
  grpc::Slice const slice(request.SerializeAsString());
  auto* c = new raw_call;
  c->done = std::move(done);
  link(*c);
  auto& stub = *raw_stubs_[static_cast<std::size_t>(i) % raw_stubs_.size()];
  c->reader = stub.PrepareUnaryCall(&c->context, "/xla.coordination.CoordinationService/WatchTasks",
                                    grpc::ByteBuffer(&slice, 1), &queue_);
  c->reader->StartCall();
  c->reader->Finish(&c->response, &c->status, static_cast<call*>(c));
}

void agents::run(std::function<bool()> const& enough, std::chrono::seconds limit) {
  auto const end = std::chrono::system_clock::now() + limit;
  while (!enough()) {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, end) != grpc::CompletionQueue::GOT_EVENT)
      throw std::runtime_error("the service did not answer everybody within " +
                               std::to_string(limit.count()) + " s");
    handle(tag);
  }
}

void agents::run_for(clock::duration span) {
  auto const end = std::chrono::system_clock::now() + span;
  void* tag = nullptr;
  bool ok = false;
  while (queue_.AsyncNext(&tag, &ok, end) == grpc::CompletionQueue::GOT_EVENT) handle(tag);
}

void agents::register_all() {
  int registered = 0;
  grpc::Status refused;
  for (int i = 0; i < count_; ++i) {
    wire::RegisterTaskRequest request;
    request.set_source_task_id(i);
    request.set_incarnation(incarnation(i));
    start<wire::RegisterTaskRequest, wire::RegisterTaskResponse>(
        i, &wire::CoordinationService::Stub::AsyncRegisterTask, request,
        [&](grpc::Status const& s, wire::RegisterTaskResponse const& r) {
          ++registered;
          if (!s.ok()) refused = s;
          service_ = r.service_incarnation();
        });
  }
  run([&] { return registered == count_; }, std::chrono::seconds(60));
  if (!refused.ok()) throw std::runtime_error("registration: " + refused.error_message());
}

void agents::enter(std::string const& id, int from, int to, int& released) {
  for (int i = from; i < to; ++i) {
    wire::BarrierRequest request;
    request.set_barrier_id(id);
    request.set_barrier_timeout_in_ms(60'000);
    request.set_source_task_id(i);
    start<wire::BarrierRequest, wire::BarrierResponse>(
        i, &wire::CoordinationService::Stub::AsyncBarrier, request,
        [&released](grpc::Status const& s, wire::BarrierResponse const&) {
          if (!s.ok()) throw std::runtime_error("barrier: " + s.error_message());
          ++released;
        });
  }
}

double quantile_of(std::vector<double> samples, double q) {
  if (samples.empty()) return 0;
  auto const at = static_cast<std::size_t>(q * static_cast<double>(samples.size() - 1));
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(at),
                   samples.end());
  return samples[at];
}

}  // namespace muster::bench
