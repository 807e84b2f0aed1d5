/* A stand-in for NVRTC: it compiles kernels by g++ for the threads of `threads.h`, so that tests need neither a GPU nor NVRTC. An
 * image is a shared library. STAND_IN_FOLDER is the folder of this file. The variable SDFG_STAND_IN makes it fail: `compile` puts an
 * error into the kernels, `most=2` does so from the third program of a process on, and `known=80` is the only
 * architecture that it knows. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "image.h"

namespace {

struct Program {
    std::string source, log, image;
    bool is_ptx = false;
};

std::string text_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

/* Functions behind the kernels that run them with values behind pointers. */
std::string entries(const std::string &source) {
    std::string text = "\n#include <tuple>\n#include <utility>\n"
                       "template <typename... P, size_t... I> static void *stand_in_keep(void (*)(P...), void **arguments, std::index_sequence<I...>) {\n"
                       "    (void)arguments;\n"
                       "    return new std::tuple<P...>(*(P *)arguments[I]...);\n"
                       "}\n"
                       "template <typename... P> static void *stand_in_keep(void (*kernel)(P...), void **arguments) {\n"
                       "    return stand_in_keep(kernel, arguments, std::index_sequence_for<P...>());\n"
                       "}\n"
                       "template <typename... P> static bool stand_in_enter(void (*kernel)(P...), const unsigned *blocks, const unsigned *threads, void *kept) {\n"
                       "    std::tuple<P...> *const arguments = (std::tuple<P...> *)kept;\n"
                       "    const bool is_run = stand_in_run(dim3(blocks[0], blocks[1], blocks[2]), dim3(threads[0], threads[1], threads[2]), [&] { std::apply(kernel, *arguments); });\n"
                       "    delete arguments;\n"
                       "    return is_run;\n"
                       "}\n";
    const std::string heading = "extern \"C\" __global__ void ";
    for (size_t at = source.find(heading); at != std::string::npos; at = source.find(heading, at + 1)) {
        size_t begin = at + heading.size();
        if (source.compare(begin, 2, "__") == 0) {
            begin = source.find(' ', begin) + 1;
        }
        const std::string name = source.substr(begin, source.find('(', begin) - begin);
        text += "extern \"C\" void *" STAND_IN_KEEP + name + "(void **arguments) {\n    return stand_in_keep(" + name + ", arguments);\n}\n";
        text += "extern \"C\" bool " STAND_IN_KERNEL + name + "(const unsigned *blocks, const unsigned *threads, void *arguments) {\n    return stand_in_enter(" + name + ", blocks, threads, arguments);\n}\n";
    }
    return text;
}

} // namespace

extern "C" {

int nvrtcVersion(int *major, int *minor) {
    *major = 12;
    *minor = 0;
    return 0;
}
int nvrtcGetNumSupportedArchs(int *count) {
    *count = stand_in_word("known") != NULL ? 1 : 2;
    return 0;
}
int nvrtcGetSupportedArchs(int *known) {
    const char *const only = stand_in_word("known");
    known[0] = only != NULL ? atoi(only) : 80;
    if (only == NULL) {
        known[1] = 90;
    }
    return 0;
}
const char *nvrtcGetErrorString(int error) { return error == 6 ? "NVRTC_ERROR_COMPILATION" : "an error of the stand-in for NVRTC"; }
int nvrtcCreateProgram(Program **program, const char *source, const char *, int headers, const char *const *, const char *const *) {
    *program = new Program();
    (*program)->source = source;
    return headers == 0 ? 0 : 3;
}
int nvrtcDestroyProgram(Program **program) {
    delete *program;
    *program = NULL;
    return 0;
}
int nvrtcCompileProgram(Program *program, int count, const char *const *options) {
    StandInImage head = {};
    memcpy(head.magic, STAND_IN_MAGIC, sizeof head.magic);
    std::vector<std::string> words = { "g++", "-shared", "-fPIC", "-O0", "-std=c++17", "-fno-strict-aliasing", "-pthread", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-tautological-compare" };
    for (int n = 0; n < count; ++n) {
        const std::string option = options[n], architecture = "--gpu-architecture=";
        if (option.compare(0, architecture.size(), architecture) == 0) {
            const std::string name = option.substr(architecture.size());
            program->is_ptx = name.compare(0, 8, "compute_") == 0;
            head.is_ptx = program->is_ptx;
            head.architecture = (uint32_t)atoi(name.c_str() + name.find('_') + 1);
        } else if (option == "--fmad=false") {
            words.push_back("-ffp-contract=off");
        } else if (option == "--use_fast_math") {
            words.push_back("-ffast-math");
        } else if (option != "--fmad=true" && option != "--std=c++17") {
            program->log = "nvrtc: error: invalid value for option " + option + "\n";
            return 5;
        }
    }
    char folder[] = "/tmp/sdfg-stand-in-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    const std::string base = folder, source = base + "/kernels.cpp", library = base + "/kernels.so", log = base + "/log";
    static int compiled = 0;
    const char *const most = stand_in_word("most");
    const bool is_wrong = stand_in_word("compile") != NULL || (most != NULL && compiled >= atoi(most));
    ++compiled;
    std::ofstream(source) << "#line 1 \"kernels.cu\"\n" << program->source << (is_wrong ? "\nan error of kernels\n" : "") << entries(program->source);
    words.insert(words.end(), { "-include", STAND_IN_FOLDER "/threads.h", source, "-o", library });
    std::vector<char *> arguments;
    for (std::string &word : words) {
        arguments.push_back(&word[0]);
    }
    arguments.push_back(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int to = open(log.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
        dup2(to, 2);
        execvp(arguments[0], arguments.data());
        _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    program->log = text_of(log);
    const std::string code = text_of(library);
    for (const std::string &file : { source, library, log }) {
        unlink(file.c_str());
    }
    rmdir(folder);
    if (status != 0) {
        return 6;
    }
    head.size = code.size();
    program->image = std::string((const char *)&head, sizeof head) + code;
    return 0;
}
int nvrtcGetProgramLogSize(Program *program, size_t *size) {
    *size = program->log.size() + 1;
    return 0;
}
int nvrtcGetProgramLog(Program *program, char *log) {
    memcpy(log, program->log.c_str(), program->log.size() + 1);
    return 0;
}
int nvrtcGetCUBINSize(Program *program, size_t *size) {
    *size = program->is_ptx ? 0 : program->image.size();
    return 0;
}
int nvrtcGetCUBIN(Program *program, char *image) {
    memcpy(image, program->image.data(), program->image.size());
    return 0;
}
int nvrtcGetPTXSize(Program *program, size_t *size) {
    *size = program->image.size();
    return 0;
}
int nvrtcGetPTX(Program *program, char *image) { return nvrtcGetCUBIN(program, image); }

} // extern "C"
