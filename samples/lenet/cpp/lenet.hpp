// What the C++ levels share: the sizes, the weights' places in the file, and the functions that Python calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

constexpr int SIDE = 28, KERNEL = 5, CLASSES = 10;

// One of the two networks; see net.py.
struct Size {
    int first, second, hidden, padding;

    explicit Size(bool large)
        : first(large ? 32 : 5), second(large ? 64 : 12), hidden(large ? 1024 : 128), padding(large ? 2 : 0) {}
    int side1() const { return SIDE + 2 * padding - KERNEL + 1; }         // after the first convolution
    int side2() const { return side1() / 2 + 2 * padding - KERNEL + 1; }  // after the second
    int features() const { return second * (side2() / 2) * (side2() / 2); }
};

// The file's weights, one after the other in the order of the layers.
struct Weights {
    const float *conv1, *bias1, *conv2, *bias2, *dense1, *bias3, *dense2, *bias4;
    int64_t n;

    Weights(const float* values, const Size& s) {
        const float* at = values;
        const auto take = [&](int64_t count) {
            const float* here = at;
            at += count;
            return here;
        };
        conv1 = take(int64_t(s.first) * KERNEL * KERNEL), bias1 = take(s.first);
        conv2 = take(int64_t(s.second) * s.first * KERNEL * KERNEL), bias2 = take(s.second);
        dense1 = take(int64_t(s.hidden) * s.features()), bias3 = take(s.hidden);
        dense2 = take(int64_t(CLASSES) * s.hidden), bias4 = take(CLASSES);
        n = at - values;
    }
};

// A level is a class `Net` with the methods below, made for one size of batch. Python calls it through these functions,
// which return 0, or 1 with the reason in lenet_error().
inline std::string& last_error() {
    static std::string text;
    return text;
}

template <typename Work>
int attempt(Work work) {
    try {
        work();
        return 0;
    } catch (const std::exception& error) {
        last_error() = error.what();
        return 1;
    }
}

#define LENET_EXPORT(NET)                                                                                            \
    extern "C" {                                                                                                     \
    const char* lenet_error() { return last_error().c_str(); }                                                       \
    int lenet_load(void** net, const float* values, int large, int batch, int cuda) {                                \
        return attempt([&] { *net = new NET(Size(large), Weights(values, Size(large)), batch, cuda); });             \
    }                                                                                                                \
    int64_t lenet_parameters(void* net) { return static_cast<NET*>(net)->n_parameters; }                             \
    int lenet_send(void* net, const float* images) { return attempt([&] { static_cast<NET*>(net)->send(images); }); } \
    int lenet_infer(void* net) { return attempt([&] { static_cast<NET*>(net)->infer(); }); }                         \
    int lenet_fetch(void* net, float* logits) { return attempt([&] { static_cast<NET*>(net)->fetch(logits); }); }    \
    int lenet_synchronize(void* net) { return attempt([&] { static_cast<NET*>(net)->synchronize(); }); }             \
    }
