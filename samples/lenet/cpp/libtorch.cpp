// LeNet in LibTorch, PyTorch's C++ interface.
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/torch.h>

#include "lenet.hpp"

namespace nn = torch::nn;

// begin libtorch
struct LeNetImpl : nn::Module {
    nn::Conv2d conv1, conv2;
    nn::Linear dense1, dense2;

    explicit LeNetImpl(const Size& s)
        : conv1(nn::Conv2dOptions(1, s.first, KERNEL).padding(s.padding)),
          conv2(nn::Conv2dOptions(s.first, s.second, KERNEL).padding(s.padding)), dense1(s.features(), s.hidden),
          dense2(s.hidden, CLASSES) {
        register_module("conv1", conv1);
        register_module("conv2", conv2);
        register_module("dense1", dense1);
        register_module("dense2", dense2);
    }

    torch::Tensor forward(torch::Tensor x) {
        x = torch::max_pool2d(torch::relu(conv1(x)), 2);
        x = torch::max_pool2d(torch::relu(conv2(x)), 2);
        x = torch::relu(dense1(x.flatten(1)));
        return dense2(x);
    }
};
TORCH_MODULE(LeNet);
// end

struct Net {
    int batch;
    int64_t n_parameters = 0;
    torch::Device device;
    torch::Tensor images, logits;
    LeNet model;

    Net(const Size& s, const Weights& w, int batch, bool cuda)
        : batch(batch), device(cuda ? torch::kCUDA : torch::kCPU), model(s) {
        at::globalContext().setAllowTF32CuDNN(false);
        at::globalContext().setAllowTF32CuBLAS(false);
        torch::NoGradGuard no_grad;
        // begin libtorch
        const float* at = w.conv1;
        for (auto& parameter : model->parameters()) {
            parameter.copy_(torch::from_blob(const_cast<float*>(at), parameter.sizes()));
            at += parameter.numel();
        }
        model->to(device);
        // end
        n_parameters = at - w.conv1;
    }
    void send(const float* host) {
        images = torch::from_blob(const_cast<float*>(host), {batch, 1, SIDE, SIDE}).to(device);
    }
    // begin libtorch
    void infer() {
        c10::InferenceMode guard;
        logits = model->forward(images);
    }
    // end
    void fetch(float* host) {
        const auto copied = logits.to(torch::kCPU).contiguous();
        std::copy_n(copied.const_data_ptr<float>(), copied.numel(), host);
    }
    void synchronize() {
        if (device.is_cpu()) return;
        const c10::impl::VirtualGuardImpl guard(device.type());
        guard.getStream(guard.getDevice()).synchronize();
    }
};

LENET_EXPORT(Net)
