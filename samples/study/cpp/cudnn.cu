// ResNet-50's forward pass with nothing but cuDNN: `cudnn --batch 32 --size 64`. It holds float32 and does not train.
#include <cuda_runtime.h>
#include <cudnn.h>

#include <memory>

#include "workload.hpp"

void check(cudnnStatus_t status) {
    if (status != CUDNN_STATUS_SUCCESS) throw std::runtime_error(cudnnGetErrorString(status));
}
void check(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

const float ONE = 1, ZERO = 0;

cudnnHandle_t cudnn() {
    static const cudnnHandle_t handle = [] {
        cudnnHandle_t made;
        check(cudnnCreate(&made));
        return made;
    }();
    return handle;
}

// Memory on the device.
struct Buffer {
    void* data = nullptr;
    size_t size;

    explicit Buffer(size_t n_bytes) : size(n_bytes) { check(cudaMalloc(&data, std::max<size_t>(n_bytes, 1))); }
    explicit Buffer(const std::vector<float>& values) : Buffer(values.size() * sizeof(float)) {
        check(cudaMemcpy(data, values.data(), size, cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() { cudaFree(data); }
};

// Activations of shape n, c, h, w; copies share the memory.
struct Tensor {
    int n = 0, c = 0, h = 0, w = 0;
    std::shared_ptr<Buffer> buffer;
    cudnnTensorDescriptor_t descriptor = nullptr;

    Tensor() = default;
    Tensor(int n, int c, int h, int w) : n(n), c(c), h(h), w(w), buffer(new Buffer(size_t(n) * c * h * w * 4)) {
        check(cudnnCreateTensorDescriptor(&descriptor));
        check(cudnnSetTensor4dDescriptor(descriptor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, c, h, w));
    }
    void* data() const { return buffer->data; }
};

struct Layer {
    virtual ~Layer() = default;
    virtual Tensor forward(const Tensor& x) = 0;
};

int64_t n_parameters;  // of the layers made so far
uint32_t n_weighted;   // layers made so far that have weights
std::unique_ptr<Buffer> workspace;  // one for all convolutions: they run one after the other

struct Conv2d : Layer {
    int n_in, n_out, kernel, stride;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;
    cudnnConvolutionFwdAlgo_t algorithm;
    Buffer weight;
    Tensor y;

    Conv2d(int n_in, int n_out, int kernel, int stride = 1)
        : n_in(n_in), n_out(n_out), kernel(kernel), stride(stride), weight(made(n_in, n_out, kernel)) {
        check(cudnnCreateFilterDescriptor(&filter));
        check(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, n_out, n_in, kernel, kernel));
        check(cudnnCreateConvolutionDescriptor(&convolution));
        const int padding = kernel / 2;
        check(cudnnSetConvolution2dDescriptor(convolution, padding, padding, stride, stride, 1, 1,
                                              CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    }

    static std::vector<float> made(int n_in, int n_out, int kernel) {
        const int64_t n_inputs = int64_t(n_in) * kernel * kernel;
        n_parameters += n_out * n_inputs;
        const auto values = weights(n_out * n_inputs, n_inputs, ++n_weighted);
        return {values.begin(), values.end()};
    }

    // The output's shape and the algorithm that cuDNN recommends, once the input's shape is known.
    void plan(const Tensor& x) {
        y = Tensor(x.n, n_out, (x.h - 1) / stride + 1, (x.w - 1) / stride + 1);
        int n_found;
        cudnnConvolutionFwdAlgoPerf_t best;
        check(cudnnGetConvolutionForwardAlgorithm_v7(cudnn(), x.descriptor, filter, convolution, y.descriptor, 1,
                                                     &n_found, &best));
        algorithm = best.algo;
        check(cudnnSetConvolutionMathType(convolution, best.mathType));
        size_t needed;
        check(cudnnGetConvolutionForwardWorkspaceSize(cudnn(), x.descriptor, filter, convolution, y.descriptor,
                                                      algorithm, &needed));
        if (!workspace || workspace->size < needed) {
            check(cudaDeviceSynchronize());  // the old one may be in use
            workspace.reset(new Buffer(needed));
        }
    }

    Tensor forward(const Tensor& x) override {
        if (!y.buffer) plan(x);
        check(cudnnConvolutionForward(cudnn(), &ONE, x.descriptor, x.data(), filter, weight.data, convolution,
                                      algorithm, workspace->data, workspace->size, &ZERO, y.descriptor, y.data()));
        return y;
    }
};

struct BatchNorm2d : Layer {
    Buffer scale, bias, mean, variance;
    cudnnTensorDescriptor_t descriptor;

    explicit BatchNorm2d(int n, float scale = 1)
        : scale(std::vector<float>(n, scale)), bias(std::vector<float>(n, 0)), mean(std::vector<float>(n, 0)),
          variance(std::vector<float>(n, 1)) {
        n_parameters += 2 * n;
        check(cudnnCreateTensorDescriptor(&descriptor));
        check(cudnnSetTensor4dDescriptor(descriptor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, n, 1, 1));
    }

    Tensor forward(const Tensor& x) override {  // in place
        check(cudnnBatchNormalizationForwardInference(cudnn(), CUDNN_BATCHNORM_SPATIAL, &ONE, &ZERO, x.descriptor,
                                                      x.data(), x.descriptor, x.data(), descriptor, scale.data,
                                                      bias.data, mean.data, variance.data, 1e-5));
        return x;
    }
};

struct ReLU : Layer {
    cudnnActivationDescriptor_t descriptor;

    ReLU() {
        check(cudnnCreateActivationDescriptor(&descriptor));
        check(cudnnSetActivationDescriptor(descriptor, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0));
    }

    Tensor forward(const Tensor& x) override {  // in place
        check(cudnnActivationForward(cudnn(), descriptor, &ONE, x.descriptor, x.data(), &ZERO, x.descriptor, x.data()));
        return x;
    }
};

struct Pool2d : Layer {
    cudnnPoolingMode_t mode;
    int kernel, stride, padding;  // a kernel of 0 takes the whole image
    cudnnPoolingDescriptor_t descriptor;
    Tensor y;

    Pool2d(cudnnPoolingMode_t mode, int kernel, int stride, int padding)
        : mode(mode), kernel(kernel), stride(stride), padding(padding) {
        check(cudnnCreatePoolingDescriptor(&descriptor));
    }

    Tensor forward(const Tensor& x) override {
        if (!y.buffer) {
            const int high = kernel ? kernel : x.h, wide = kernel ? kernel : x.w;
            check(cudnnSetPooling2dDescriptor(descriptor, mode, CUDNN_PROPAGATE_NAN, high, wide, padding, padding,
                                              stride, stride));
            y = Tensor(x.n, x.c, (x.h + 2 * padding - high) / stride + 1, (x.w + 2 * padding - wide) / stride + 1);
        }
        check(cudnnPoolingForward(cudnn(), descriptor, &ONE, x.descriptor, x.data(), &ZERO, y.descriptor, y.data()));
        return y;
    }
};

struct Sequential : Layer {
    std::vector<std::unique_ptr<Layer>> layers;

    template <typename... Layers>
    explicit Sequential(Layers*... made) {
        (layers.emplace_back(made), ...);
    }

    Tensor forward(const Tensor& x) override {
        Tensor out = x;
        for (auto& layer : layers) out = layer->forward(out);
        return out;
    }
};

struct Bottleneck : Layer {
    Sequential body;
    std::unique_ptr<Sequential> downsample;
    ReLU relu;

    // Braces make the layers from left to right, and with them their weights in the order that all levels share.
    Bottleneck(int n_in, int width, int stride)
        : body{new Conv2d(n_in, width, 1), new BatchNorm2d(width), new ReLU,
               new Conv2d(width, width, 3, stride), new BatchNorm2d(width), new ReLU,
               new Conv2d(width, 4 * width, 1), new BatchNorm2d(4 * width, 0.2)} {
        if (stride != 1 || n_in != 4 * width)
            downsample.reset(new Sequential{new Conv2d(n_in, 4 * width, 1, stride), new BatchNorm2d(4 * width)});
    }

    Tensor forward(const Tensor& x) override {
        const Tensor skipped = downsample ? downsample->forward(x) : x;
        const Tensor out = body.forward(x);
        check(cudnnAddTensor(cudnn(), &ONE, skipped.descriptor, skipped.data(), &ONE, out.descriptor, out.data()));
        return relu.forward(out);
    }
};

// The classifier, as what it is to cuDNN: a 1×1 convolution of an image of one pixel, and its bias.
struct Linear : Layer {
    Conv2d product;
    Tensor bias;

    Linear(int n_in, int n_out) : product(n_in, n_out, 1), bias(1, n_out, 1, 1) {
        n_parameters += n_out;
        check(cudaMemset(bias.data(), 0, bias.buffer->size));
    }

    Tensor forward(const Tensor& x) override {
        const Tensor y = product.forward(x);
        check(cudnnAddTensor(cudnn(), &ONE, bias.descriptor, bias.data(), &ONE, y.descriptor, y.data()));
        return y;
    }
};

Sequential resnet50() {
    Sequential model{new Conv2d(3, 64, 7, 2), new BatchNorm2d(64), new ReLU, new Pool2d(CUDNN_POOLING_MAX, 3, 2, 1)};
    const int stages[4][3] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}};
    int n_in = 64;
    for (const auto& [width, n_blocks, stride] : stages)
        for (int i = 0; i < n_blocks; i++, n_in = 4 * width)
            model.layers.emplace_back(new Bottleneck(n_in, width, i ? 1 : stride));
    model.layers.emplace_back(new Pool2d(CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING, 0, 1, 0));
    model.layers.emplace_back(new Linear(n_in, 1000));
    return model;
}

__global__ void cast(const double* from, float* to, size_t n) {
    const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n) to[i] = float(from[i]);
}

// The batch on the host, in float32 or float64, in pageable or pinned memory, and its way to the device.
template <typename T>
struct Batch {
    T* host;
    Tensor images;
    Buffer copied;
    bool pinned;

    Batch(const Options& options, std::pair<int64_t, int64_t> point)
        : images(point.first, 3, point.second, point.second),
          copied(images.buffer->size / 4 * (std::is_same_v<T, double> ? sizeof(T) : 0)), pinned(options.pinned) {
        const auto values = noise(images.buffer->size / 4, 0);
        const size_t n_bytes = values.size() * sizeof(T);
        if (pinned) check(cudaMallocHost(&host, n_bytes));
        else host = static_cast<T*>(std::malloc(n_bytes));
        std::copy(values.begin(), values.end(), host);
    }
    ~Batch() { pinned ? void(cudaFreeHost(host)) : std::free(host); }

    Tensor send() {
        const size_t n = images.buffer->size / 4;
        const bool casts = std::is_same_v<T, double>;
        check(cudaMemcpyAsync(casts ? copied.data : images.data(), host, n * sizeof(T), cudaMemcpyHostToDevice));
        if (casts) cast<<<(n + 255) / 256, 256>>>((double*)copied.data, (float*)images.data(), n);
        return images;
    }
};

Clock<std::shared_ptr<CUevent_st>> device_clock() {
    return {
        [] {
            cudaEvent_t event;
            check(cudaEventCreate(&event));
            check(cudaEventRecord(event));
            return std::shared_ptr<CUevent_st>(event, cudaEventDestroy);
        },
        [](const auto& before, const auto& after) {
            float milliseconds;
            check(cudaEventElapsedTime(&milliseconds, before.get(), after.get()));
            return double(milliseconds);
        },
        [] { check(cudaDeviceSynchronize()); },
    };
}

template <typename T>
void measure(const Options& options, std::pair<int64_t, int64_t> point) {
    n_parameters = n_weighted = 0;
    auto model = resnet50();
    Batch<T> batch(options, point);
    Tensor logits;
    const auto once = [&] { logits = model.forward(batch.send()); };
    for (int64_t i = 0; i < options.warmup; i++) once();
    std::vector<float> values(logits.buffer->size / 4);
    check(cudaMemcpy(values.data(), logits.data(), logits.buffer->size, cudaMemcpyDeviceToHost));
    double checksum = 0;
    for (const float value : values) checksum += std::abs(value);
    print(options, point, {"cudnn", "cuda", n_parameters, checksum}, timed(once, options, device_clock()));
    workspace.reset();
}

int main(int argc, char** argv) try {
    const auto options = parse(argc, argv);
    if (options.mode != "infer" || options.dtype != "float32") throw std::invalid_argument("infers in float32 only");
    for (const auto& point : options.points) {
        if (options.input_dtype == "float64") measure<double>(options, point);
        else if (options.input_dtype == "float32") measure<float>(options, point);
        else throw std::invalid_argument("takes batches of float32 or float64");
    }
} catch (const std::exception& error) {
    std::fprintf(stderr, "cudnn: %s\n", error.what());
    return 1;
}
