// What the two C++ levels share: the options of workload.py, the batch, and the line of JSON that a point prints.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

struct Options {
    int64_t batch = 32, size = 64, iterations = 10, warmup = 5;
    double seconds = 0;
    std::string dtype = "float32", input_dtype, mode = "infer", device;
    bool pinned = false;
    std::vector<std::pair<int64_t, int64_t>> points;  // batch and size of each, from --sweep or --batch and --size
};

inline Options parse(int argc, char** argv) {
    Options options;
    std::string sweep;
    for (int i = 1; i < argc; i++) {
        const std::string name = argv[i];
        if (name == "--pinned" || name == "--pageable") {
            options.pinned = name == "--pinned";
            continue;
        }
        if (i + 1 == argc) throw std::invalid_argument(name + " needs a value");
        const std::string value = argv[++i];
        if (name == "--batch") options.batch = std::stoll(value);
        else if (name == "--size") options.size = std::stoll(value);
        else if (name == "--iterations") options.iterations = std::stoll(value);
        else if (name == "--warmup") options.warmup = std::max<int64_t>(std::stoll(value), 1);
        else if (name == "--seconds") options.seconds = std::stod(value);
        else if (name == "--dtype") options.dtype = value;
        else if (name == "--input-dtype") options.input_dtype = value;
        else if (name == "--mode") options.mode = value;
        else if (name == "--device") options.device = value;
        else if (name == "--sweep") sweep = value + ",";
        else throw std::invalid_argument("no option is called " + name);
    }
    if (options.input_dtype.empty()) options.input_dtype = options.dtype;
    for (size_t at = 0, comma; (comma = sweep.find(',', at)) != std::string::npos; at = comma + 1) {
        const auto cross = sweep.find('x', at);
        options.points.emplace_back(std::stoll(sweep.substr(at, cross - at)), std::stoll(sweep.substr(cross + 1)));
    }
    if (options.points.empty()) options.points.emplace_back(options.batch, options.size);
    return options;
}

// Numbers in [0, 1) that look random and are the same in every language: a hash of their index. See resnet.py.
inline std::vector<double> noise(int64_t n, uint32_t seed) {
    std::vector<double> values(n);
    for (int64_t i = 0; i < n; i++) {
        uint32_t h = static_cast<uint32_t>(i) + seed * 0x9E3779B1u;
        h = (h ^ (h >> 15)) * 0x85EBCA6Bu;
        h = (h ^ (h >> 13)) * 0xC2B2AE35u;
        values[i] = (h ^ (h >> 16)) / 4294967296.0;
    }
    return values;
}

// The seed-th layer's weights: uniform, as wide as keeps the variance through a layer with this many inputs and a ReLU.
inline std::vector<double> weights(int64_t n, int64_t n_inputs, uint32_t seed) {
    const double bound = std::sqrt(6.0 / n_inputs);
    auto values = noise(n, seed);
    for (auto& value : values) value = (value * 2 - 1) * bound;
    return values;
}

// An NVTX range `step N`, by which nsys tells the steps apart.
struct StepRange {
    explicit StepRange(size_t number) {
#ifdef WITH_NVTX
        nvtxRangePushA(("step " + std::to_string(number)).c_str());
#endif
    }
    ~StepRange() {
#ifdef WITH_NVTX
        nvtxRangePop();
#endif
    }
};

inline int64_t now_ns() { return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

// How a level tells the time: a moment on the device's stream, milliseconds between two, and waiting for the device.
template <typename Moment>
struct Clock {
    std::function<Moment()> mark;
    std::function<double(const Moment&, const Moment&)> elapsed_ms;
    std::function<void()> synchronize;
};

struct Timing {
    int64_t start_ns, end_ns;
    std::vector<double> step_ms;
};

template <typename Moment>
Timing timed(const std::function<void()>& once, const Options& options, const Clock<Moment>& clock) {
    std::vector<std::pair<Moment, Moment>> marks;
    const int64_t start = now_ns();
    while (static_cast<int64_t>(marks.size()) < options.iterations || now_ns() - start < options.seconds * 1e9) {
        auto before = clock.mark();
        {
            StepRange range(marks.size());
            once();
        }
        marks.emplace_back(std::move(before), clock.mark());
        // Else the host runs ahead, and more steps are queued than the time allows.
        if (options.seconds > 0 && marks.size() % 10 == 0) clock.synchronize();
    }
    clock.synchronize();
    Timing timing{start, now_ns(), {}};
    for (const auto& [before, after] : marks) timing.step_ms.push_back(clock.elapsed_ms(before, after));
    return timing;
}

struct Model {
    std::string level, device;
    int64_t n_parameters;
    double checksum;
};

inline void print(const Options& o, std::pair<int64_t, int64_t> point, const Model& model, const Timing& timing) {
    std::printf(
        R"({"level": "%s", "mode": "%s", "batch": %lld, "size": %lld, "dtype": "%s", "input_dtype": "%s", )"
        R"("memory": "%s", "device": "%s", "n_parameters": %lld, "checksum": %.17g, "start_ns": %lld, "end_ns": %lld, )"
        R"("step_ms": [)",
        model.level.c_str(), o.mode.c_str(), static_cast<long long>(point.first),
        static_cast<long long>(point.second), o.dtype.c_str(), o.input_dtype.c_str(),
        o.pinned ? "pinned" : "pageable", model.device.c_str(), static_cast<long long>(model.n_parameters),
        model.checksum, static_cast<long long>(timing.start_ns), static_cast<long long>(timing.end_ns));
    for (size_t i = 0; i < timing.step_ms.size(); i++) std::printf("%s%.6f", i ? ", " : "", timing.step_ms[i]);
    std::printf("]}\n");
    std::fflush(stdout);
}
