// What is the cost of durable sessions?
//
// One client schedules no-op closures in batches over one stream, gets their outcomes and releases
// them, a new batch for each finished one. A durable session and another session alternate on the
// same server and directory. Then Schedule calls follow one after the other, each answered when it
// is durable, and compared with the time of fdatasync in that directory.
#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "bench/cluster.hpp"
#include "bench/options.hpp"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::bench {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::uint64_t in_flight = 16'000;

/// A stream and its batches in flight; one thread writes, another reads.
class batches {
 public:
  batches(v1::CoordinatorService::Stub& stub, bool durable, std::uint64_t size)
      : size_(size), stream_(stub.Session(&context_)) {
    v1::SessionRequest first;
    first.mutable_open()->set_hold_values(true);
    first.mutable_open()->set_durable(durable);
    first.mutable_open()->set_queue_capacity(2 * in_flight);
    first.add_function_name("muster.noop");
    v1::SessionResponse opened;
    if (!stream_->Write(first) || !stream_->Read(&opened)) fail();
  }

  /// Returns closures per second.
  double run(double seconds) {
    std::thread reader([this] { read(); });
    for (std::uint64_t n = 0; n < in_flight / size_; ++n) send({});
    auto const from = count();
    auto const begun = clock::now();
    while (clock::now() - begun < std::chrono::duration<double>(seconds)) {
      auto done = take_ended();
      if (done.empty()) break;
      for (auto const first : done) send(first);
    }
    auto const rate = static_cast<double>(count() - from) /
                      std::chrono::duration<double>(clock::now() - begun).count();
    v1::SessionRequest close;
    close.set_close(true);
    stream_->Write(close);
    stream_->WritesDone();
    reader.join();
    if (auto const s = stream_->Finish(); !s.ok()) throw std::runtime_error(s.error_message());
    return rate;
  }

 private:
  [[noreturn]] void fail() { throw std::runtime_error(stream_->Finish().error_message()); }

  void send(std::optional<std::uint64_t> ended) {
    v1::SessionRequest m;
    if (ended)
      for (std::uint64_t i = 0; i < size_; ++i) m.add_release_token(*ended + i);
    for (std::uint64_t i = 0; i < size_; ++i) {
      m.add_token(++last_);
      m.add_function(0);
      m.add_args("[]");
    }
    if (!stream_->Write(m)) fail();
  }
  void read() {
    v1::SessionResponse m;
    while (stream_->Read(&m)) {
      std::lock_guard const lock(mutex_);
      for (auto const token : m.token()) {
        auto const first = (token - 1) / size_ * size_ + 1;
        if (++left_[first] == size_) {
          left_.erase(first);
          ended_.push_back(first);
        }
      }
      count_ += static_cast<std::uint64_t>(m.token_size());
      changed_.notify_one();
    }
    std::lock_guard const lock(mutex_);
    over_ = true;
    changed_.notify_one();
  }
  std::deque<std::uint64_t> take_ended() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ended_.empty() || over_; });
    return std::exchange(ended_, {});
  }
  std::uint64_t count() {
    std::lock_guard const lock(mutex_);
    return count_;
  }

  std::uint64_t const size_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>> stream_;
  std::uint64_t last_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, std::uint64_t> left_;  // outcomes so far, by a batch's first token
  std::deque<std::uint64_t> ended_;
  std::uint64_t count_ = 0;
  bool over_ = false;
};

double p99(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() * 99 / 100];
}

template <class Work>
double p99_ms(int times, Work work) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    auto const begun = clock::now();
    work();
    all.push_back(std::chrono::duration<double, std::milli>(clock::now() - begun).count());
  }
  return p99(std::move(all));
}

double acknowledged(v1::CoordinatorService::Stub& stub, int times) {
  grpc::ClientContext opening;
  v1::OpenSessionRequest open;
  open.mutable_open()->set_durable(true);
  v1::Opened opened;
  if (auto const s = stub.OpenSession(&opening, open, &opened); !s.ok())
    throw std::runtime_error(s.error_message());
  std::uint64_t token = 0;
  return p99_ms(times, [&] {
    grpc::ClientContext context;
    v1::ScheduleRequest m;
    m.set_session(opened.session());
    m.add_token(++token);
    m.add_function("muster.noop");
    m.add_args("[]");
    v1::ScheduleResponse r;
    if (auto const s = stub.Schedule(&context, m, &r); !s.ok())
      throw std::runtime_error(s.error_message());
  });
}

double fdatasync_ms(std::filesystem::path const& file, int times) {
  int const fd = ::open(file.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  std::string const block(256, 'x');
  auto const took = p99_ms(times, [&] {
    if (::write(fd, block.data(), block.size()) < 0 || ::fdatasync(fd) != 0)
      throw std::runtime_error("the disk cannot be written");
  });
  ::close(fd);
  return took;
}

}  // namespace

void sessions(options const& o, report& r) {
  auto pattern = (std::filesystem::temp_directory_path() / "muster-data-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make a temporary directory");
  std::filesystem::path const data = pattern;
  {
    auto const workers = o.workers.empty() ? 2 : o.workers.front();
    cluster c(workers, o.credits.empty() ? 256 : o.credits.front(), 1,
              {"--data-dir", (data / "server").string()});
    auto const stub = v1::CoordinatorService::NewStub(
        grpc::CreateChannel(c.grpc(), grpc::InsecureChannelCredentials()));
    for (std::uint64_t const size : {1'000, 100, 10})
      for (int turn = 0; turn < o.rounds; ++turn) {
        auto const plain = batches(*stub, false, size).run(o.seconds);
        auto const durable = batches(*stub, true, size).run(o.seconds);
        r.add({{"bench", "sessions"},
               {"batch", size},
               {"closures_per_second", plain},
               {"durable_closures_per_second", durable},
               {"ratio", durable / plain}});
      }
    r.add({{"bench", "acknowledgement"},
           {"p99_ms", acknowledged(*stub, 2'000)},
           {"fdatasync_p99_ms", fdatasync_ms(data / "file", 2'000)}});
  }
  std::error_code ignored;
  std::filesystem::remove_all(data, ignored);
}

}  // namespace muster::bench
