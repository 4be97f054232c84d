#include "server/rpc/coordination/call.hpp"

#include <grpc/support/time.h>

#include <map>
#include <utility>

#include "server/rpc/coordination/agent_connections.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"
#include "server/rpc/coordination/gzip_request.hpp"
#include "server/rpc/status_convert.hpp"

namespace muster::server {

namespace coordination = core::coordination;

raw_service::raw_service(dialect d)
    : dialect_(d), methods_(d == dialect::xla ? methods_of_xla() : methods_of_tensorflow()) {
  for (std::size_t i = 0; i < methods_.size(); ++i) {
    AddMethod(new grpc::internal::RpcServiceMethod(methods_[i].path.c_str(),
                                                   grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRaw(static_cast<int>(i));
  }
}

coordination_call::coordination_call(coordination_calls& home, raw_service& service,
                                     std::size_t method)
    : home_(home), service_(service), method_(static_cast<std::uint16_t>(method)) {
  home_.server.call_created();
}

coordination_call::~coordination_call() {
  if (state_ != state::requested) --home_.live;
  home_.server.call_destroyed();
}

void coordination_call::request(coordination_calls& home, raw_service& service,
                                std::size_t method) {
  auto* call = new coordination_call(home, service, method);
  // The notification must be requested before the call arrives. gRPC notifies only if the call
  // arrives.
  if (call->method().parks)
    call->context_.AsyncNotifyWhenDone(static_cast<rpc_tag*>(&call->done_tag_));
  auto& engine = home.server.engine();
  engine.op_started();
  service.request(method, call->context_, call->bytes_, *call, engine.server_queue(), call);
}

void coordination_call::complete(bool ok) {
  home_.server.engine().op_returned();
  if (state_ == state::finishing) {
    state_ = state::over;
    answer_.reset();
    return free_if_done();
  }
  if (!ok) {
    delete this;
    return;
  }
  state_ = state::asked;
  ++home_.live;
  if (method().parks) {
    done_expected_ = true;
    home_.server.engine().op_started();
  }
  if (!home_.server.stopping()) request(home_, service_, method_);
  arrived();
}

void coordination_call::arrived() {
  if (home_.live > home_.options.calls_max) {
    home_.server.call_ended(context_.peer());
    return finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                   "the server has reached its limit on coordination calls"},
                  nullptr);
  }
  auto const cluster = home_.ports.cluster_of(context_);
  if (!cluster) {
    home_.server.call_ended(context_.peer());
    return refuse(cluster.error());
  }
  cluster_ = *cluster;
  auto const came = home_.options.admit(context_, spec(), false);
  if (!came.status.ok()) {
    bytes_.Clear();
    home_.server.call_ended(context_.peer());
    return refuse(came.status);
  }
  if (spec().jobs.empty())
    return refuse(
        invalid("cluster '" + spec().name +
                "' has no tasks declared: start the server with 'muster serve --cluster " +
                spec().name + ":worker=N', or declare them with POST /api/v1/clusters"));
  if (auto const unpacked = gunzip(bytes_); unpacked != gunzip_result::ok) {
    bytes_.Clear();
    if (unpacked == gunzip_result::damaged)
      return refuse(invalid("the compressed request is not valid gzip data"));
    return refuse({code::resource_exhausted, "the request exceeds the limit of " +
                                                 std::to_string(gunzipped_bytes_max) +
                                                 " bytes after decompression"});
  }
  bool const asked = method().ask(*this, bytes_);
  bytes_.Clear();
  if (state_ == state::asked && asked && !came.token.empty()) list(came.token);
  if (!asked) refuse(invalid("the request is not a message of " + method().path));
}

void coordination_call::list(std::string const& token) {
  listed_ = &*home_.by_token.try_emplace(token).first;
  listed_->second.insert(this);
}

// The table can already contain a newer entry for this token.
void coordination_call::unlist() {
  auto* const place = std::exchange(listed_, nullptr);
  if (place == nullptr) return;
  place->second.erase(this);
  auto const it = home_.by_token.find(place->first);
  if (place->second.empty() && it != home_.by_token.end() && &*it == place)
    home_.by_token.erase(it);
}

void coordination_call::recheck() {
  unlist();
  auto const& clusters = home_.hub.state();
  if (state_ != state::asked || !clusters.exists(cluster_)) return;
  auto const now = home_.options.admit(context_, spec(), true);
  if (now.status.ok()) return now.token.empty() ? void() : list(now.token);
  home_.hub.forget(cluster_, core_call_);
  refuse(now.status);
}

coordination::task_ref coordination_call::task(std::string_view job, std::int64_t id) const {
  auto const index = spec().find(job, id);
  if (index != coordination::no_task) return {index, {}};
  auto name = job.empty() ? std::string() : "/job:" + std::string(job);
  return {index, name + "/task:" + std::to_string(id)};
}

std::string coordination_call::peer() const {
  return home_.ports.peer_of(context_);
}

void coordination_call::note_connection(coordination::task_index task,
                                        core::incarnation incarnation) {
  if (task == coordination::no_task || !home_.hub.state().current(cluster_).tells_by_heartbeat())
    return;
  home_.connections.spoke(cluster_, task, incarnation, home_.ports.connection_peer_of(context_),
                          context_.peer());
}

core::time_point coordination_call::deadline() const {
  auto const at = context_.raw_deadline();
  if (gpr_time_cmp(at, gpr_inf_future(at.clock_type)) == 0) return core::never;
  auto const left = gpr_time_sub(at, gpr_now(at.clock_type));
  return home_.hub.now() + std::chrono::seconds(left.tv_sec) +
         std::chrono::microseconds(left.tv_nsec / 1'000);
}

void coordination_call::answer(coordination::reply& r) {
  auto const& clusters = home_.hub.state();
  auto const* spec = clusters.exists(cluster_) ? &clusters.spec(cluster_) : nullptr;
  if (r.fault) {
    auto const encode = [&] { return to_grpc(*r.fault, service_.spoken(), spec); };
    return finish(
        home_.statuses.get(r.fault, static_cast<std::uint64_t>(service_.spoken()), encode),
        nullptr);
  }
  grpc::ByteBuffer bytes;
  if (method().encode({spec, style, &home_.encoded}, r, bytes))
    finish(grpc::Status::OK, &bytes);
  else
    finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the answer is larger than 2 GiB"}, nullptr);
}

void coordination_call::refuse(muster::status const& why) {
  finish(coordination_error(why, service_.spoken()), nullptr);
}

void coordination_call::finish(grpc::Status const& status, grpc::ByteBuffer const* bytes) {
  static std::multimap<std::string, std::string> no_metadata;
  check(state_ == state::asked, "a call must not be answered twice");
  state_ = state::finishing;
  unlist();
  answer_ = std::make_unique<answer_ops>();
  answer_->set_output_tag(static_cast<rpc_tag*>(this));
  answer_->set_core_cq_tag(answer_.get());
  answer_->SendInitialMetadata(&no_metadata, 0);
  if (bytes != nullptr)
    answer_->ServerSendStatus(&no_metadata, answer_->SendMessage(*bytes));
  else
    answer_->ServerSendStatus(&no_metadata, status);
  home_.server.engine().op_started();
  home_.writers.add(call_, *answer_, !status.ok());
}

// Called when gRPC has finished with the call: either the answer was sent, or the caller has
// disconnected. A call whose caller has disconnected must not be finished.
void coordination_call::gone(bool) {
  home_.server.engine().op_returned();
  done_expected_ = false;
  if (state_ == state::asked) {
    unlist();
    home_.hub.forget(cluster_, core_call_);
    state_ = state::over;
  }
  free_if_done();
}

void coordination_call::free_if_done() {
  if (state_ == state::over && !done_expected_) delete this;
}

}  // namespace muster::server
