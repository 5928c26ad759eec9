// Writes the blocks per SM that NVIDIA's own host-side calculator gives, for every compute capability; needs no GPU.
//
//   g++ -O1 -I"$CUDA_HOME/include" tests/gpu/occupancy_reference.cpp -o /tmp/occupancy_reference
//   /tmp/occupancy_reference > tests/data/occupancy_reference.csv
//
// The committed file was made with cuda_occupancy.h of CUDA 13.0. The calculator knows granularities and block limits;
// what a real device would report of itself (threads, shared memory, registers) stands below, from the technical
// specifications of the CUDA programming guide (12.9 for compute capabilities up to 7.2 and 10.1, 13.0 for the rest).
#include <cuda_occupancy.h>

#include <cstdio>

namespace {

struct Device {
    int major, minor, threads, sharedKb, sharedPerBlockKb, registersPerBlock;
};

const Device devices[] = {
    {5, 0, 2048, 64, 48, 65536},   {5, 2, 2048, 96, 48, 65536},   {5, 3, 2048, 64, 48, 32768},
    {6, 0, 2048, 64, 48, 65536},   {6, 1, 2048, 96, 48, 65536},   {6, 2, 2048, 64, 48, 32768},
    {7, 0, 2048, 96, 96, 65536},   {7, 2, 2048, 96, 96, 65536},   {7, 5, 1024, 64, 64, 65536},
    {8, 0, 2048, 164, 163, 65536}, {8, 6, 1536, 100, 99, 65536},  {8, 7, 1536, 164, 163, 65536},
    {8, 9, 1536, 100, 99, 65536},  {9, 0, 2048, 228, 227, 65536}, {10, 0, 2048, 228, 227, 65536},
    {10, 1, 1536, 228, 227, 65536}, {10, 3, 2048, 228, 227, 65536}, {11, 0, 1536, 228, 227, 65536},
    {12, 0, 1536, 100, 99, 65536}, {12, 1, 1536, 100, 99, 65536},
};
const int blockSizes[] = {32, 96, 128, 256, 480, 768, 1024};
const int registerCounts[] = {16, 33, 40, 64, 96, 168, 255};
const size_t sharedSizes[] = {0, 1, 7000, 24576, 49152, 99 * 1024};

int blocksPerSm(const Device& device, int threads, int registers, size_t shared) {
    cudaOccDeviceProp properties;
    properties.computeMajor = device.major;
    properties.computeMinor = device.minor;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = device.threads;
    properties.regsPerBlock = device.registersPerBlock;
    properties.regsPerMultiprocessor = 65536;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 * 1024;
    properties.sharedMemPerMultiprocessor = device.sharedKb * 1024;
    properties.sharedMemPerBlockOptin = device.sharedPerBlockKb * 1024;
    properties.reservedSharedMemPerBlock = device.major >= 8 ? 1024 : 0;
    properties.numSms = 1;
    cudaOccFuncAttributes attributes;
    attributes.maxThreadsPerBlock = 1024;
    attributes.numRegs = registers;
    attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    attributes.maxDynamicSharedSizeBytes = shared;
    cudaOccDeviceState state;
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, threads, shared) != 0) {
        return -1;
    }
    return result.activeBlocksPerMultiprocessor;
}

}  // namespace

int main() {
    std::printf("compute_capability,threads,registers,shared_bytes,blocks_per_sm\n");
    for (const Device& device : devices) {
        for (int threads : blockSizes) {
            for (int registers : registerCounts) {
                for (size_t shared : sharedSizes) {
                    std::printf("%d.%d,%d,%d,%zu,%d\n", device.major, device.minor, threads, registers, shared,
                                blocksPerSm(device, threads, registers, shared));
                }
            }
        }
    }
}
