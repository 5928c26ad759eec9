// Asks the CUDA runtime of the machine's first GPU how many blocks of a kernel an SM holds, over a grid of block sizes,
// register counts and shared memory, and writes what it says as CSV. Launches nothing; takes about a second.
//
//   nvcc -O2 -std=c++17 -arch=sm_90 tests/gpu/occupancy_probe.cu -o /tmp/occupancy_probe   (-arch=native elsewhere)
//   /tmp/occupancy_probe tests/data/occupancy_h200.csv
//
// Register counts come from __launch_bounds__(threads, blocks per SM), which makes the compiler stay under what that
// many blocks leave for a thread; what it settled on is read back with cudaFuncGetAttributes.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        std::fprintf(stderr, "occupancy_probe: %s: %s\n", what, cudaGetErrorString(status));
        std::exit(1);
    }
}

// Keeps kValues numbers alive at once, so that the compiler needs about as many registers, up to its bound.
template <int kThreads, int kBlocks, int kValues, int kStaticBytes>
__global__ void __launch_bounds__(kThreads, kBlocks) busy(float* data, int n) {
    extern __shared__ float dynamicShared[];
    __shared__ float staticShared[kStaticBytes / sizeof(float) + 1];
    float values[kValues];
#pragma unroll
    for (int i = 0; i < kValues; ++i) values[i] = data[i * n + threadIdx.x];
    for (int round = 0; round < n; ++round) {
#pragma unroll
        for (int i = 0; i < kValues; ++i) values[i] = values[i] * values[(i + 7) % kValues] + data[round];
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kValues; ++i) sum += values[i];
    if (n < 0) {  // never; keeps the shared memory
        dynamicShared[threadIdx.x] = sum;
        staticShared[threadIdx.x % (kStaticBytes / sizeof(float) + 1)] = sum;
        __syncthreads();
        sum += dynamicShared[n & 31] + staticShared[0];
    }
    data[threadIdx.x] = sum;
}

struct Output {
    std::FILE* file;
    int major, minor, optinBytes;
};

template <typename Kernel>
void probe(const Output& out, Kernel kernel) {
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    const int largest = out.optinBytes - static_cast<int>(attributes.sharedSizeBytes);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, largest), "cudaFuncSetAttribute");
    const int threadCounts[] = {32, 64, 96, 128, 160, 256, 384, 480, 512, 640, 768, 1024};
    const int sharedSizes[] = {0, 1, 127, 1024, 3000, 8192, 16384, 33000, 49152, 65536, 100000, 115000, largest};
    for (int threads : threadCounts) {
        if (threads > attributes.maxThreadsPerBlock) continue;
        for (int bytes : sharedSizes) {
            if (bytes > largest) continue;
            int blocks = 0;
            check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes), "occupancy");
            std::fprintf(out.file, "%d.%d,%d,%d,%zu,%d,%d\n", out.major, out.minor, threads, attributes.numRegs,
                         attributes.sharedSizeBytes, bytes, blocks);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: occupancy_probe OUT.csv\n");
        return 2;
    }
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    std::FILE* file = std::fopen(argv[1], "w");
    if (file == nullptr) {
        std::perror(argv[1]);
        return 1;
    }
    std::fprintf(stderr,
                 "%s: %d threads, %d blocks, %d registers, %zu bytes of shared memory an SM; %zu a block, %zu reserved\n",
                 device.name, device.maxThreadsPerMultiProcessor, device.maxBlocksPerMultiProcessor,
                 device.regsPerMultiprocessor, device.sharedMemPerMultiprocessor, device.sharedMemPerBlockOptin,
                 device.reservedSharedMemPerBlock);
    std::fprintf(file, "cc,threads,registers,static_shared,dynamic_shared,blocks_per_sm\n");
    const Output out{file, device.major, device.minor, static_cast<int>(device.sharedMemPerBlockOptin)};
    probe(out, busy<1024, 2, 4, 4>);
    probe(out, busy<1024, 2, 64, 4>);
    probe(out, busy<1024, 1, 24, 4000>);
    probe(out, busy<1024, 1, 128, 4>);
    probe(out, busy<640, 1, 128, 10000>);
    probe(out, busy<512, 3, 128, 4>);
    probe(out, busy<512, 1, 200, 40000>);
    probe(out, busy<384, 1, 200, 4>);
    probe(out, busy<256, 1, 64, 1020>);
    probe(out, busy<256, 1, 250, 4>);
    probe(out, busy<128, 9, 200, 4>);
    probe(out, busy<128, 5, 200, 300>);
    return std::fclose(file) == 0 ? 0 : 1;
}
