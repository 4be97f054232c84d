// Calls the converters of server/rpc/coordination without gRPC. The converters take a
// coordination_call, which only gRPC can create. This header gives them a `fuzzed_call` instead. A
// target includes this header, renames the class and the functions that the library also defines,
// and then includes the source of its dialect:
//
//   bytes ──► gunzip ──► coordination_method::ask ──► core::coordination::clusters ──► encode
//
// The first byte of an input contains options of the cluster. The rest is a sequence of messages.
// Each consists of a byte for its kind, its size in two bytes, low byte first, and its bytes. For a
// call, the kind contains the method in the low five bits; bit 5 selects the second connection, and
// bit 6 a short deadline. If bit 7 is set, the message is an `other_event`.
//
// Checked properties:
// - A malformed request has no effect.
// - Each call is answered exactly once, at the latest when the service stops.
// - An answer is a valid message of its type. An error has a code, and fits into gRPC's trailers.
// - After each event, the invariants of the core hold, and each unanswered call is parked.
#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "proto/byte_buffer.hpp"
#include "server/core/coordination/clusters.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/rpc/coordination/answer_writers.hpp"
#include "server/rpc/coordination/coordination_service.hpp"
#include "server/rpc/coordination/encoding_cache.hpp"
#include "server/rpc/coordination/fault_status.hpp"
#include "server/rpc/coordination/gzip_request.hpp"
#include "tensorflow/coordination_service.pb.h"
#include "tensorflow/distributed_runtime_payloads.pb.h"
#include "tests/fuzz/input_reader.hpp"
#include "tests/fuzz/require.hpp"
#include "xla/coordination/coordination_service.pb.h"

#define coordination_call fuzzed_call
#include "server/rpc/coordination/method.hpp"
#undef coordination_call
#define coordination_call call_of_grpc
#include "server/rpc/coordination/call.hpp"
#undef coordination_call

namespace muster::server {

class fuzzed_clusters;

/// One call, with the functions of coordination_call that converters use.
class fuzzed_call {
 public:
  fuzzed_call(fuzzed_clusters& home, coordination_method const& method, std::uint8_t how)
      : home_(home), method_(method), how_(how) {}

  core::coordination::cluster_spec const& spec() const;
  core::coordination::task_ref task(std::string_view job, std::int64_t id) const {
    auto const index = spec().find(job, id);
    if (index != core::coordination::no_task) return {index, {}};
    auto name = job.empty() ? std::string() : "/job:" + std::string(job);
    return {index, name + "/task:" + std::to_string(id)};
  }
  std::string peer() const { return (how_ & 0x20) != 0 ? "10.0.0.2:4712" : "10.0.0.1:4711"; }
  bool may_wait() const { return method_.parks; }
  answer_style style;
  template <class Request>
  void ask(Request r);

  coordination_method const& method() const { return method_; }
  bool hurries() const { return (how_ & 0x40) != 0; }

 private:
  fuzzed_clusters& home_;
  coordination_method const& method_;
  std::uint8_t const how_;
};

/// Events other than calls. Most use the first two bytes of the message.
enum class other_event : std::uint8_t {
  time,               // time in powers of two; 1 if no tick occurs before the end
  caller_left,        // number of the call among the calls that wait
  connection_closed,  // task; incarnation
  redeclared,         // numbers of tasks of the two jobs
  renewed,
  failed,  // 1 if the cluster then refuses calls
  removed,
  end
};

/// The core with one cluster, and the calls that wait for an answer.
class fuzzed_clusters {
 public:
  fuzzed_clusters(std::span<coordination_method const> methods, dialect spoken,
                  std::uint8_t options)
      : methods_(methods), spoken_(spoken), all_(limits(), 1) {
    using std::chrono::seconds;
    spec_.name = "c";
    spec_.jobs = {{"worker", 3, false}, {"ps", 1, true}};
    spec_.heartbeat_timeout = seconds(10);
    spec_.register_timeout = seconds(60);
    spec_.shutdown_timeout = (options & 1) != 0 ? seconds(0) : seconds(30);
    spec_.register_barrier = (options & 2) == 0;
    spec_.recoverable = (options & 4) != 0;
    spec_.allow_reconnect = (options & 8) != 0;
    spec_.renew = (options & 16) == 0;
    using core::coordination::error_delivery;
    spec_.errors = (options & 32) != 0 ? error_delivery::heartbeat : error_delivery::poll;
    create();
  }

  core::coordination::cluster_spec const& spec() const { return all_.spec(cluster_); }

  void call(std::uint8_t how, std::string_view bytes) {
    constexpr std::size_t bytes_max = std::size_t{1} << 20;
    grpc::Slice const slice(bytes.data(), bytes.size());
    grpc::ByteBuffer request(&slice, 1);
    if (gunzip(request, bytes_max) != gunzip_result::ok) return;
    fuzz::require(request.Length() <= bytes_max, "a request is limited");
    auto const& method = methods_[(how & 0x1F) % methods_.size()];
    fuzzed_call c(*this, method, how);
    auto const before = last_call_;
    bool const asked = method.ask(c, request);
    fuzz::require(last_call_ == before + (asked ? 1 : 0), "only a valid request has an effect");
  }

  template <class Request>
  void ask(fuzzed_call const& c, Request r) {
    if (c.may_wait() && c.hurries()) r.from.deadline = now_ + std::chrono::seconds(5);
    if (spoken_ == dialect::tensorflow) r.from.peer = c.peer();
    r.from.call = core::call_id{++last_call_};
    open_.emplace(r.from.call, waiting{&c.method(), c.style});
    core::coordination::cluster_call event{cluster_, std::move(r)};
    take(all_.step(now_, event));
  }

  void happens(other_event what, std::string_view bytes) {
    namespace events = core::coordination;
    auto const byte = [&](std::size_t i) {
      return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u;
    };
    switch (what) {
      case other_event::time:
        return pass_time(core::duration(std::int64_t{1} << (byte(0) % 27)), byte(1) == 1);
      case other_event::caller_left: {
        if (open_.empty()) return;
        auto const it = std::next(open_.begin(), byte(0) % std::ssize(open_));
        events::call_abandoned const event{cluster_, it->first};
        open_.erase(it);
        return take(all_.step(now_, event));
      }
      case other_event::connection_closed:
        return take(all_.step(
            now_, events::connection_closed{cluster_, byte(0), core::incarnation{byte(1)}}));
      case other_event::redeclared:
        spec_.jobs = {{"worker", 1 + byte(0) % 4, false}};
        if (byte(1) > 0) spec_.jobs.push_back({"ps", 1 + byte(1) % 3, true});
        return take(all_.step(now_, events::redeclare_cluster{cluster_, spec_}));
      case other_event::renewed:
        return take(all_.step(now_, events::renew_cluster{cluster_, spec_}));
      case other_event::failed:
        return take(all_.step(
            now_, events::fail_cluster{cluster_, code::aborted, "given up", byte(0) == 1}));
      case other_event::removed:
        take(all_.step(now_, events::remove_cluster{spec_.name}));
        return create();
      case other_event::end:
        break;
    }
  }

  void stop() {
    take(all_.step(now_, core::coordination::stop{}));
    fuzz::require(open_.empty(), "a stopped service answers all calls");
  }

 private:
  struct waiting {
    coordination_method const* method = nullptr;
    answer_style style{};
  };

  static core::coordination::limits limits() {
    core::coordination::limits l;
    l.parked_calls_max = 32;
    l.barriers_max = 8;
    l.finished_barriers_max = 4;
    l.keys_max = 32;
    l.value_bytes_max = 4'096;
    l.device_bytes_max = 1'024;
    l.journalled = true;
    return l;
  }

  void create() {
    auto& fx = all_.step(now_, core::coordination::create_cluster{spec_});
    fuzz::require(fx.declared.ok(), "a valid cluster is created");
    cluster_ = fx.cluster;
  }

  void pass_time(core::duration by, bool stalled) {
    constexpr int ticks_max = 64;
    auto const end = now_ + by;
    for (int n = 0; !stalled && n < ticks_max && all_.next_deadline() <= end; ++n) {
      now_ = std::max(now_, all_.next_deadline());
      take(all_.step(now_, core::coordination::tick{}));
    }
    now_ = end;
  }

  void take(core::coordination::effects& fx) {
    for (auto& r : fx.replies) answer(r);
    auto const broken = all_.violated_invariant();
    if (!broken.empty()) std::fprintf(stderr, "%s\n", broken.c_str());
    fuzz::require(broken.empty(), "the invariants of the core hold");
    auto const parked = all_.exists(cluster_) ? all_.current(cluster_).parked_calls() : 0;
    fuzz::require(open_.size() == parked, "each unanswered call is parked");
  }

  void answer(core::coordination::reply& r) {
    auto const it = open_.find(r.call);
    fuzz::require(it != open_.end(), "a call is answered once, and only while its caller waits");
    auto const asked = it->second;
    open_.erase(it);
    auto const* const spec = all_.exists(cluster_) ? &all_.spec(cluster_) : nullptr;
    if (r.fault) return check_error(r.fault, spec);
    grpc::ByteBuffer bytes;
    fuzz::require(asked.method->encode({spec, asked.style, &encoded_}, r, bytes),
                  "a small answer can be encoded");
    check_answer(*asked.method, bytes);
  }

  void check_error(core::coordination::fault_ptr const& f,
                   core::coordination::cluster_spec const* spec) {
    using core::coordination::trailer_bytes_max;
    auto const encode = [&] { return to_grpc(*f, spoken_, spec); };
    auto const& status = statuses_.get(f, static_cast<std::uint64_t>(spoken_), encode);
    fuzz::require(!status.ok(), "an error has a code");
    auto const details = (status.error_details().size() + 2) / 3 * 4;
    fuzz::require(details <= trailer_bytes_max, "the details of an error fit into the trailers");
    auto const room = trailer_bytes_max - details;
    fuzz::require(
        core::coordination::fitting(status.error_message(), room) == status.error_message().size(),
        "the text of an error fits into the trailers");
    tensorflow::distributed_runtime::GrpcPayloadContainer payloads;
    fuzz::require(payloads.ParseFromString(status.error_details()), "the details can be parsed");
  }

  static void check_answer(coordination_method const& m, grpc::ByteBuffer const& bytes) {
    std::vector<grpc::Slice> slices;
    fuzz::require(bytes.Dump(&slices).ok(), "an answer has bytes");
    std::string all;
    for (auto const& s : slices) all.append(reinterpret_cast<char const*>(s.begin()), s.size());
    auto const slash = m.path.rfind('/');
    auto const* const service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            m.path.substr(1, slash - 1));
    auto const* const method =
        service == nullptr ? nullptr : service->FindMethodByName(m.path.substr(slash + 1));
    fuzz::require(method != nullptr, "a method is declared");
    auto* const factory = google::protobuf::MessageFactory::generated_factory();
    std::unique_ptr<google::protobuf::Message> const message(
        factory->GetPrototype(method->output_type())->New());
    fuzz::require(message->ParseFromString(all), "an answer is a message of the method");
  }

  std::span<coordination_method const> const methods_;
  dialect const spoken_;
  core::time_point now_{std::chrono::seconds(1'700'000'000)};
  core::coordination::cluster_spec spec_;
  core::coordination::clusters all_;
  core::coordination::cluster_id cluster_{};
  std::map<core::call_id, waiting> open_;
  std::uint64_t last_call_ = 0;
  encoding_cache<grpc::ByteBuffer> encoded_;
  encoding_cache<grpc::Status> statuses_;
};

inline core::coordination::cluster_spec const& fuzzed_call::spec() const {
  return home_.spec();
}

template <class Request>
void fuzzed_call::ask(Request r) {
  home_.ask(*this, std::move(r));
}

inline void play_coordination(std::span<coordination_method const> methods, dialect spoken,
                              fuzz::input_reader input) {
  if (input.at_end()) return;
  fuzzed_clusters all(methods, spoken, static_cast<std::uint8_t>(input.byte()));
  while (!input.at_end()) {
    auto const kind = static_cast<std::uint8_t>(input.byte());
    auto const bytes = input.two_bytes();
    auto const message = input.piece(bytes);
    if ((kind & 0x80) == 0)
      all.call(kind, message);
    else
      all.happens(static_cast<other_event>((kind & 0x7F) % static_cast<unsigned>(other_event::end)),
                  message);
  }
  all.stop();
}

}  // namespace muster::server
