// LeNet as the source's program has it: a call of cuDNN for each operation, and cuBLAS for the dense layers.
#include "cuda.hpp"

// begin cudnn
const float ONE = 1, ZERO = 0;

struct Activations {
    int n, c, side;
    cudnnTensorDescriptor_t descriptor;
    float* data;

    Activations(int n, int c, int side, float* memory = nullptr) : n(n), c(c), side(side) {
        check(cudnnCreateTensorDescriptor(&descriptor));
        check(cudnnSetTensor4dDescriptor(descriptor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, c, side, side));
        data = memory ? memory : device_floats(int64_t(n) * c * side * side);
    }
};

struct Convolution {
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t descriptor;
    cudnnConvolutionFwdAlgo_t algorithm;
    cudnnTensorDescriptor_t bias_descriptor;
    float *weight, *bias;
    void* workspace = nullptr;
    size_t workspace_size = 0;

    Convolution(cudnnHandle_t cudnn, const Activations& x, const Activations& y, int padding, const float* weights,
                const float* biases)
        : weight(to_device(weights, int64_t(y.c) * x.c * KERNEL * KERNEL)), bias(to_device(biases, y.c)) {
        check(cudnnCreateFilterDescriptor(&filter));
        check(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, y.c, x.c, KERNEL, KERNEL));
        check(cudnnCreateConvolutionDescriptor(&descriptor));
        check(cudnnSetConvolution2dDescriptor(descriptor, padding, padding, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                              CUDNN_DATA_FLOAT));
        check(cudnnSetConvolutionMathType(descriptor, CUDNN_FMA_MATH));  // no TF32
        check(cudnnCreateTensorDescriptor(&bias_descriptor));
        check(cudnnSetTensor4dDescriptor(bias_descriptor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, y.c, 1, 1));
        choose(cudnn, x, y);
    }

    // The first algorithm that cuDNN recommends and that runs without TF32.
    void choose(cudnnHandle_t cudnn, const Activations& x, const Activations& y) {
        cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
        int n_found = 0;
        check(cudnnGetConvolutionForwardAlgorithm_v7(cudnn, x.descriptor, filter, descriptor, y.descriptor,
                                                     CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &n_found, found));
        for (int i = 0; i < n_found; i++) {
            algorithm = found[i].algo;
            if (found[i].status != CUDNN_STATUS_SUCCESS ||
                cudnnGetConvolutionForwardWorkspaceSize(cudnn, x.descriptor, filter, descriptor, y.descriptor,
                                                        algorithm, &workspace_size) != CUDNN_STATUS_SUCCESS)
                continue;
            check(cudaMalloc(&workspace, std::max<size_t>(workspace_size, 1)));
            if (run(cudnn, x, y) == CUDNN_STATUS_SUCCESS) return;
            check(cudaFree(workspace));
        }
        throw std::runtime_error("cuDNN has no algorithm for this convolution");
    }

    cudnnStatus_t run(cudnnHandle_t cudnn, const Activations& x, const Activations& y) const {
        return cudnnConvolutionForward(cudnn, &ONE, x.descriptor, x.data, filter, weight, descriptor, algorithm,
                                       workspace, workspace_size, &ZERO, y.descriptor, y.data);
    }
};

struct Dense {
    float *weight, *bias;
    cudnnTensorDescriptor_t bias_descriptor;

    Dense(int n_in, int n_out, const float* weights, const float* biases)
        : weight(to_device(weights, int64_t(n_in) * n_out)), bias(to_device(biases, n_out)) {
        check(cudnnCreateTensorDescriptor(&bias_descriptor));
        check(cudnnSetTensor4dDescriptor(bias_descriptor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, n_out, 1, 1));
    }
};

struct Net : Ends {
    cudnnHandle_t cudnn;
    cublasHandle_t cublas;
    cudnnActivationDescriptor_t relu;
    cudnnPoolingDescriptor_t pool;
    Activations x, conv1, pool1, conv2, pool2, hidden, out;
    Convolution first, second;
    Dense dense1, dense2;

    Net(const Size& s, const Weights& w, int batch, bool)
        : Ends(batch, w.n), cudnn(made()), x(batch, 1, SIDE, images), conv1(batch, s.first, s.side1()),
          pool1(batch, s.first, s.side1() / 2), conv2(batch, s.second, s.side2()),
          pool2(batch, s.second, s.side2() / 2), hidden(batch, s.hidden, 1), out(batch, CLASSES, 1, logits),
          first(cudnn, x, conv1, s.padding, w.conv1, w.bias1), second(cudnn, pool1, conv2, s.padding, w.conv2, w.bias2),
          dense1(s.features(), s.hidden, w.dense1, w.bias3), dense2(s.hidden, CLASSES, w.dense2, w.bias4) {
        check(cublasCreate(&cublas));
        check(cublasSetMathMode(cublas, CUBLAS_DEFAULT_MATH));  // no TF32
        check(cublasSetStream(cublas, stream));
        check(cudnnSetStream(cudnn, stream));
        check(cudnnCreateActivationDescriptor(&relu));
        check(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0));
        check(cudnnCreatePoolingDescriptor(&pool));
        check(cudnnSetPooling2dDescriptor(pool, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 2, 2, 0, 0, 2, 2));
        check(cudaDeviceSynchronize());  // what was tried out to choose algorithms
    }

    static cudnnHandle_t made() {
        cudnnHandle_t handle;
        check(cudnnCreate(&handle));
        return handle;
    }

    void add(cudnnTensorDescriptor_t bias_descriptor, const float* bias, const Activations& y) {
        check(cudnnAddTensor(cudnn, &ONE, bias_descriptor, bias, &ONE, y.descriptor, y.data));
    }

    void activate(const Activations& y) {
        check(cudnnActivationForward(cudnn, relu, &ONE, y.descriptor, y.data, &ZERO, y.descriptor, y.data));
    }

    void shrink(const Activations& from, const Activations& to) {
        check(cudnnPoolingForward(cudnn, pool, &ONE, from.descriptor, from.data, &ZERO, to.descriptor, to.data));
    }

    // To cuBLAS, which counts columns first, rows of ours are columns: y = weight^T · x.
    void multiply(const Dense& layer, const Activations& from, const Activations& to) {
        const int n_in = from.c * from.side * from.side;
        check(cublasSgemm(cublas, CUBLAS_OP_T, CUBLAS_OP_N, to.c, to.n, n_in, &ONE, layer.weight, n_in, from.data, n_in,
                          &ZERO, to.data, to.c));
    }

    void infer() {
        check(first.run(cudnn, x, conv1));
        add(first.bias_descriptor, first.bias, conv1);
        activate(conv1);
        shrink(conv1, pool1);
        check(second.run(cudnn, pool1, conv2));
        add(second.bias_descriptor, second.bias, conv2);
        activate(conv2);
        shrink(conv2, pool2);
        multiply(dense1, pool2, hidden);
        add(dense1.bias_descriptor, dense1.bias, hidden);
        activate(hidden);
        multiply(dense2, hidden, out);
        add(dense2.bias_descriptor, dense2.bias, out);
    }
};
// end

LENET_EXPORT(Net)
