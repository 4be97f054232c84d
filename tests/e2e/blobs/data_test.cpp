#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "base/http_client/http_client.hpp"
#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::string const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
std::string const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

unsigned put(cluster& c, std::string const& name, std::string const& bytes) {
  http_request r;
  r.method = "PUT";
  r.url = c.url() + "/api/v1/blobs/" + name;
  r.body = bytes;
  auto const answer = http_client().send(r);
  return answer ? answer->status : 0;
}

/// Writes a server directory with two blobs. The value of a job refers to the blob "abc".
void make(cluster& c, std::string const& data) {
  auto& server = c.serve({"--data-dir", data});
  c.worker();
  EXPECT_EQ(put(c, abc, "abc"), 201u);
  EXPECT_EQ(put(c, nothing, ""), 201u);
  auto const f = c.run(
      {"submit", "muster.echo", R"({"$blob":")" + abc + R"(","bytes":3})", "--timeout", "20s"});
  EXPECT_EQ(f.status, 0) << f.err;
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}

TEST(data_blobs, are_checked_copied_and_served_from_the_copy) {
  cluster c;
  auto const data = c.file("data").string(), backup = c.file("backup").string(),
             again = c.file("again").string();
  make(c, data);
  auto const told = json::parse(c.run({"data", "check", data, "--output", "json"}).out);
  EXPECT_EQ(told.at("blobs"), json::parse(R"({"blobs":2,"bytes":3,"named":1,"missing":[]})"));
  auto const copied = c.run({"data", "backup", data, backup});
  EXPECT_EQ(copied.status, 0) << copied.err;
  EXPECT_CONTAINS(copied.out, ", 2 blobs of 3 bytes\n");
  EXPECT_EQ(copied.err, "");
  EXPECT_EQ(c.run({"data", "restore", backup, again}).status, 0);
  auto const checked = c.run({"data", "check", again});
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_CONTAINS(checked.out, "\nblob                   2      3\n");
  fs::remove_all(data);
  c.serve({"--data-dir", again});
  EXPECT_EQ(c.text("/api/v1/blobs/" + abc), "abc");
  EXPECT_EQ(c.text("/api/v1/blobs/" + nothing), "");
  EXPECT_TRUE(await([&] { return c.get("/api/v1/blobs").at("held").to_number<int>() == 1; }))
      << "the value that names it was restored, too";
}

TEST(data_blobs, damaged_or_missing_blobs_are_named) {
  cluster c;
  auto const data = c.file("data").string(), to = c.file("to").string();
  make(c, data);
  auto const file = data + "/blobs/" + abc;
  std::ofstream(file, std::ios::binary) << "abd";
  for (auto const& verb : std::vector<words>{
           {"data", "check", data}, {"data", "backup", data, to}, {"data", "restore", data, to}}) {
    auto const f = c.run(verb);
    EXPECT_EQ(f.status, 1);
    EXPECT_CONTAINS(f.err, file + ": this blob is damaged: its content has the SHA-256 a52d159f");
    EXPECT_EQ(std::count(f.err.begin(), f.err.end(), '\n'), 1) << f.err;
    EXPECT_FALSE(fs::exists(to));
    EXPECT_FALSE(fs::exists(to + ".partial"));
  }
  fs::remove(file);
  auto const line = "note: blob " + abc + " is missing; the value of cl_";
  auto const checked = c.run({"data", "check", data});
  EXPECT_EQ(checked.status, 1);
  EXPECT_CONTAINS(checked.err, line);
  EXPECT_EQ(checked.out.find("can be read"), std::string::npos) << checked.out;
  auto const copied = c.run({"data", "backup", data, to});
  EXPECT_EQ(copied.status, 0) << "the remaining data can still be copied";
  EXPECT_CONTAINS(copied.err, line);
  EXPECT_CONTAINS(copied.out, ", 1 blobs of 0 bytes\n");
}

}  // namespace
}  // namespace muster::e2e
