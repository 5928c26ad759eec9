// ResNet-50 in LibTorch, PyTorch's C++ interface: `libtorch --batch 32 --size 64 --mode train`.
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>
#include <torch/optim/sgd.h>

#include "workload.hpp"

namespace nn = torch::nn;

nn::Conv2d conv(int64_t n_in, int64_t n_out, int64_t kernel, int64_t stride = 1) {
    return nn::Conv2d(nn::Conv2dOptions(n_in, n_out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct BottleneckImpl : nn::Module {
    nn::Conv2d conv1, conv2, conv3;
    nn::BatchNorm2d bn1, bn2, bn3;
    nn::Sequential downsample{nullptr};

    BottleneckImpl(int64_t n_in, int64_t width, int64_t stride)
        : conv1(conv(n_in, width, 1)), conv2(conv(width, width, 3, stride)), conv3(conv(width, 4 * width, 1)),
          bn1(width), bn2(width), bn3(4 * width) {
        register_module("conv1", conv1);
        register_module("bn1", bn1);
        register_module("conv2", conv2);
        register_module("bn2", bn2);
        register_module("conv3", conv3);
        register_module("bn3", bn3);
        if (stride != 1 || n_in != 4 * width) {
            downsample = nn::Sequential(conv(n_in, 4 * width, 1, stride), nn::BatchNorm2d(4 * width));
            register_module("downsample", downsample);
        }
    }

    torch::Tensor forward(torch::Tensor x) {
        auto out = bn1(conv1(x)).relu_();
        out = bn2(conv2(out)).relu_();
        out = bn3(conv3(out));
        return (out + (downsample ? downsample->forward(x) : x)).relu_();
    }
};
TORCH_MODULE(Bottleneck);

struct ResNet50Impl : nn::Module {
    nn::Conv2d conv1 = conv(3, 64, 7, 2);
    nn::BatchNorm2d bn1{64};
    nn::MaxPool2d maxpool{nn::MaxPool2dOptions(3).stride(2).padding(1)};
    nn::Sequential layers;
    nn::AdaptiveAvgPool2d avgpool{1};
    nn::Linear fc{2048, 1000};

    ResNet50Impl() {
        const int64_t stages[4][3] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}};
        int64_t n_in = 64;
        for (const auto& [width, n_blocks, stride] : stages)
            for (int64_t i = 0; i < n_blocks; i++, n_in = 4 * width)
                layers->push_back(Bottleneck(n_in, width, i ? 1 : stride));
        register_module("conv1", conv1);
        register_module("bn1", bn1);
        register_module("maxpool", maxpool);
        register_module("layers", layers);
        register_module("avgpool", avgpool);
        register_module("fc", fc);
        fill();
    }

    torch::Tensor forward(torch::Tensor x) {
        x = maxpool(bn1(conv1(x)).relu_());
        x = layers->forward(x);
        return fc(avgpool(x).flatten(1));
    }

    // The weights that every level of the study holds.
    void fill() {
        torch::NoGradGuard no_grad;
        uint32_t seed = 0;
        for (const auto& module : modules(/*include_self=*/false)) {
            torch::Tensor weight;
            if (auto* layer = module->as<nn::Conv2d>()) weight = layer->weight;
            if (auto* layer = module->as<nn::Linear>()) weight = layer->weight;
            if (auto* block = module->as<Bottleneck>()) block->bn3->weight.fill_(0.2);
            if (!weight.defined()) continue;
            auto values = weights(weight.numel(), weight[0].numel(), ++seed);
            weight.copy_(torch::from_blob(values.data(), weight.sizes(), torch::kFloat64));
        }
        fc->bias.zero_();
    }
};
TORCH_MODULE(ResNet50);

torch::ScalarType dtype_of(const std::string& name) {
    if (name == "float16") return torch::kHalf;
    if (name == "bfloat16") return torch::kBFloat16;
    if (name == "float32") return torch::kFloat32;
    if (name == "float64") return torch::kFloat64;
    throw std::invalid_argument("no dtype is called " + name);
}

// CUDA events on the current stream; on the CPU, which has none, the clock.
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

void measure(const Options& options, std::pair<int64_t, int64_t> point, torch::Device device) {
    const auto [batch, size] = point;
    const auto dtype = dtype_of(options.dtype);
    const bool trains = options.mode == "train";
    auto values = noise(batch * 3 * size * size, 0);
    auto host = torch::from_blob(values.data(), {batch, 3, size, size}, torch::kFloat64)
                    .to(dtype_of(options.input_dtype), /*non_blocking=*/false, /*copy=*/true);
    if (options.pinned) host = host.pin_memory();
    ResNet50 model;
    model->to(device, dtype);
    model->train(trains);
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.001).momentum(0.9));
    const auto labels = torch::arange(batch, torch::device(device).dtype(torch::kInt64)) % 1000;
    torch::Tensor result;

    const auto once = [&] {
        const auto images = host.to(device, /*non_blocking=*/options.pinned).to(dtype);
        if (!trains) {
            torch::NoGradGuard no_grad;
            result = model->forward(images);
            return;
        }
        optimizer.zero_grad();
        const auto loss = nn::functional::cross_entropy(model->forward(images), labels);
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
    int64_t n_parameters = 0;
    for (const auto& parameter : model->parameters()) n_parameters += parameter.numel();
    print(options, point, {"libtorch", c10::DeviceTypeName(device.type(), true), n_parameters, checksum}, timing);
}

int main(int argc, char** argv) try {
    const auto options = parse(argc, argv);
    const torch::Device device(options.device.empty() ? torch::cuda::is_available() ? "cuda" : "cpu" : options.device);
    for (const auto& point : options.points) {
        measure(options, point, device);
        // The next point's memory is its own.
        if (!device.is_cpu()) at::getDeviceAllocator(device.type())->emptyCache();
    }
} catch (const std::exception& error) {
    std::fprintf(stderr, "libtorch: %s\n", error.what());
    return 1;
}
