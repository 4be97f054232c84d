#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

using enum program_state;

std::string const hash(64, 'a'), other(64, 'b');

program_spec with_upload(std::string upload = hash) {
  auto s = of_workers(1);
  s.upload = std::move(upload);
  return s;
}

void see(bench& b, std::vector<std::string> const& there) {
  b.step([&] { b.core->uploads_present(there); });
}

TEST(program_uploads, are_named_until_the_program_has_ended) {
  bench b;
  auto const a = b.attach(0);
  auto const first = b.submit(with_upload()), second = b.submit(with_upload());
  b.submit(of_workers(1));
  auto const third = b.submit(with_upload(other));
  EXPECT_EQ(b.core->uploads(), (std::map<std::string, bool>{{hash, true}, {other, true}}));
  b.end(a, first, 1, 0);
  b.wish(third, program_command::cancel);
  EXPECT_EQ(b.state(third), stopping);
  EXPECT_EQ(b.core->uploads().size(), 2u) << "it has not ended";
  b.end(a, third, 1, 0, 0, true);
  EXPECT_EQ(b.core->uploads(), (std::map<std::string, bool>{{hash, true}}));
  b.end(a, second, 1, 0, 3);
  EXPECT_EQ(b.state(second), failed);
  EXPECT_TRUE(b.core->uploads().empty());
}

TEST(program_uploads, are_named_while_the_program_may_start_again) {
  bench b;
  auto const a = b.attach(0);
  auto spec = with_upload();
  spec.max_restarts = 1;
  auto const p = b.submit(std::move(spec));
  b.run(a, p, 1, {0});
  b.end(a, p, 1, 0, 3);
  EXPECT_EQ(b.find(p).attempt, 2u);
  EXPECT_EQ(b.core->uploads().size(), 1u);
}

TEST(program_uploads, missing_upload_delays_the_program_and_is_reported) {
  bench b;
  auto const p = b.submit(with_upload()), plain = b.submit(of_workers(1));
  see(b, {});
  auto const a = b.attach(0);
  EXPECT_EQ(b.state(p), pending);
  EXPECT_EQ(b.state(plain), starting) << "no program waits behind it";
  EXPECT_EQ(b.find(p).waits_for,
            "its upload is missing on the server; upload it again with PUT /api/v1/blobs/" + hash);
  EXPECT_EQ(b.core->uploads(), (std::map<std::string, bool>{{hash, false}}));
  see(b, {other, hash});
  EXPECT_EQ(b.state(p), starting);
  EXPECT_EQ(b.orders(a).starts.at(0).sheet->spec->upload, hash);
}

TEST(program_uploads, removed_upload_delays_only_the_next_attempt) {
  bench b;
  auto const a = b.attach(0);
  auto spec = with_upload();
  spec.max_restarts = 1;
  auto const p = b.submit(std::move(spec));
  b.run(a, p, 1, {0});
  see(b, {});
  EXPECT_EQ(b.state(p), running);
  b.end(a, p, 1, 0, 3);
  EXPECT_EQ(b.state(p), restarting);
  b.advance_in_touch(60s);
  EXPECT_EQ(b.state(p), restarting);
  see(b, {hash});
  EXPECT_EQ(b.state(p), starting);
}

TEST(program_uploads, programs_with_uploads_run_only_on_workers_that_unpack_them) {
  bench b;
  b.attach({.incarnation = 1, .index = 0, .host = "old", .resources = {}, .unpacks = false});
  auto const p = b.submit(with_upload());
  EXPECT_EQ(b.state(p), pending);
  EXPECT_EQ(b.find(p).waits_for, "no worker that supports uploads is connected");
  auto const a = b.attach(1);
  EXPECT_EQ(b.state(p), starting);
  EXPECT_EQ(b.started(a), std::vector<std::uint32_t>{0});
}

TEST(program_uploads, are_named_by_a_valid_hash_and_exclude_a_working_directory) {
  bench b;
  auto const wrong = [&](program_spec s) {
    return b.step([&] { return b.core->submit(b.now, std::move(s)); }).error().field;
  };
  for (auto const& hash : {std::string("."), std::string(64, 'A'), std::string(63, 'a')})
    EXPECT_EQ(wrong(with_upload(hash)), "upload") << hash;
  auto both = with_upload();
  both.working_dir = "/w";
  EXPECT_EQ(wrong(both), "upload");
}

}  // namespace
}  // namespace muster::core::programs
