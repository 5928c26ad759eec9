// What the levels on cuDNN share: errors, memory on the device, and the way in and out.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <algorithm>

#include "lenet.hpp"

inline void check(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(status));
}
inline void check(cudnnStatus_t status) {
    if (status != CUDNN_STATUS_SUCCESS) throw std::runtime_error(std::string("cuDNN: ") + cudnnGetErrorString(status));
}
inline void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string("cuBLAS: ") + cublasGetStatusString(status));
}

// So many floats on the device; nothing is given back, as a process holds a few networks only.
inline float* device_floats(int64_t n) {
    void* data = nullptr;
    check(cudaMalloc(&data, std::max<int64_t>(n, 1) * sizeof(float)));
    return static_cast<float*>(data);
}

inline float* to_device(const float* values, int64_t n) {
    float* data = device_floats(n);
    check(cudaMemcpy(data, values, n * sizeof(float), cudaMemcpyHostToDevice));
    return data;
}

// A stream of its own, and images and logits on the device.
struct Ends {
    int batch;
    int64_t n_parameters;
    cudaStream_t stream = nullptr;
    float *images, *logits;

    Ends(int batch, int64_t n_parameters)
        : batch(batch), n_parameters(n_parameters), images(device_floats(int64_t(batch) * SIDE * SIDE)),
          logits(device_floats(int64_t(batch) * CLASSES)) {
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    void send(const float* host) {
        const size_t n_bytes = size_t(batch) * SIDE * SIDE * sizeof(float);
        check(cudaMemcpyAsync(images, host, n_bytes, cudaMemcpyHostToDevice, stream));
    }
    void fetch(float* host) {
        const size_t n_bytes = size_t(batch) * CLASSES * sizeof(float);
        check(cudaMemcpyAsync(host, logits, n_bytes, cudaMemcpyDeviceToHost, stream));
        synchronize();
    }
    void synchronize() { check(cudaStreamSynchronize(stream)); }
};
