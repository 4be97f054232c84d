#include "tests/etcd/lagging_member.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

namespace muster::test {

namespace wire = etcdserverpb;

struct lagging_member::services : wire::KV::Service,
                                  wire::Lease::Service,
                                  wire::Maintenance::Service {
  services(lagging_member& m, std::string const& host)
      : owner(m), channel(grpc::CreateChannel(host, grpc::InsecureChannelCredentials())) {}

  using context = grpc::ServerContext;
  static std::unique_ptr<grpc::ClientContext> same(context* c) {
    return grpc::ClientContext::FromServerContext(*c);
  }

  grpc::Status Range(context* c, wire::RangeRequest const* q, wire::RangeResponse* r) override {
    auto request = *q;
    std::int64_t const at = request.range_end().empty() ? 0 : owner.behind_.load();
    if (at > 0 && request.revision() > at)
      return {grpc::StatusCode::OUT_OF_RANGE,
              "etcdserver: mvcc: required revision is a future revision"};
    if (at > 0 && request.revision() == 0) request.set_revision(at);
    auto s = kv->Range(same(c).get(), request, r);
    if (at > 0 && s.ok()) {
      r->mutable_header()->set_revision(at);
      ++owner.old_answers_;
    }
    return s;
  }
  grpc::Status Txn(context* c, wire::TxnRequest const* q, wire::TxnResponse* r) override {
    return kv->Txn(same(c).get(), *q, r);
  }
  grpc::Status Compact(context* c, wire::CompactionRequest const* q,
                       wire::CompactionResponse* r) override {
    return kv->Compact(same(c).get(), *q, r);
  }
  grpc::Status LeaseGrant(context* c, wire::LeaseGrantRequest const* q,
                          wire::LeaseGrantResponse* r) override {
    return leases->LeaseGrant(same(c).get(), *q, r);
  }
  grpc::Status LeaseRevoke(context* c, wire::LeaseRevokeRequest const* q,
                           wire::LeaseRevokeResponse* r) override {
    return leases->LeaseRevoke(same(c).get(), *q, r);
  }
  grpc::Status LeaseKeepAlive(
      context* c,
      grpc::ServerReaderWriter<wire::LeaseKeepAliveResponse, wire::LeaseKeepAliveRequest>* caller)
      override {
    auto const mine = same(c);
    auto const stream = leases->LeaseKeepAlive(mine.get());
    wire::LeaseKeepAliveRequest request;
    wire::LeaseKeepAliveResponse answer;
    while (caller->Read(&request))
      if (!stream->Write(request) || !stream->Read(&answer) || !caller->Write(answer)) break;
    mine->TryCancel();
    (void)stream->Finish();
    return grpc::Status::OK;
  }
  grpc::Status Status(context* c, wire::StatusRequest const* q, wire::StatusResponse* r) override {
    return maintenance->Status(same(c).get(), *q, r);
  }
  grpc::Status Alarm(context* c, wire::AlarmRequest const* q, wire::AlarmResponse* r) override {
    return maintenance->Alarm(same(c).get(), *q, r);
  }

  lagging_member& owner;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<wire::KV::Stub> kv = wire::KV::NewStub(channel);
  std::unique_ptr<wire::Lease::Stub> leases = wire::Lease::NewStub(channel);
  std::unique_ptr<wire::Maintenance::Stub> maintenance = wire::Maintenance::NewStub(channel);
};

lagging_member::lagging_member(std::string const& host)
    : services_(std::make_unique<services>(*this, host)) {
  grpc::ServerBuilder b;
  int port = 0;
  b.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  b.RegisterService(static_cast<wire::KV::Service*>(services_.get()));
  b.RegisterService(static_cast<wire::Lease::Service*>(services_.get()));
  b.RegisterService(static_cast<wire::Maintenance::Service*>(services_.get()));
  server_ = b.BuildAndStart();
  host_ = "127.0.0.1:" + std::to_string(port);
}

lagging_member::~lagging_member() {
  server_->Shutdown(std::chrono::system_clock::now());
}

std::int64_t lagging_member::revision() const {
  grpc::ClientContext context;
  wire::RangeRequest request;
  request.set_key("nothing");
  wire::RangeResponse answer;
  auto const s = services_->kv->Range(&context, request, &answer);
  return s.ok() ? answer.header().revision() : -1;
}

}  // namespace muster::test
