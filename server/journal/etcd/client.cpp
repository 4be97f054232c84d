#include "server/journal/etcd/client.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <thread>

namespace muster::server::journal::etcd {
namespace {

using namespace std::chrono_literals;

constexpr auto pause = 50ms;
constexpr int connect_limit_ms = 2'000;
// Time limit for connecting to a recently unreachable member, if other members exist.
constexpr auto reconnect_wait = 100ms;
// Minimum time limit of a call, so that the call can report why its member is not connected.
constexpr auto call_limit_min = 100ms;
constexpr std::size_t transactions_at_once = 32;
// Minimum interval, because defragmentation blocks a member for seconds.
constexpr auto make_space_every = 10s;
constexpr auto make_space_limit = 30s;
constexpr auto alarm_limit = 2s;

std::shared_ptr<grpc::ChannelCredentials> credentials(access const& a) {
  if (!a.where.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions o;
  o.pem_root_certs = a.authorities;
  o.pem_private_key = a.key;
  o.pem_cert_chain = a.certificate;
  return grpc::SslCredentials(o);
}

grpc::ChannelArguments arguments() {
  grpc::ChannelArguments o;
  o.SetMaxReceiveMessageSize(std::numeric_limits<int>::max());
  // Reconnects a recovered member soon. `ask` limits the rate of attempts.
  o.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Despite its name, this option is the maximum duration of a connection attempt.
  o.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, connect_limit_ms);
  o.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  // The lease uses separate connections, so that slow writes do not delay its renewal.
  o.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  o.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return o;
}

// etcd uses the same code for other errors, so the text is compared too. etcd's own clients compare
// the same texts (rpctypes of 3.4.23 and 3.5).
constexpr std::string_view no_space = "etcdserver: mvcc: database space exceeded";
constexpr std::string_view old_revision = "etcdserver: revision of auth store is old";
// etcd returns OUT_OF_RANGE if it has dropped the revision, or if this member has not reached the
// revision.
constexpr std::string_view not_reached = "etcdserver: mvcc: required revision is a future revision";

// Returns the reason for messages. gRPC 1.51 returns UNAVAILABLE for all of these errors, with
// texts about its internals.
std::string reason(grpc::Status const& s) {
  auto const& text = s.error_message();
  auto const has = [&](char const* part) { return text.find(part) != std::string::npos; };
  if (has("onnection refused")) return "connection refused";
  if (has("DNS resolution failed")) return "its host name could not be resolved";
  bool const silent = s.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
                      s.error_code() == grpc::StatusCode::CANCELLED || has("handshaker shutdown") ||
                      has("Timeout occurred");
  if (silent) return "no answer in time";
  constexpr std::string_view inside = "last error: ";
  auto const at = text.rfind(inside);
  return at == std::string::npos ? text : text.substr(at + inside.size());
}

}  // namespace

bool out_of_space(grpc::Status const& s) {
  return s.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && s.error_message() == no_space;
}

bool is_transient(grpc::Status const& s) {
  switch (s.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::INTERNAL:
      return true;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return !out_of_space(s);
    case grpc::StatusCode::OUT_OF_RANGE:
      return s.error_message() == not_reached;
    default:
      return false;
  }
}

client::client(access a) : access_(std::move(a)) {
  auto const how = credentials(access_);
  for (auto const& host : access_.where.hosts) {
    auto const channel = grpc::CreateCustomChannel(host, how, arguments());
    members_.push_back({host, channel, wire::KV::NewStub(channel), wire::Lease::NewStub(channel),
                        wire::Maintenance::NewStub(channel), wire::Auth::NewStub(channel),
                        "not asked"});
  }
}

void client::prepare(grpc::ClientContext& context, milliseconds limit) const {
  context.set_deadline(std::chrono::system_clock::now() + limit);
  if (!token_.empty()) context.AddMetadata("token", token_);
}

grpc::Status client::authenticate(member& m, milliseconds limit) {
  if (access_.where.user.empty() || !token_.empty()) return grpc::Status::OK;
  wire::AuthenticateRequest request;
  request.set_name(access_.where.user);
  request.set_password(access_.password);
  wire::AuthenticateResponse answer;
  grpc::ClientContext context;
  prepare(context, limit);
  begin(&context);
  auto const s = m.auth->Authenticate(&context, request, &answer);
  end(&context);
  if (s.ok()) token_ = answer.token();
  return s;
}

grpc::Status client::with_token(member& m, milliseconds limit, attempt const& f) {
  auto s = authenticate(m, limit);
  if (!s.ok()) return s;
  grpc::ClientContext context;
  prepare(context, limit);
  begin(&context);
  s = f(m, context);
  end(&context);
  return s;
}

void client::begin(grpc::ClientContext* context) {
  std::lock_guard const lock(mutex_);
  running_.push_back(context);
  if (stopped_) context->TryCancel();
}

void client::end(grpc::ClientContext* context) {
  std::lock_guard const lock(mutex_);
  std::erase(running_, context);
}

void client::heard(grpc::Status const& s) {
  std::lock_guard const lock(mutex_);
  if (!is_transient(s)) waiting_since_.reset();
}

void client::give_up() {
  std::lock_guard const lock(mutex_);
  stopped_ = true;
  for (auto* c : running_) c->TryCancel();
}

void client::hurry(milliseconds patience) {
  {
    std::lock_guard const lock(mutex_);
    auto const now = clock::now();
    if (!hurried_at_) hurried_at_ = now;
    if (!waiting_since_ || now - std::max(*waiting_since_, *hurried_at_) < patience) return;
  }
  give_up();
}

// gRPC detects a new connection only while a caller waits for the connection. After a failed
// attempt, calls fail immediately.
void client::connect(member& m, milliseconds limit) {
  auto state = m.channel->GetState(true);
  bool tried = state != GRPC_CHANNEL_TRANSIENT_FAILURE;
  bool const others = members_.size() > 1;
  auto const until = clock::now() + (tried || !others ? limit : std::min(limit, reconnect_wait));
  while (state != GRPC_CHANNEL_READY && !stopped_ && clock::now() < until) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE && tried) return;
    auto const slice = std::min(until, clock::now() + reconnect_wait) - clock::now();
    auto const end =
        std::chrono::system_clock::now() + std::chrono::ceil<std::chrono::microseconds>(slice);
    (void)m.channel->WaitForStateChange(state, end);
    state = m.channel->GetState(true);
    tried = tried || state == GRPC_CHANNEL_CONNECTING;
  }
}

grpc::Status client::call(member& m, milliseconds limit, attempt const& f) {
  auto const end = clock::now() + limit;
  {
    std::lock_guard const lock(mutex_);
    if (!waiting_since_) waiting_since_ = clock::now();
  }
  connect(m, std::max(limit - call_limit_min, limit / 2));
  if (stopped_) return {grpc::StatusCode::CANCELLED, "cancelled"};
  auto const left = std::chrono::ceil<milliseconds>(end - clock::now());
  auto s = with_token(m, std::max<milliseconds>(left, call_limit_min), f);
  m.trouble = s.ok() ? std::string() : reason(s);
  heard(s);
  return s;
}

grpc::Status client::once(milliseconds limit, attempt const& f) {
  last_ = at_;
  auto& m = members_[at_];
  auto s = call(m, limit, f);
  // A token expires when it is unused for some minutes, and when the user changes.
  bool const stale =
      s.error_code() == grpc::StatusCode::UNAUTHENTICATED || s.error_message() == old_revision;
  if (stale && !token_.empty()) {
    token_.clear();
    s = call(m, limit, f);
  }
  if (is_transient(s)) at_ = (at_ + 1) % members_.size();
  return s;
}

// After a member was paused or etcd's leader changed, a linearizable read can return data that is
// older than acknowledged writes (etcd issue 20418).
grpc::Status client::judge(std::int64_t revision) {
  if (revision < required_)
    return {grpc::StatusCode::UNAVAILABLE, "it answered with revision " + std::to_string(revision) +
                                               ", which is older than revision " +
                                               std::to_string(required_)};
  required_ = revision;
  return grpc::Status::OK;
}

muster::status client::require_all_acknowledged(milliseconds limit, std::string const& what) {
  // Listing the alarms passes through etcd's log, but not all etcd versions return the revision
  // with the list.
  return ask(limit, what, [&](member& m, grpc::ClientContext& context) {
    wire::AlarmResponse alarms;
    auto s = m.maintenance->Alarm(&context, {}, &alarms);
    if (!s.ok()) return s;
    wire::RangeRequest request;
    request.set_key(prefix() + "/");
    wire::RangeResponse answer;
    grpc::ClientContext second;
    prepare(second, limit);
    begin(&second);
    s = m.kv->Range(&second, request, &answer);
    end(&second);
    return s.ok() ? judge(answer.header().revision()) : s;
  });
}

std::string client::asked(std::string const& what) const {
  auto text = "asked " + what + ": ";
  for (auto const& m : members_)
    text += (&m == members_.data() ? "" : ", ") + m.host + " (" +
            (m.trouble.empty() ? "answers" : m.trouble) + ")";
  return text;
}

muster::status client::ask(milliseconds limit, std::string const& what, attempt const& f) {
  auto const end = std::chrono::steady_clock::now() + limit;
  for (std::size_t n = 1;; ++n) {
    auto const left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    auto const s = once(std::clamp<milliseconds>(left, 1ms, std::max(limit / 2, 100ms)), f);
    if (s.ok()) return {};
    if (!is_transient(s)) return in_words(s);
    if (stopped_ || clock::now() + pause >= end) {
      auto const seconds = std::to_string(std::chrono::ceil<std::chrono::seconds>(limit).count());
      return {code::unavailable, "no answer in " + seconds + " s; " + asked(what)};
    }
    if (n % members_.size() == 0) std::this_thread::sleep_for(pause);
  }
}

void client::each(milliseconds limit, attempt const& f) {
  for (auto& m : members_) {
    connect(m, limit);
    (void)with_token(m, limit, f);
  }
}

std::vector<grpc::Status> client::transact(milliseconds limit,
                                           std::vector<wire::TxnRequest> const& all,
                                           std::vector<wire::TxnResponse>& answers) {
  answers.assign(all.size(), {});
  std::vector<grpc::Status> told(all.size());
  auto& m = members_[last_ = at_];
  {
    std::lock_guard const lock(mutex_);
    if (!waiting_since_) waiting_since_ = clock::now();
  }
  connect(m, limit);
  if (auto const s = authenticate(m, limit); !s.ok()) {
    std::fill(told.begin(), told.end(), s);
    return told;
  }
  grpc::CompletionQueue done;
  std::deque<grpc::ClientContext> contexts(all.size());
  std::vector<std::unique_ptr<grpc::ClientAsyncResponseReader<wire::TxnResponse>>> calls(
      all.size());
  std::size_t begun = 0, ended = 0;
  while (ended < all.size()) {
    for (; begun < all.size() && begun - ended < transactions_at_once; ++begun) {
      prepare(contexts[begun], limit);
      this->begin(&contexts[begun]);
      calls[begun] = m.kv->AsyncTxn(&contexts[begun], all[begun], &done);
      calls[begun]->Finish(&answers[begun], &told[begun], reinterpret_cast<void*>(begun));
    }
    void* tag = nullptr;
    bool ok = false;
    if (!done.Next(&tag, &ok)) break;
    end(&contexts[reinterpret_cast<std::size_t>(tag)]);
    heard(told[reinterpret_cast<std::size_t>(tag)]);
    ++ended;
  }
  return told;
}

void client::make_space(std::int64_t revision) {
  auto const now = std::chrono::steady_clock::now();
  if (space_made_ != decltype(now){} && now - space_made_ < make_space_every) return;
  space_made_ = now;
  wire::CompactionRequest history;
  history.set_revision(revision);
  history.set_physical(true);
  wire::CompactionResponse compacted;
  (void)once(make_space_limit, calling(&member::kv, &wire::KV::Stub::Compact, history, compacted));
  each(make_space_limit, [](member& m, grpc::ClientContext& context) {
    wire::DefragmentResponse answer;
    return m.maintenance->Defragment(&context, {}, &answer);
  });
  auto const alarm = [this](wire::AlarmRequest const& request) {
    wire::AlarmResponse answer;
    (void)once(alarm_limit,
               calling(&member::maintenance, &wire::Maintenance::Stub::Alarm, request, answer));
    return answer;
  };
  auto const on = alarm({});
  for (auto const& a : on.alarms()) {
    if (a.alarm() != wire::NOSPACE) continue;
    wire::AlarmRequest off;
    off.set_action(wire::AlarmRequest::DEACTIVATE);
    off.set_memberid(a.memberid());
    off.set_alarm(a.alarm());
    alarm(off);
  }
}

muster::status client::in_words(grpc::Status const& s) const {
  return {static_cast<muster::code>(s.error_code()), members_[last_].host + ": " + reason(s)};
}

}  // namespace muster::server::journal::etcd
