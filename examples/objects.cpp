// Keeps weights on a parameter server; functions on workers read and update them:
//   objects ps HOST:PORT    objects worker HOST:PORT    objects train HOST:PORT [CHECKPOINTS]
#include <cstdio>
#include <exception>
#include <muster/cluster_coordinator.hpp>
#include <muster/worker.hpp>
#include <string>
#include <vector>

struct weights {
  explicit weights(std::size_t n) : w(n) {}
  std::vector<double> read() const { return w; }
  void add(std::vector<double> const& delta) {
    for (std::size_t i = 0; i < w.size(); ++i) w.at(i) += delta.at(i);
  }
  void load(std::vector<double> const& saved) { w = saved; }
  std::vector<double> w;
};

// Makes one step towards w = (part, part, …) for one part of the data.
void train(muster::remote_object const& model, double part) {
  auto delta = model.call<std::vector<double>>("read").fetch();
  for (auto& d : delta) d = 0.1 * (part - d);
  model.call<void>("add", delta).fetch();
}

int serve(std::string const& job, std::string const& server) {
  muster::worker w({.server = server, .job = job});
  if (job == "ps")
    w.object(muster::object_class<weights>("Weights")
                 .constructor<std::size_t>()
                 .method("read", &weights::read)
                 .method("add", &weights::add)
                 .saved(&weights::read, &weights::load));
  else
    w.function("train", train);
  return w.run();
}

int main(int argc, char** argv) {
  std::string const role = argc > 1 ? argv[1] : "train";
  std::string const server = argc > 2 ? argv[2] : "127.0.0.1:8476";
  if (role != "train") return serve(role, server);
  muster::cluster_coordinator coordinator({.server = server, .name = "train"});
  try {
    auto const model =
        coordinator.create({.task = "ps:0", .name = "weights", .saved = true}, "Weights", 3);
    std::string const checkpoints = argc > 3 ? argv[3] : "";
    if (!checkpoints.empty() && coordinator.restore(checkpoints))
      std::printf("from a checkpoint\n");
    std::vector<muster::remote_value<void>> steps;
    for (int epoch = 0; epoch < 50; ++epoch)
      for (auto const part : {1.0, 3.0})
        steps.push_back(
            coordinator.with({.task_job = "worker"}).submit<void>("train", model, part));
    for (auto const& step : steps) step.fetch();
    auto const found = coordinator.get_object("weights");
    for (auto const w : found.call<std::vector<double>>("read").fetch()) std::printf("%.0f ", w);
    std::printf("are about 2\n");
    if (!checkpoints.empty()) coordinator.save(checkpoints);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
