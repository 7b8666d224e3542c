#include "kernels/level_one/kernels_options.h"

#include <algorithm>

#include "core/error.h"
#include "output/cell_file.h"

namespace nearfar {
namespace {

constexpr int most_visits = 1000;

const HelpText text{
    "nearfar-kernels [SUBJECT...] [options]: measures kernels with their transfers: operands from host memory to a GPU, the kernel, results back\n\n"
    "A subject is g0.n1 (GPU 0 computes, operands come from and results return to NUMA node 1), or g0.n1/sgemm for one kernel there.\n"
    "Without subjects: every GPU with every NUMA node. Under mpirun with one rank a GPU: all GPUs at the same time, under each binding.\n"
    "Kernels: sgemm dgemm bf16gemm (cuBLAS), sfft dfft (cuFFT), reduction scan sort (CUB), spmv (cuSPARSE), triad stencil md.\n\n"
    "options:\n",
    "\nexamples:\n"
    "  nearfar-kernels                                      all kernels, every GPU with every NUMA node, as a table\n"
    "  nearfar-kernels g0.n0 g0.n1 --size today --json      what the other NUMA node costs GPU 0, as a document\n"
    "  nearfar-kernels --kernels sgemm,dgemm,bf16gemm       what the GPUs compute\n"
    "  mpirun -n 4 nearfar-kernels --binding right,wrong    four GPUs at the same time\n"
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

// "right" is what other programs call "gpu".
std::vector<Binding> bindings_in(const std::string& list) {
    const std::vector<Binding> all{Binding::launcher, Binding::gpu, Binding::wrong};
    std::vector<Binding> bindings;
    for (const std::string& part : list_value("--binding", list)) {
        bindings.push_back(all[choice_value("--binding", part, {"default", "right", "wrong"})]);
        if (std::count(bindings.begin(), bindings.end(), bindings.back()) > 1)
            throw WrongUse("--binding: '" + part + "' is there twice");
    }
    return bindings;
}

Options table(KernelsOptions& options) {
    return with_common(
        {{"--kernels", "LIST", "measure only these, such as sgemm,sort",
          [&](const std::string& list) { options.kernels = kernels_in(list); }},
         {"--size", "LIST",
          "problem sizes: paper (SHOC's size 4), today (hundreds of megabytes), small (for tests); default paper,today",
          [&](const std::string& list) { options.sizes = sizes_in(list); }},
         {"--binding", "LIST",
          "only under mpirun: where each rank's CPUs and memory are: default, right, wrong (default: right,wrong)",
          [&](const std::string& list) { options.bindings = bindings_in(list); }},
         choice_option<bool>("--device", "host: compute on the CPU, where there is no GPU", options.host_device,
                             {{"gpu", false}, {"host", true}}),
         cells_option([&](const std::string& name) {
             for (const FileLine& line : cell_lines(name)) options.subjects.push_back(line.text);
         }),
         switch_option("--absent-fails",
                       "a subject that names what this node lacks fails, and the rest is measured (else: wrong use)",
                       options.absent_fails),
         switch_option("--list", "print the subjects with their kernels and measure nothing", options.list),
         count_option(
             "--visits",
             "measure each kernel N times (default: until its shortest times were reached again, 2 to 6 times; with ranks 2 or 3)",
             options.visits, most_visits),
         even_if_busy_option(options.even_if_busy),
         seconds_option("--budget", "begin no further round after this time", options.budget)},
        options, options.hang_seconds);
}

}  // namespace

KernelsOptions parse_kernels_options(int argc, char** argv) {
    KernelsOptions options;
    options.words.assign(argv, argv + argc);
    read_options(options.words, table(options), [&](const std::string& word) { options.subjects.push_back(word); });
    for (const std::string& word : options.subjects) parse_subject(word, options.host_device);
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
