#include "kernels/level_one/kernels_options.h"

#include <algorithm>

#include "core/error.h"
#include "output/cell_file.h"

namespace nearfar {
namespace {

constexpr int most_visits = 1000;
constexpr int most_sustained = 3600;  // seconds

const HelpText text{
    "nearfar-kernels [SUBJECT...] [options]: measures kernels with their transfers: operands to the GPU, the kernel, results back\n\n"
    "A subject is g0.n1 (GPU 0 computes, with operands and results in NUMA node 1's memory), or g0.n1/sgemm for one kernel.\n"
    "Without subjects: every GPU with every NUMA node. Under mpirun, with one rank per GPU: all GPUs at once, under each binding.\n"
    "Kernels: sgemm dgemm bf16gemm (cuBLAS), sfft dfft (cuFFT), reduction scan sort (CUB), spmv (cuSPARSE), triad stencil md dmd.\n\n"
    "options:\n",
    "\nexamples:\n"
    "  nearfar-kernels                                      all kernels, every GPU with every NUMA node, as a table\n"
    "  nearfar-kernels g0.n0 g0.n1 --size today --json      how much slower GPU 0 is from the other NUMA node, as a document\n"
    "  nearfar-kernels --kernels sgemm,dgemm,bf16gemm       matrix products only\n"
    "  nearfar-kernels --sustain 60                         burn-in: all GPUs at full load for a minute, every result checked\n"
    "  mpirun -n 4 nearfar-kernels --binding right,wrong    four GPUs at once\n"
    "  mpirun -n 4 nearfar-kernels saxpy                    how well four ranks are balanced, by binding (saxpy --help)\n"
    "  nearfar-kernels --device host --size small           without a GPU\n"
    "\nexit codes: 0 measured, 1 failed (wrong answers, a lost GPU), 2 wrong use, 3 something could not be measured\n"};

std::vector<ProblemSize> sizes_in(const std::string& list) {
    const std::vector<ProblemSize> all{ProblemSize::paper, ProblemSize::today, ProblemSize::small};
    std::vector<std::string> names;
    for (const ProblemSize size : all) names.emplace_back(size_name(size));
    std::vector<ProblemSize> sizes;
    for (const std::string& part : list_value("--size", list)) {
        const ProblemSize size = all[choice_value("--size", part, names)];
        if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
    }
    return sizes;
}

std::vector<std::string> kernels_in(const std::string& list) {
    std::vector<std::string> kernels;
    for (const std::string& part : list_value("--kernels", list)) {
        choice_value("--kernels", part, kernel_names());
        if (std::find(kernels.begin(), kernels.end(), part) == kernels.end()) kernels.push_back(part);
    }
    return kernels;
}

// None: all of them.
void require_products(KernelsOptions& options) {
    if (options.host_device) throw WrongUse("--rate-only measures GPUs: leave out --device host");
    std::vector<std::string> kernels = options.kernels;
    for (const std::string& word : options.subjects)
        if (const std::string kernel = parse_subject(word, false).kernel; !kernel.empty()) kernels.push_back(kernel);
    for (const std::string& kernel : kernels)
        if (!make_problem(kernel, ProblemSize::small)->shape().is_product())
            throw WrongUse("--rate-only measures matrix products, and " + kernel +
                           " is not one: use --kernels sgemm,dgemm,bf16gemm");
    if (options.kernels.empty()) options.kernels = {"sgemm", "dgemm", "bf16gemm"};
}

// One product at one size.
void require_sustainable(KernelsOptions& options) {
    if (options.host_device) throw WrongUse("--sustain loads GPUs: leave out --device host");
    if (options.list || options.rate_only || options.visits > 0 || options.budget > 0)
        throw WrongUse("--sustain sets the duration: leave out --list, --rate-only, --rounds and --budget");
    if (options.kernels.empty()) options.kernels = {"bf16gemm"};
    if (options.kernels.size() > 1 || !make_problem(options.kernels.front(), ProblemSize::small)->shape().is_product())
        throw WrongUse("--sustain repeats one matrix product: use --kernels sgemm, dgemm or bf16gemm");
    if (options.sizes.size() > 1) options.sizes = {ProblemSize::today};
    for (const std::string& word : options.subjects) parse_gpu(word);
}

Options table(KernelsOptions& options) {
    return with_common(
        {{"--kernels", "LIST", "measure only these, such as sgemm,sort",
          [&](const std::string& list) { options.kernels = kernels_in(list); }},
         {"--size", "LIST",
          "problem sizes: paper (SHOC's size 4), today (hundreds of megabytes), small (for tests); default paper,today",
          [&](const std::string& list) { options.sizes = sizes_in(list); }},
         {"--binding", "LIST",
          "under mpirun only: the binding of each rank's CPUs and memory: default, right, wrong (default: right,wrong)",
          [&](const std::string& list) { options.bindings = parse_bindings(list, "right"); }},
         choice_option<bool>("--device", "host: compute on the CPU, for machines without a GPU", options.host_device,
                             {{"gpu", false}, {"host", true}}),
         switch_option("--rate-only",
                       "measure only the GPUs' compute rate, with operands created on the GPU: sgemm, dgemm, bf16gemm",
                       options.rate_only),
         {"--sustain", "SECONDS",
          "load all GPUs (or g0, g1 …) at once for this time, at most 3600, with matrix products (bf16gemm, or --kernels sgemm, dgemm),\n"
          "check every result, and record rate, clocks, power, temperatures and throttle reasons each second",
          [&](const std::string& text) { options.sustain = whole_value("--sustain", text, 1, most_sustained); }},
         cells_option([&](const std::string& name) {
             for (const FileLine& line : cell_lines(name)) options.subjects.push_back(line.text);
         }),
         switch_option(
             "--absent-fails",
             "report subjects that name a device this node lacks as failed, and measure the rest (default: refuse them all)",
             options.absent_fails),
         switch_option("--list", "print the subjects with their kernels and measure nothing", options.list),
         count_option(
             "--rounds",
             "measure each kernel in N rounds (default: until its shortest times are repeated, 2 to 6 rounds; with ranks 2 or 3)",
             options.visits, most_visits),
         even_if_busy_option(options.even_if_busy),
         seconds_option("--budget",
                        "start no measurement after this time and skip what has none yet; with ranks, start no new round",
                        options.budget)},
        options);
}

}  // namespace

KernelsOptions parse_kernels_options(int argc, char** argv) {
    KernelsOptions options;
    options.words.assign(argv, argv + argc);
    read_options(options.words, table(options), [&](const std::string& word) { options.subjects.push_back(word); });
    if (options.sustain > 0) {
        require_sustainable(options);
        return options;
    }
    for (const std::string& word : options.subjects) parse_subject(word, options.host_device);
    if (options.rate_only) require_products(options);
    return options;
}

std::string kernels_help() { return help_of(text, table); }

std::vector<SubjectKernels> wanted_kernels(const KernelsOptions& options, const Node& node, std::vector<NotMeasured>& absent) {
    const std::vector<std::string>& all = options.kernels.empty() ? kernel_names() : options.kernels;
    std::vector<SubjectKernels> wanted;
    const auto add = [&](const Subject& subject, const std::vector<std::string>& kernels) {
        auto known =
            std::find_if(wanted.begin(), wanted.end(), [&](const SubjectKernels& each) { return each.subject == subject; });
        if (known == wanted.end()) known = wanted.insert(wanted.end(), {subject, {}});
        for (const std::string& kernel : kernels)
            if (std::find(known->kernels.begin(), known->kernels.end(), kernel) == known->kernels.end())
                known->kernels.push_back(kernel);
    };
    for (const std::string& word : options.subjects) {
        const SubjectWord parsed = parse_subject(word, options.host_device);
        const std::string lacks = absent_part(parsed.subject, node);
        if (!lacks.empty() && !options.absent_fails) throw WrongUse(lacks);
        if (!lacks.empty()) {
            absent.push_back({word, "absent", lacks});
            continue;
        }
        add(parsed.subject, parsed.kernel.empty() ? all : std::vector<std::string>{parsed.kernel});
    }
    if (options.subjects.empty())
        for (const Subject& subject : all_subjects(node, options.host_device)) add(subject, all);
    return wanted;
}

}  // namespace nearfar
