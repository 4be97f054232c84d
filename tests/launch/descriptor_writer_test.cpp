#include "launch/descriptor_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <memory>
#include <string>

namespace muster::launch {
namespace {

struct descriptor_writers : testing::Test {
  descriptor_writers() { EXPECT_EQ(::pipe(ends), 0); }
  ~descriptor_writers() override {
    for (int fd : ends)
      if (fd >= 0) ::close(fd);
  }
  std::string read(std::size_t bytes) const {
    std::string text(bytes, '\0');
    std::size_t done = 0;
    while (done < bytes) {
      auto const n = ::read(ends[0], text.data() + done, bytes - done);
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    text.resize(done);
    return text;
  }

  int ends[2] = {-1, -1};
  std::promise<void> room, drained;
  std::promise<int> error;
  descriptor_writer::callbacks on{[this] { room.set_value(); }, [this] { drained.set_value(); },
                                  [this](int, int e) { error.set_value(e); }};
};

TEST_F(descriptor_writers, full_queue_reports_when_there_is_room_again) {
  descriptor_writer w(on);
  std::string const piece(descriptor_writer::bytes_max / 4, 'x');
  std::size_t posted = 0;
  while (!w.full()) {
    w.post(ends[1], piece);
    posted += piece.size();
  }
  EXPECT_GE(posted, descriptor_writer::bytes_max);
  EXPECT_LE(posted, 2 * descriptor_writer::bytes_max)
      << "without a reader only the pipe buffer is filled";
  w.finish();
  EXPECT_EQ(read(posted).size(), posted);
  room.get_future().wait();
  drained.get_future().wait();
  EXPECT_FALSE(w.full());
}

TEST_F(descriptor_writers, failing_descriptor_is_reported_once_and_delays_no_other) {
  int const full = ::open("/dev/full", O_WRONLY);
  descriptor_writer w(on);
  for (int i = 0; i < 100; ++i) {
    w.post(full, "lost");
    w.post(ends[1], "kept");
  }
  EXPECT_EQ(read(400).size(), 400u);
  EXPECT_EQ(error.get_future().get(), ENOSPC) << "a second report would end the test";
  ::close(full);
}

TEST_F(descriptor_writers, can_be_abandoned_while_the_reader_is_stuck) {
  auto w = std::make_unique<descriptor_writer>(on);
  w->post(ends[1], std::string(descriptor_writer::bytes_max, 'x'));
  EXPECT_EQ(read(1), "x") << "the writer is in the middle of the write";
  w->abandon();
  w.reset();  // does not wait
  EXPECT_EQ(read(descriptor_writer::bytes_max - 1).size(), descriptor_writer::bytes_max - 1)
      << "the abandoned write";
}

}  // namespace
}  // namespace muster::launch
