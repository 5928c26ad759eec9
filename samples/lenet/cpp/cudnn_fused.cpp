// LeNet in fused calls: cudnnConvolutionBiasActivationForward, and cuBLASLt with bias and ReLU as epilogues. With
// WITH_GRAPH the calls are recorded once, and an inference replays them as a CUDA graph.
#include <cublasLt.h>

#include "cuda.hpp"

// begin cudnn_fused cudnn_graph
const float ONE = 1, ZERO = 0;
const size_t WORKSPACE = 32 << 20;

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
    cudnnActivationDescriptor_t relu;
    float *weight, *bias;
    void* workspace;

    Convolution(cudnnHandle_t cudnn, void* workspace, const Activations& x, const Activations& y, int padding,
                const float* weights, const float* biases)
        : weight(to_device(weights, int64_t(y.c) * x.c * KERNEL * KERNEL)), bias(to_device(biases, y.c)),
          workspace(workspace) {
        check(cudnnCreateFilterDescriptor(&filter));
        check(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, y.c, x.c, KERNEL, KERNEL));
        check(cudnnCreateConvolutionDescriptor(&descriptor));
        check(cudnnSetConvolution2dDescriptor(descriptor, padding, padding, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                              CUDNN_DATA_FLOAT));
        check(cudnnSetConvolutionMathType(descriptor, CUDNN_FMA_MATH));  // no TF32
        check(cudnnCreateTensorDescriptor(&bias_descriptor));
        check(cudnnSetTensor4dDescriptor(bias_descriptor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, y.c, 1, 1));
        check(cudnnCreateActivationDescriptor(&relu));
        check(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
        choose(cudnn, x, y);
    }

    // The first algorithm that cuDNN recommends and that runs fused, without TF32.
    void choose(cudnnHandle_t cudnn, const Activations& x, const Activations& y) {
        cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
        int n_found = 0;
        check(cudnnGetConvolutionForwardAlgorithm_v7(cudnn, x.descriptor, filter, descriptor, y.descriptor,
                                                     CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &n_found, found));
        for (int i = 0; i < n_found; i++) {
            algorithm = found[i].algo;
            if (found[i].status == CUDNN_STATUS_SUCCESS && run(cudnn, x, y) == CUDNN_STATUS_SUCCESS) return;
        }
        throw std::runtime_error("cuDNN has no algorithm for this convolution with bias and ReLU");
    }

    cudnnStatus_t run(cudnnHandle_t cudnn, const Activations& x, const Activations& y) const {
        return cudnnConvolutionBiasActivationForward(cudnn, &ONE, x.descriptor, x.data, filter, weight, descriptor,
                                                     algorithm, workspace, WORKSPACE, &ZERO, y.descriptor, y.data,
                                                     bias_descriptor, bias, relu, y.descriptor, y.data);
    }
};

// To cuBLASLt, which counts columns first, rows of ours are columns: y = weight^T · x.
struct Dense {
    float *weight, *bias;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t weight_layout, x_layout, y_layout;
    cublasLtMatmulHeuristicResult_t chosen;

    Dense(cublasLtHandle_t handle, int n_in, int n_out, int batch, cublasLtEpilogue_t epilogue, const float* weights,
          const float* biases)
        : weight(to_device(weights, int64_t(n_in) * n_out)), bias(to_device(biases, n_out)) {
        const cublasOperation_t transposed = CUBLAS_OP_T;
        check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));  // no TF32
        set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
        check(cublasLtMatrixLayoutCreate(&weight_layout, CUDA_R_32F, n_in, n_out, n_in));
        check(cublasLtMatrixLayoutCreate(&x_layout, CUDA_R_32F, n_in, batch, n_in));
        check(cublasLtMatrixLayoutCreate(&y_layout, CUDA_R_32F, n_out, batch, n_out));
        cublasLtMatmulPreference_t preference;
        check(cublasLtMatmulPreferenceCreate(&preference));
        check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &WORKSPACE,
                                                   sizeof(WORKSPACE)));
        int n_found = 0;
        check(cublasLtMatmulAlgoGetHeuristic(handle, operation, weight_layout, x_layout, y_layout, y_layout, preference,
                                             1, &chosen, &n_found));
        check(cublasLtMatmulPreferenceDestroy(preference));
        if (n_found == 0) throw std::runtime_error("cuBLASLt has no algorithm for this product");
    }

    template <typename Value>
    void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
        check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)));
    }

    void run(cublasLtHandle_t handle, const float* x, float* y, void* workspace, cudaStream_t stream) const {
        check(cublasLtMatmul(handle, operation, &ONE, weight, weight_layout, x, x_layout, &ZERO, y, y_layout, y,
                             y_layout, &chosen.algo, workspace, WORKSPACE, stream));
    }
};

struct Net : Ends {
    cudnnHandle_t cudnn;
    cublasLtHandle_t cublas;
    void* workspace;
    cudnnPoolingDescriptor_t pool;
    Activations x, conv1, pool1, conv2, pool2, hidden;
    Convolution first, second;
    Dense dense1, dense2;

    Net(const Size& s, const Weights& w, int batch, bool)
        : Ends(batch, w.n), cudnn(made(cudnnCreate)), cublas(made(cublasLtCreate)),
          workspace(device_floats(WORKSPACE / sizeof(float))), x(batch, 1, SIDE, images),
          conv1(batch, s.first, s.side1()), pool1(batch, s.first, s.side1() / 2), conv2(batch, s.second, s.side2()),
          pool2(batch, s.second, s.side2() / 2), hidden(batch, s.hidden, 1),
          first(cudnn, workspace, x, conv1, s.padding, w.conv1, w.bias1),
          second(cudnn, workspace, pool1, conv2, s.padding, w.conv2, w.bias2),
          dense1(cublas, s.features(), s.hidden, batch, CUBLASLT_EPILOGUE_RELU_BIAS, w.dense1, w.bias3),
          dense2(cublas, s.hidden, CLASSES, batch, CUBLASLT_EPILOGUE_BIAS, w.dense2, w.bias4) {
        check(cudnnSetStream(cudnn, stream));
        check(cudnnCreatePoolingDescriptor(&pool));
        check(cudnnSetPooling2dDescriptor(pool, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 2, 2, 0, 0, 2, 2));
        check(cudaDeviceSynchronize());  // what was tried out to choose algorithms
    }

    template <typename Handle, typename Status>
    static Handle made(Status (*create)(Handle*)) {
        Handle handle;
        check(create(&handle));
        return handle;
    }

    void shrink(const Activations& from, const Activations& to) {
        check(cudnnPoolingForward(cudnn, pool, &ONE, from.descriptor, from.data, &ZERO, to.descriptor, to.data));
    }

    void infer() {
        check(first.run(cudnn, x, conv1));
        shrink(conv1, pool1);
        check(second.run(cudnn, pool1, conv2));
        shrink(conv2, pool2);
        dense1.run(cublas, pool2.data, hidden.data, workspace, stream);
        dense2.run(cublas, hidden.data, logits, workspace, stream);
    }
};
// end

#ifdef WITH_GRAPH
// begin cudnn_graph
struct Replayed : Net {
    cudaGraphExec_t recorded;

    Replayed(const Size& s, const Weights& w, int batch, bool cuda) : Net(s, w, batch, cuda) {
        Net::infer();
        synchronize();
        cudaGraph_t graph;
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        Net::infer();
        check(cudaStreamEndCapture(stream, &graph));
        check(cudaGraphInstantiate(&recorded, graph, 0));
        check(cudaGraphDestroy(graph));
    }

    void infer() { check(cudaGraphLaunch(recorded, stream)); }
};
// end

LENET_EXPORT(Replayed)
#else
LENET_EXPORT(Net)
#endif
