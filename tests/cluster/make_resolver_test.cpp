#include "muster/make_resolver.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/cluster/fixture.hpp"

namespace muster {
namespace {

using testing::environment;
using testing::fault_of;

std::shared_ptr<cluster_resolver> make(std::string const& text,
                                       std::map<std::string, std::string> variables = {}) {
  return local_resolver_kinds().make(text, environment(std::move(variables)));
}
std::string spec(std::string const& text) {
  return make(text)->cluster_spec().to_json();
}
std::string fault(std::string const& text) {
  return fault_of([&] { make(text)->cluster_spec(); });
}

struct spec_file {
  explicit spec_file(std::string const& text) { write(text); }
  ~spec_file() { std::filesystem::remove(path); }
  void write(std::string const& text) { std::ofstream(path) << text; }
  std::filesystem::path path = std::filesystem::path(::testing::TempDir()) /
                               ("spec+" + std::to_string(::getpid()) + "=x.json");
};

TEST(make_resolver, simple_kind_contains_its_json) {
  EXPECT_EQ(spec(R"(simple:{"worker": ["a;b:1", "}+slurm"]})"),
            R"({"worker":["a;b:1","}+slurm"]})");
  auto const r = make(
      R"( simple : {"worker":["a:1","b:1"]} ; task_type = worker ; task_id=1;rpc_layer=grpc;master=m )");
  EXPECT_EQ(r->task_type(), "worker");
  EXPECT_EQ(r->task_id(), 1);
  EXPECT_EQ(r->master("worker", 1), "grpc://b:1");
  EXPECT_EQ(r->master(), "grpc://m");
}

// Answers of cloud services can contain any text.
TEST(cluster_errors, contain_no_control_characters) {
  EXPECT_STREQ(cluster_error(cluster_error::code::missing, "pod 'a\nb\x1b[2J' is gone").what(),
               "pod 'a\\x0ab\\x1b[2J' is gone");
}

TEST(make_resolver, simple_kind_reads_its_file_once_and_file_kind_every_time) {
  spec_file file(R"({"worker": ["a:1"]})");
  auto const once = make("simple:@" + file.path.string());
  auto const each = make("file:" + file.path.string() + ";task_type=worker;task_id=0");
  file.write(R"({"worker": ["b:1"]})");
  EXPECT_EQ(once->cluster_spec().to_json(), R"({"worker":["a:1"]})");
  EXPECT_EQ(each->cluster_spec().to_json(), R"({"worker":["b:1"]})");
  EXPECT_EQ(each->master(), "b:1");
}

TEST(make_resolver, a_file_that_cannot_be_read_is_named) {
  EXPECT_EQ(
      fault_of([] { make("file:/nowhere/at/all")->cluster_spec(); }, cluster_error::code::missing),
      "'/nowhere/at/all': No such file or directory");
  EXPECT_EQ(fault("file:/dev/null"), "'/dev/null': not a regular file");
  spec_file file("{");
  EXPECT_EQ(fault("file:" + file.path.string()),
            file.path.string() + ": not JSON at line 1, column 2: incomplete JSON");
}

TEST(make_resolver, given_environment_is_used) {
  auto const r = make("tf-config:task_id=1", {{"TF_CONFIG", R"({"cluster": {"w": ["a:1", "b:1"]},
                                                "task": {"type": "w", "index": 0}})"}});
  EXPECT_EQ(r->master(), "b:1");
  EXPECT_EQ(make("sagemaker:port=9", {{"SM_HOSTS", R"(["h"])"}, {"SM_CURRENT_HOST", "h"}})
                ->cluster_spec()
                .to_json(),
            R"({"worker":["h:9"]})");
  auto const slurm = make(
      "slurm:jobs=ps=1,worker=2;port_base=9000;tasks_per_node=1;gpus_per_node=0",
      {{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_STEP_NODELIST", "n[01-03]"}});
  EXPECT_EQ(slurm->cluster_spec().to_json(),
            R"({"ps":["n01:9000"],"worker":["n02:9000","n03:9000"]})");
  EXPECT_EQ(slurm->master(), "grpc://n03:9000");
}

TEST(make_resolver, plus_before_a_known_kind_separates_a_union) {
  EXPECT_EQ(spec(R"(simple:{"worker":["a"]} + simple:{"worker":["b"],"ps":["c"]})"),
            R"({"ps":["c"],"worker":["a","b"]})");
  spec_file file(R"({"worker": ["z:1"]})");
  ASSERT_NE(file.path.string().find('+'), std::string::npos);
  EXPECT_EQ(spec("file:" + file.path.string() + R"(+simple:{"ps":["c"]})"),
            R"({"ps":["c"],"worker":["z:1"]})");
  EXPECT_EQ(make(R"(tf-config+simple:{"ps":["c"]})")->cluster_spec().to_json(), R"({"ps":["c"]})");
}

TEST(make_resolver, error_for_unknown_text_lists_the_known_values) {
  EXPECT_EQ(fault("consul:x"),
            "unknown resolver kind 'consul' (known kinds: simple, file, tf-config, slurm, "
            "sagemaker)");
  EXPECT_EQ(fault(""),
            "unknown resolver kind '' (known kinds: simple, file, tf-config, slurm, "
            "sagemaker)");
  EXPECT_EQ(fault("sagemaker:prot=1"),
            "sagemaker: unknown key 'prot' (known keys: port, task_type, task_id, rpc_layer, "
            "environment)");
}

TEST(make_resolver, values_that_do_not_fit_are_refused) {
  EXPECT_EQ(fault("simple"), "simple: missing JSON or @FILE; write simple:JSON or @FILE");
  EXPECT_EQ(fault("file:"), "file: missing FILE; write file:FILE");
  EXPECT_EQ(fault("sagemaker:port"), "sagemaker: the key port has no value; write port=…");
  EXPECT_EQ(fault("sagemaker:port=1;port=2"), "sagemaker: the key port is given twice");
  EXPECT_EQ(fault("sagemaker:port=65536"),
            "sagemaker: port: '65536' is not a number from 1 to 65535");
  EXPECT_EQ(fault("tf-config:task_id=-1"),
            "tf-config: task_id: '-1' is not a number from 0 to 999999");
  EXPECT_EQ(fault("slurm:jobs=ps"), "slurm: jobs: 'ps' is not JOB=N; write ps=1,worker=3");
  EXPECT_EQ(fault("slurm:jobs=ps=1,ps=2"), "slurm: jobs: 'ps' is listed twice");
  EXPECT_EQ(
      fault("simple:{\"w\": 1}"),
      "simple: w is a number, neither a list of addresses nor an object from index to address");
  EXPECT_EQ(fault("simple:{"), "simple: not JSON at line 1, column 2: incomplete JSON");
}

TEST(make_resolver, its_limits_hold) {
  EXPECT_EQ(fault(std::string(resolver_kinds::text_bytes_max + 1, 'x')),
            "the resolver text is longer than 1048576 bytes; store the cluster in a file");
  std::string many = "tf-config";
  for (std::size_t i = 0; i < resolver_kinds::union_max; ++i) many += "+tf-config";
  EXPECT_EQ(fault(many), "a union can contain at most 64 resolvers");
}

TEST(make_resolver, a_library_adds_its_kinds) {
  auto kinds = local_resolver_kinds();
  kinds.add({"fixed", "a test's", "", {{"n", ""}, {"on", ""}}, [](resolver_arguments const& a) {
               EXPECT_EQ(a.number("n", 0, 9), 3);
               EXPECT_EQ(a.flag("on"), true);
               EXPECT_EQ(a.text("absent"), std::nullopt);
               EXPECT_TRUE(a.value().empty());
               return local_resolver_kinds().make("simple:{}", a.environment());
             }});
  EXPECT_TRUE(kinds.make("fixed:n=3;on=true", environment({}))->cluster_spec().empty());
  EXPECT_EQ(kinds.all().back().name, "fixed");
}

TEST(make_resolver, kind_that_is_unavailable_takes_any_keys_and_reports_why) {
  auto kinds = local_resolver_kinds();
  kinds.add({"cloud", "a test's", "", {}, nullptr, "not in this build"});
  auto const fault = [&](std::string const& text) {
    return fault_of([&] { kinds.make(text, environment({})); });
  };
  EXPECT_EQ(fault("cloud"), "cloud: not in this build");
  EXPECT_EQ(fault("cloud:group=a;port=1"), "cloud: not in this build");
  EXPECT_EQ(fault("tf-config+cloud:group=a"), "cloud: not in this build");
}

}  // namespace
}  // namespace muster
