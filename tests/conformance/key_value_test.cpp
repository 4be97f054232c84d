// Not ported: the callbacks of key_value_store_test (an internal class), and StartWatchKey and
// related calls (local to the original agents).
#include "tests/conformance/fixture.hpp"

namespace muster::test {
namespace {

using entries = std::vector<std::pair<std::string, std::string>>;

class key_values : public conformance {
 protected:
  void SetUp() override {
    serve(loose(2));
    connect(2);
  }
  void put(std::string const& key, std::string const& value = "v") {
    ASSERT_TRUE((*this)[0].insert(key, value).get().ok());
  }
};

TEST_P(key_values, InsertKeyValue_Duplicate_Fail) {
  put("key0", "original");
  auto const a = (*this)[0].insert("key0", "never").get();
  EXPECT_CODE(a, ALREADY_EXISTS);
  EXPECT_FALSE(a.coordination);
  EXPECT_EQ((*this)[1].get("key0").get().value, "original");
}

TEST_P(key_values, InsertKeyValue_Duplicate_Overwrite) {
  put("key0", "original");
  EXPECT_CODE((*this)[0].insert("key0", "overwritten", true).get(), OK);
  EXPECT_EQ((*this)[1].get("key0").get().value, "overwritten");
}

TEST_P(key_values, TestSetGetValues) {
  put("///path//to/key1//", "value1");
  EXPECT_EQ((*this)[1].get("path/to/key1").get().value, "value1");
  auto const as_asked = (*this)[1].get("/path/to///key1/").get();
  EXPECT_EQ(as_asked.value, "value1");
  EXPECT_EQ(as_asked.key, "/path/to///key1/");
  auto const missing = (*this)[1].try_get("path/to/none").get();
  EXPECT_CODE(missing, NOT_FOUND);
  EXPECT_TRUE(missing.coordination);
  EXPECT_EQ((*this)[1].try_get("path/to/key1").get().value, "value1");
  auto waiting = (*this)[1].get("later");
  EXPECT_TRUE(waiting.parked_for(a_while));
  put("/later/", "at last");
  EXPECT_EQ(waiting.get().value, "at last");
  EXPECT_CODE((*this)[0].erase("path").get(), OK);
  EXPECT_CODE((*this)[1].try_get("path/to/key1").get(), NOT_FOUND);
  EXPECT_CODE((*this)[0].erase("path").get(), OK) << "there is nothing left";
}

TEST_P(key_values, IncrementKeyValue) {
  EXPECT_EQ((*this)[0].increment("n", 2).get().value, "2");
  EXPECT_EQ((*this)[1].increment("n", 5'000'000'000).get().value, "5000000002");
  EXPECT_EQ((*this)[1].try_get("n").get().value, "5000000002");
  put("text", "abc");
  auto const a = (*this)[0].increment("text", 1).get();
  EXPECT_CODE(a, FAILED_PRECONDITION);
  EXPECT_TRUE(a.coordination);
}

TEST_P(key_values, GetKeyValueDir_SingleValueInDirectory) {
  put("dir/path", "value0");
  EXPECT_EQ((*this)[1].dir("dir").get().entries, (entries{{"dir/path", "value0"}}));
}

TEST_P(key_values, GetKeyValueDir_MultipleValuesInDirectory) {
  put("dir/path2", "value1");
  put("dir/path", "value0");
  put("dir/path3/deep", "value2");
  EXPECT_EQ(
      (*this)[1].dir("/dir//").get().entries,
      (entries{{"dir/path", "value0"}, {"dir/path2", "value1"}, {"dir/path3/deep", "value2"}}));
}

TEST_P(key_values, GetKeyValueDir_Empty_ReturnsEmptyList) {
  EXPECT_TRUE((*this)[1].dir("dir").get().entries.empty());
}

TEST_P(key_values, GetKeyValueDir_WrongDir_ReturnsEmptyList) {
  put("dir0/path");
  EXPECT_TRUE((*this)[1].dir("dir").get().entries.empty());
}

TEST_P(key_values, GetKeyValueDir_WrongDirPrefix_ReturnsEmptyList) {
  put("wrong_dir/dir/path");
  EXPECT_TRUE((*this)[1].dir("dir").get().entries.empty());
}

TEST_P(key_values, GetKeyValueDir_NonDirectoryPrefix_ReturnsEmptyList) {
  put("dir_key");
  EXPECT_TRUE((*this)[1].dir("dir").get().entries.empty());
}

TEST_P(key_values, GetKeyValueDir_NonDirectoryKey_ReturnsEmptyList) {
  put("dir");
  EXPECT_TRUE((*this)[1].dir("dir").get().entries.empty());
}

TEST_P(key_values, DeleteKeyValue_Directory) {
  put("a");
  put("a/b");
  put("ab");
  EXPECT_CODE((*this)[0].erase("a").get(), OK);
  EXPECT_CODE((*this)[1].try_get("a/b").get(), NOT_FOUND);
  EXPECT_CODE((*this)[1].try_get("ab").get(), OK);
}

TEST_P(key_values, AsyncKeyValueGet_Cancelled) {
  auto waiting = (*this)[1].get("never");
  ASSERT_TRUE(server->parked(1));
  waiting.cancel();
  EXPECT_CODE(waiting.get(), CANCELLED);
  EXPECT_TRUE(server->parked(0)) << "the waiter is dropped";
}

TEST_P(key_values, GetKeyValue_Timeout_ReturnError) {
  auto const a = (*this)[1].get("never", 300ms).get();
  EXPECT_CODE(a, DEADLINE_EXCEEDED);
  EXPECT_SAYS(a, "never");  // the service's message, not the client's
  EXPECT_TRUE(a.coordination);
}

INSTANTIATE_TEST_SUITE_P(wire, key_values,
                         testing::Values(wire_dialect::xla, wire_dialect::tensorflow),
                         dialect_name);

}  // namespace
}  // namespace muster::test
