// For builds without TCPStores (MUSTER_WITH_TORCH_STORE=OFF).
#include "app/torch/torch_assembly.hpp"

namespace muster::server {
namespace {

class no_stores : public torch_assembly {
 public:
  no_stores(configuration const& c, coordination_hub& hub) : config_(c), hub_(hub) {}

  torch::torch_stores* stores() override { return nullptr; }
  void open() override;
  void start() override {}
  void stop() override {}

 private:
  configuration const& config_;
  coordination_hub& hub_;
};

start_error refusal(std::string const& setting) {
  return start_error(
      setting +
      ": this build of Muster does not include the torch.distributed TCPStore; it was configured "
      "with MUSTER_WITH_TORCH_STORE=OFF");
}

void no_stores::open() {
  if (config_.torch.listen) throw refusal("--torch");
  if (config_.torch.from != torch_settings().from) throw refusal("--torch-from");
  for (auto const cluster : hub_.state().ids())
    if (auto const& spec = hub_.state().spec(cluster); spec.torch_port)
      throw refusal("torch=" + std::to_string(*spec.torch_port) + " of cluster " + spec.name);
}

}  // namespace

std::unique_ptr<torch_assembly> make_torch_assembly(engine_assembly& engine, perimeter&,
                                                    store_assembly& store, tunnel_service&) {
  return std::make_unique<no_stores>(engine.config, store.coordination());
}

}  // namespace muster::server
