// ResNet-50 as TorchScript, loaded and run by C++: `torchscript --model FILE --batch 32 --size 64 --mode train`.
//
// FILE is what `python samples/study/torchscript.py --mode MODE --save FILE` writes.
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/cuda.h>
#include <torch/nn/functional/loss.h>
#include <torch/optim/sgd.h>

#include "workload.hpp"

namespace nn = torch::nn;

torch::ScalarType dtype_of(const std::string& name) {
    if (name == "float32") return torch::kFloat32;
    if (name == "float64") return torch::kFloat64;
    throw std::invalid_argument("no dtype is called " + name);
}

// CUDA events on the current stream.
Clock<std::shared_ptr<c10::Event>> device_clock(torch::Device device) {
    const c10::impl::VirtualGuardImpl guard(device.type());
    return {
        [=] {
            auto event = std::make_shared<c10::Event>(device.type(), c10::EventFlag::BACKEND_DEFAULT);
            event->record(guard.getStream(guard.getDevice()));
            return event;
        },
        [](const auto& before, const auto& after) { return before->elapsedTime(*after); },
        [=] { guard.getStream(guard.getDevice()).synchronize(); },
    };
}

Clock<int64_t> host_clock() {
    return {now_ns, [](int64_t before, int64_t after) { return (after - before) / 1e6; }, [] {}};
}

void measure(const Options& options, const std::string& file, std::pair<int64_t, int64_t> point, torch::Device device) {
    const auto [batch, size] = point;
    const auto dtype = dtype_of(options.dtype);
    const bool trains = options.mode == "train";
    auto values = noise(batch * 3 * size * size, 0);
    auto host = torch::from_blob(values.data(), {batch, 3, size, size}, torch::kFloat64)
                    .to(dtype_of(options.input_dtype), /*non_blocking=*/false, /*copy=*/true);
    if (options.pinned) host = host.pin_memory();
    auto model = torch::jit::load(file, device);
    std::vector<torch::Tensor> parameters;
    int64_t n_parameters = 0;
    for (const auto& parameter : model.parameters()) {
        parameters.push_back(parameter);
        n_parameters += parameter.numel();
    }
    torch::optim::SGD optimizer(parameters, torch::optim::SGDOptions(0.001).momentum(0.9));
    const auto labels = torch::arange(batch, torch::device(device).dtype(torch::kInt64)) % 1000;
    torch::Tensor result;

    const auto once = [&] {
        const auto images = host.to(device, /*non_blocking=*/options.pinned).to(dtype);
        if (!trains) {
            torch::NoGradGuard no_grad;
            result = model.forward({images}).toTensor();
            return;
        }
        optimizer.zero_grad();
        const auto loss = nn::functional::cross_entropy(model.forward({images}).toTensor(), labels);
        loss.backward();
        optimizer.step();
        result = loss.detach();
    };

    double checksum = 0;
    for (int64_t i = 0; i < options.warmup; i++) {
        once();
        if (i == 0) checksum = result.to(torch::kFloat64).abs().sum().item<double>();
    }
    const auto timing =
        device.is_cpu() ? timed(once, options, host_clock()) : timed(once, options, device_clock(device));
    print(options, point, {"torchscript_cpp", c10::DeviceTypeName(device.type(), true), n_parameters, checksum}, timing);
}

int main(int argc, char** argv) try {
    if (argc < 3 || std::string(argv[1]) != "--model") throw std::invalid_argument("the first option is --model FILE");
    const auto options = parse(argc - 2, argv + 2);
    const torch::Device device(options.device.empty() ? torch::cuda::is_available() ? "cuda" : "cpu" : options.device);
    for (const auto& point : options.points) {
        measure(options, argv[2], point, device);
        // The next point's memory is its own.
        if (!device.is_cpu()) at::getDeviceAllocator(device.type())->emptyCache();
    }
} catch (const std::exception& error) {
    std::fprintf(stderr, "torchscript: %s\n", error.what());
    return 1;
}
