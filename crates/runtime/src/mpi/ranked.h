/* The library of a distributed program: instances, parts and runs on the ranks of MPI.
 *
 * A generated source includes this text behind its tables (`sdfg_ranked_program`), which describe the program, and before its
 * exported functions, which call the functions here. The program of a rank is compiled on its own; its functions are in the
 * tables. The library of communication (`sdfg_mpi.h`) is loaded when the first instance is made, so that what is generated
 * depends on no MPI.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How an argument is passed. */
enum {
    SDFG_RANKED_PART,   /* an array of which each rank passes what it holds */
    SDFG_RANKED_WHOLE,  /* an array, or a scalar behind a pointer, which every rank passes as a whole */
    SDFG_RANKED_VALUE,  /* a scalar by value */
    SDFG_RANKED_SYMBOL  /* an integer by value that extents may depend on */
};

/* Moves between ranks of an argument that is passed in parts. */
enum { SDFG_RANKED_REFRESH, SDFG_RANKED_SCATTER, SDFG_RANKED_GATHER, SDFG_RANKED_MOVES };

/* Computes integers from the symbols of the program and of the rank. */
typedef void (*sdfg_ranked_function)(const int64_t *symbols, int64_t *values);

typedef struct {
    const char *name;
    int32_t passed;
    int32_t is_written;
    int32_t has_copies; /* whether other ranks have elements of a part, too */
    int32_t is_signed;  /* of a symbol */
    int64_t bytes;      /* of an element, or of the value */
    int64_t dimensions;
    /* For each dimension: first position in memory, extent in memory, first position of the rank's own elements, their number.
     * Behind them the number of elements in memory. */
    sdfg_ranked_function bounds;
    sdfg_ranked_function words[SDFG_RANKED_MOVES];
    int64_t n_words[SDFG_RANKED_MOVES];
} sdfg_ranked_argument;

/* Functions of the program of a rank. */
typedef struct {
    int32_t (*create)(const void *config, void **handle);
    int32_t (*invoke)(void *handle, void **arguments);
    const char *(*error)(const void *handle);
    void (*destroy)(void *handle);
    void (*stop)(void *handle, const char *message); /* NULL if it moves no data */
} sdfg_ranked_code;

typedef struct {
    const char *name;
    int64_t least_ranks;
    int64_t n_arguments;
    const sdfg_ranked_argument *arguments;
    int64_t n_symbols;      /* of the program: its arguments of that kind, in order */
    int64_t n_rank_symbols; /* of a rank, which follow them */
    void (*rank_symbols)(int64_t rank, int64_t *symbols);
    /* Arguments of the program of a rank: number of an argument, or -1 - number of a symbol; below `-1 - n_symbols -
     * n_rank_symbols` the address of the instance. */
    int64_t n_passed;
    const int64_t *passed;
    /* Functions that follow them: 0 moves, 1 combines, and 2, 3 and 4 move so many pairs of arrays together. */
    int64_t n_functions;
    const int32_t *functions;
    sdfg_ranked_code code;
} sdfg_ranked_program;

/* As in `sdfg_mpi.h`. */
typedef struct {
    int64_t (*abi)(void);
    int64_t (*open)(int64_t kind, const void *communicator, void **context);
    void (*close)(void *context);
    int64_t (*rank)(const void *context);
    int64_t (*ranks)(const void *context);
    const char *(*error)(const void *context);
    int64_t (*agree)(void *context, int64_t status, char *message, int64_t capacity);
    int64_t (*same)(void *context, const int64_t *words, int64_t n, int64_t *which_rank, int64_t *which_word);
    int64_t (*move)(void *context, int64_t site, const int64_t *words, int64_t n, const void *source, void *target);
    int64_t (*combine)(void *context, int64_t site, const int64_t *words, int64_t n, const void *source, void *target);
    int64_t (*begin)(void *context, int64_t site, int64_t combine, const int64_t *words, int64_t n, const void *source,
                     void *target);
    int64_t (*begin_all)(void *context, int64_t site, const int64_t *words, int64_t n, const void *const *sources,
                         void *const *targets);
    int64_t (*finish)(void *context, int64_t site);
    int64_t (*broadcast)(void *context, int64_t root, void *data, int64_t bytes);
    void (*abort)(void *context, int64_t status, const char *message);
} sdfg_ranked_mpi;

enum { SDFG_RANKED_ABI = 1, SDFG_RANKED_MESSAGE = 512 };

/* Statuses of programs. */
enum {
    SDFG_RANKED_CONFIGURATION = 1,
    SDFG_RANKED_MEMORY = 2,
    SDFG_RANKED_ARGUMENT = 3,
    SDFG_RANKED_STOPPED = 6,
    SDFG_RANKED_COMMUNICATION = 8
};

/* An instance. */
typedef struct {
    const sdfg_ranked_program *program;
    void *code; /* the instance of the program of a rank */
    sdfg_ranked_mpi mpi;
    void *context;
    int64_t rank, ranks;
    int64_t *symbols;  /* of the program, then of the rank, then the address of this instance */
    void **passed;     /* to the program of a rank */
    int64_t *words;    /* of one move */
    void **arguments;  /* of one run with whole arguments */
    int64_t *values;   /* two for each argument: of one run with whole arguments */
    int64_t move_status; /* of the move that stopped a run */
    char message[SDFG_RANKED_MESSAGE];
} sdfg_ranked;

typedef struct {
    size_t size;
    int32_t num_threads;
    int32_t communicator_kind;
    const void *communicator;
} sdfg_ranked_config;

/* Of the last instance that could not be made. */
static char sdfg_ranked_unmade[SDFG_RANKED_MESSAGE];

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static int32_t sdfg_ranked_fail(char *message, int32_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, SDFG_RANKED_MESSAGE, format, arguments);
    va_end(arguments);
    return status;
}

/* THE LIBRARY OF COMMUNICATION */

/* Opens the file of the variable SDFG_MPI_LIBRARY; else what the process was linked with or has loaded for all; else the file
 * beside the one that this code is in; else the one that the system's loader finds. */
static void *sdfg_ranked_library(char *message)
{
    static const char file[] = "libsdfg_mpi.so";
    const char *named = getenv("SDFG_MPI_LIBRARY");
    char path[4096];
    Dl_info own;
    void *library = NULL;
    if (named != NULL && named[0] != '\0') {
        library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
            sdfg_ranked_fail(message, 0, "cannot load the library of communication that SDFG_MPI_LIBRARY names: %.300s", dlerror());
        return library;
    }
    library = dlopen(NULL, RTLD_NOW);
    if (library != NULL && dlsym(library, "sdfg_mpi_abi") != NULL)
        return library;
    library = NULL;
    if (dladdr((void *)sdfg_ranked_unmade, &own) != 0 && own.dli_fname != NULL) {
        const char *end = strrchr(own.dli_fname, '/');
        int length = end == NULL ? 0 : (int)(end - own.dli_fname) + 1;
        if (snprintf(path, sizeof path, "%.*s%s", length, own.dli_fname, file) < (int)sizeof path && length > 0)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == NULL)
        library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        sdfg_ranked_fail(message, 0,
                         "cannot load the library of communication (%.300s); `sdfg mpi-library -o %s` writes it, and the "
                         "variable SDFG_MPI_LIBRARY names it",
                         dlerror(), file);
    return library;
}

static int32_t sdfg_ranked_load(sdfg_ranked_mpi *mpi, char *message)
{
    void *library = sdfg_ranked_library(message);
    if (library == NULL)
        return SDFG_RANKED_COMMUNICATION;
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"sdfg_mpi_abi", &mpi->abi},         {"sdfg_mpi_open", &mpi->open},
        {"sdfg_mpi_close", &mpi->close},     {"sdfg_mpi_rank", &mpi->rank},
        {"sdfg_mpi_ranks", &mpi->ranks},     {"sdfg_mpi_error", &mpi->error},
        {"sdfg_mpi_agree", &mpi->agree},     {"sdfg_mpi_same", &mpi->same},
        {"sdfg_mpi_move", &mpi->move},       {"sdfg_mpi_combine", &mpi->combine},
        {"sdfg_mpi_begin", &mpi->begin},         {"sdfg_mpi_begin_all", &mpi->begin_all}, {"sdfg_mpi_finish", &mpi->finish},
        {"sdfg_mpi_broadcast", &mpi->broadcast}, {"sdfg_mpi_abort", &mpi->abort},
    };
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        void *found = dlsym(library, functions[k].name);
        if (found == NULL)
            return sdfg_ranked_fail(message, SDFG_RANKED_COMMUNICATION, "the library of communication has no function %s",
                                    functions[k].name);
        /* Pointers to functions have the size of others wherever there is `dlsym`. */
        memcpy(functions[k].function, &found, sizeof found);
    }
    if (mpi->abi() != SDFG_RANKED_ABI)
        return sdfg_ranked_fail(message, SDFG_RANKED_COMMUNICATION,
                                "the library of communication has version %lld of its interface, not %d: make it again",
                                (long long)mpi->abi(), SDFG_RANKED_ABI);
    return 0;
}

/* INSTANCES */

static void sdfg_ranked_destroy(sdfg_ranked *instance)
{
    if (instance == NULL)
        return;
    instance->program->code.destroy(instance->code);
    if (instance->context != NULL)
        instance->mpi.close(instance->context);
    free(instance->symbols);
    free(instance->passed);
    free(instance->words);
    free(instance->arguments);
    free(instance->values);
    free(instance);
}

/* Room for everything that runs need besides parts. */
static int32_t sdfg_ranked_reserve(sdfg_ranked *instance)
{
    const sdfg_ranked_program *program = instance->program;
    int64_t n_words = 1, n = program->n_arguments + 1;
    for (int64_t k = 0; k < program->n_arguments; k++)
        for (int move = 0; move < SDFG_RANKED_MOVES; move++) {
            int64_t room = program->arguments[k].n_words[move], bounds = 4 * program->arguments[k].dimensions + 1;
            n_words = room > n_words ? room : n_words;
            n_words = bounds > n_words ? bounds : n_words;
        }
    instance->symbols = (int64_t *)calloc((size_t)(program->n_symbols + program->n_rank_symbols + 1), sizeof *instance->symbols);
    instance->passed = (void **)calloc((size_t)(program->n_passed + program->n_functions + 1), sizeof *instance->passed);
    instance->words = (int64_t *)calloc((size_t)n_words, sizeof *instance->words);
    instance->arguments = (void **)calloc((size_t)n, sizeof *instance->arguments);
    instance->values = (int64_t *)calloc(2 * (size_t)n, sizeof *instance->values);
    return instance->symbols != NULL && instance->passed != NULL && instance->words != NULL && instance->arguments != NULL
                   && instance->values != NULL
               ? 0
               : SDFG_RANKED_MEMORY;
}

static int32_t sdfg_ranked_create(const sdfg_ranked_program *program, const sdfg_ranked_config *config, sdfg_ranked **out)
{
    char *message = sdfg_ranked_unmade;
    int32_t kind = 0, threads = 0;
    const void *communicator = NULL;
    message[0] = '\0';
    if (out == NULL)
        return sdfg_ranked_fail(message, SDFG_RANKED_ARGUMENT, "there is no place for the handle");
    *out = NULL;
    if (config != NULL) {
        if (config->size < offsetof(sdfg_ranked_config, num_threads))
            return sdfg_ranked_fail(message, SDFG_RANKED_CONFIGURATION, "the configuration has no size");
        if (config->size >= offsetof(sdfg_ranked_config, communicator_kind))
            threads = config->num_threads;
        if (config->size >= sizeof *config) {
            kind = config->communicator_kind;
            communicator = config->communicator;
        }
    }
    if (kind < 0 || kind > 2 || (kind > 0 && communicator == NULL))
        return sdfg_ranked_fail(message, SDFG_RANKED_CONFIGURATION, "the configuration has no communicator of kind %d", (int)kind);
    sdfg_ranked *instance = (sdfg_ranked *)calloc(1, sizeof *instance);
    if (instance == NULL)
        return sdfg_ranked_fail(message, SDFG_RANKED_MEMORY, "memory could not be allocated");
    instance->program = program;
    int32_t status = sdfg_ranked_load(&instance->mpi, message);
    if (status != 0) {
        free(instance);
        return status;
    }
    status = (int32_t)instance->mpi.open(kind, communicator, &instance->context);
    if (status != 0) {
        sdfg_ranked_fail(message, status, "%.400s", instance->mpi.error(NULL));
        free(instance);
        return status;
    }
    instance->rank = instance->mpi.rank(instance->context);
    instance->ranks = instance->mpi.ranks(instance->context);
    const struct {
        size_t size;
        int32_t num_threads;
    } inner = {sizeof inner, threads};
    if (instance->ranks < program->least_ranks)
        status = sdfg_ranked_fail(message, SDFG_RANKED_ARGUMENT, "`%s` is divided over %lld ranks, and the communicator has %lld",
                                  program->name, (long long)program->least_ranks, (long long)instance->ranks);
    else if ((status = sdfg_ranked_reserve(instance)) != 0)
        sdfg_ranked_fail(message, status, "memory could not be allocated");
    else if ((status = program->code.create(&inner, &instance->code)) != 0)
        sdfg_ranked_fail(message, status, "the program of the rank could not be made (status %d)", (int)status);
    status = (int32_t)instance->mpi.agree(instance->context, status, message, SDFG_RANKED_MESSAGE);
    if (status != 0)
        sdfg_ranked_destroy(instance);
    else
        *out = instance;
    return status;
}

static const char *sdfg_ranked_error(const sdfg_ranked *instance)
{
    return instance == NULL ? sdfg_ranked_unmade : instance->message;
}

/* PARTS */

/* The symbols of the rank, once those of the program are there. */
static void sdfg_ranked_symbols(sdfg_ranked *instance)
{
    const sdfg_ranked_program *program = instance->program;
    program->rank_symbols(instance->rank, instance->symbols);
    instance->symbols[program->n_symbols + program->n_rank_symbols] = (int64_t)(intptr_t)instance;
}

/* One of the four bounds of a dimension of an argument; -1 if there is none. */
static int64_t sdfg_ranked_bound(sdfg_ranked *instance, const char *name, int32_t dimension, const int64_t *symbols, int32_t which)
{
    if (instance == NULL || name == NULL)
        return -1;
    const sdfg_ranked_program *program = instance->program;
    memcpy(instance->symbols, symbols, (size_t)program->n_symbols * sizeof *symbols);
    sdfg_ranked_symbols(instance);
    for (int64_t k = 0; k < program->n_arguments; k++) {
        const sdfg_ranked_argument *argument = &program->arguments[k];
        if (strcmp(argument->name, name) != 0)
            continue;
        if (argument->bounds == NULL || dimension < 0 || dimension >= argument->dimensions)
            return -1;
        argument->bounds(instance->symbols, instance->words);
        return instance->words[4 * dimension + which];
    }
    return -1;
}

/* Number of elements in memory of an array. */
static int64_t sdfg_ranked_elements(sdfg_ranked *instance, const sdfg_ranked_argument *argument)
{
    argument->bounds(instance->symbols, instance->words);
    return instance->words[4 * argument->dimensions];
}

/* RUNS */

static int64_t sdfg_ranked_integer(const void *value, int64_t bytes, int32_t is_signed)
{
    switch (bytes) {
    case 1: return is_signed ? *(const int8_t *)value : *(const uint8_t *)value;
    case 2: return is_signed ? *(const int16_t *)value : *(const uint16_t *)value;
    case 4: return is_signed ? *(const int32_t *)value : *(const uint32_t *)value;
    default: return *(const int64_t *)value;
    }
}

/* The symbols of the program and of the rank. */
static void sdfg_ranked_take_symbols(sdfg_ranked *instance, void **arguments)
{
    const sdfg_ranked_program *program = instance->program;
    int64_t at = 0;
    for (int64_t k = 0; k < program->n_arguments; k++)
        if (program->arguments[k].passed == SDFG_RANKED_SYMBOL)
            instance->symbols[at++] =
                sdfg_ranked_integer(arguments[k], program->arguments[k].bytes, program->arguments[k].is_signed);
    sdfg_ranked_symbols(instance);
}

/* Whether every rank has arguments. A caller without any tells the others so that it has found a mistake in its own. */
static int32_t sdfg_ranked_has_arguments(sdfg_ranked *instance, void **arguments)
{
    int32_t status = arguments != NULL ? 0 : SDFG_RANKED_ARGUMENT;
    instance->message[0] = '\0';
    if (status != 0)
        sdfg_ranked_fail(instance->message, status, "the arguments were refused before the call");
    return (int32_t)instance->mpi.agree(instance->context, status, instance->message, SDFG_RANKED_MESSAGE);
}

/* Takes the symbols from the arguments. All ranks find out whether they are the same, and whether each rank has its arrays. */
static int32_t sdfg_ranked_begin(sdfg_ranked *instance, void **arguments)
{
    const sdfg_ranked_program *program = instance->program;
    int64_t rank = 0, word = 0;
    int32_t status = sdfg_ranked_has_arguments(instance, arguments);
    if (status != 0)
        return status;
    sdfg_ranked_take_symbols(instance, arguments);
    status = (int32_t)instance->mpi.same(instance->context, instance->symbols, program->n_symbols, &rank, &word);
    if (status != 0) {
        const char *name = "";
        for (int64_t k = 0; k < program->n_arguments; k++)
            if (program->arguments[k].passed == SDFG_RANKED_SYMBOL && word-- == 0)
                name = program->arguments[k].name;
        return sdfg_ranked_fail(instance->message, status, "symbol `%s` differs between rank 0 and rank %lld", name,
                                (long long)rank);
    }
    for (int64_t k = 0; k < program->n_arguments && status == 0; k++) {
        const sdfg_ranked_argument *argument = &program->arguments[k];
        if (argument->bounds != NULL && arguments[k] == NULL && sdfg_ranked_elements(instance, argument) > 0)
            status = sdfg_ranked_fail(instance->message, SDFG_RANKED_ARGUMENT, "argument `%s` is NULL", argument->name);
    }
    return (int32_t)instance->mpi.agree(instance->context, status, instance->message, SDFG_RANKED_MESSAGE);
}

/* A move of an argument. */
static int32_t sdfg_ranked_move(sdfg_ranked *instance, int64_t k, int move, const void *source, void *target)
{
    const sdfg_ranked_argument *argument = &instance->program->arguments[k];
    int64_t site = (INT64_C(1) << 19) + SDFG_RANKED_MOVES * k + move;
    argument->words[move](instance->symbols, instance->words);
    int32_t status = (int32_t)instance->mpi.move(instance->context, site, instance->words, argument->n_words[move], source, target);
    if (status != 0)
        sdfg_ranked_fail(instance->message, status, "%.400s", instance->mpi.error(instance->context));
    return status;
}

/* Calls the program of the rank. Its moves fail on all ranks alike; what else fails here may leave others waiting. */
static int32_t sdfg_ranked_call(sdfg_ranked *instance, void **arguments);

/* A run on arrays of which each rank has a part. */
static int32_t sdfg_ranked_run(sdfg_ranked *instance, void **arguments)
{
    if (instance == NULL)
        return SDFG_RANKED_ARGUMENT;
    int32_t status = sdfg_ranked_begin(instance, arguments);
    for (int64_t k = 0; k < instance->program->n_arguments && status == 0; k++)
        if (instance->program->arguments[k].has_copies)
            status = sdfg_ranked_move(instance, k, SDFG_RANKED_REFRESH, arguments[k], arguments[k]);
    return status != 0 ? status : sdfg_ranked_call(instance, arguments);
}

/* The values of rank 0, and arrays for what other ranks hold. */
static int32_t sdfg_ranked_spread(sdfg_ranked *instance, void **arguments)
{
    const sdfg_ranked_program *program = instance->program;
    int32_t status = sdfg_ranked_has_arguments(instance, arguments);
    if (status != 0)
        return status;
    memset(instance->values, 0, 2 * (size_t)program->n_arguments * sizeof *instance->values);
    for (int64_t k = 0; k < program->n_arguments; k++) {
        const sdfg_ranked_argument *argument = &program->arguments[k];
        if (argument->passed != SDFG_RANKED_VALUE && argument->passed != SDFG_RANKED_SYMBOL)
            continue;
        instance->arguments[k] = &instance->values[2 * k];
        if (instance->rank == 0)
            memcpy(instance->arguments[k], arguments[k], (size_t)argument->bytes);
    }
    instance->mpi.broadcast(instance->context, 0, instance->values, 2 * program->n_arguments * (int64_t)sizeof *instance->values);
    sdfg_ranked_take_symbols(instance, instance->arguments);
    for (int64_t k = 0; k < program->n_arguments && status == 0; k++) {
        const sdfg_ranked_argument *argument = &program->arguments[k];
        if (argument->bounds == NULL)
            continue;
        int64_t elements = sdfg_ranked_elements(instance, argument);
        if (argument->passed == SDFG_RANKED_WHOLE && instance->rank == 0) {
            instance->arguments[k] = arguments[k];
        } else if (elements < 0 || elements > INT64_MAX / argument->bytes
                   || (instance->arguments[k] = malloc((size_t)(elements * argument->bytes) + 1)) == NULL) {
            status = sdfg_ranked_fail(instance->message, SDFG_RANKED_MEMORY, "no memory for %lld elements of `%s`",
                                      (long long)elements, argument->name);
        }
        if (instance->rank == 0 && arguments[k] == NULL && elements > 0 && status == 0)
            status = sdfg_ranked_fail(instance->message, SDFG_RANKED_ARGUMENT, "argument `%s` is NULL", argument->name);
    }
    return (int32_t)instance->mpi.agree(instance->context, status, instance->message, SDFG_RANKED_MESSAGE);
}

/* A run on arrays that rank 0 has as a whole. Arguments of other ranks are ignored. */
static int32_t sdfg_ranked_run_whole(sdfg_ranked *instance, void **arguments)
{
    if (instance == NULL)
        return SDFG_RANKED_ARGUMENT;
    const sdfg_ranked_program *program = instance->program;
    int is_first = instance->rank == 0;
    for (int64_t k = 0; k < program->n_arguments; k++)
        instance->arguments[k] = NULL;
    int32_t status = sdfg_ranked_spread(instance, arguments);
    for (int64_t k = 0; k < program->n_arguments && status == 0; k++) {
        const sdfg_ranked_argument *argument = &program->arguments[k];
        if (argument->passed == SDFG_RANKED_PART)
            status = sdfg_ranked_move(instance, k, SDFG_RANKED_SCATTER, is_first ? arguments[k] : NULL, instance->arguments[k]);
        else if (argument->passed == SDFG_RANKED_WHOLE)
            status = (int32_t)instance->mpi.broadcast(instance->context, 0, instance->arguments[k],
                                                      sdfg_ranked_elements(instance, argument) * argument->bytes);
    }
    if (status == 0)
        status = sdfg_ranked_call(instance, instance->arguments);
    for (int64_t k = 0; k < program->n_arguments && status == 0; k++)
        if (program->arguments[k].passed == SDFG_RANKED_PART && program->arguments[k].is_written)
            status = sdfg_ranked_move(instance, k, SDFG_RANKED_GATHER, instance->arguments[k], is_first ? arguments[k] : NULL);
    for (int64_t k = 0; k < program->n_arguments; k++)
        if (program->arguments[k].passed == SDFG_RANKED_PART || (program->arguments[k].passed == SDFG_RANKED_WHOLE && !is_first))
            free(instance->arguments[k]);
    return status;
}

/* Functions that the program of a rank calls to move data. */
static void sdfg_ranked_moved(sdfg_ranked *instance, int64_t status)
{
    if (status == 0)
        return;
    instance->move_status = status;
    sdfg_ranked_fail(instance->message, 0, "%.400s", instance->mpi.error(instance->context));
    instance->program->code.stop(instance->code, instance->message);
}

static void sdfg_ranked_move_data(int64_t address, int64_t site, const int64_t *words, int64_t n, const void *source, void *target)
{
    sdfg_ranked *instance = (sdfg_ranked *)(intptr_t)address;
    sdfg_ranked_moved(instance, instance->mpi.move(instance->context, site, words, n, source, target));
}

static void sdfg_ranked_combine_data(int64_t address, int64_t site, const int64_t *words, int64_t n, const void *source,
                                     void *target)
{
    sdfg_ranked *instance = (sdfg_ranked *)(intptr_t)address;
    sdfg_ranked_moved(instance, instance->mpi.combine(instance->context, site, words, n, source, target));
}

/* The halves of moves: a rank computes in between what needs nothing of others. */
static void sdfg_ranked_begin_all(int64_t address, int64_t site, const int64_t *words, int64_t n, const void *const *sources,
                                  void *const *targets)
{
    sdfg_ranked *instance = (sdfg_ranked *)(intptr_t)address;
    sdfg_ranked_moved(instance, instance->mpi.begin_all(instance->context, site, words, n, sources, targets));
}

static void sdfg_ranked_finish_all(int64_t address, int64_t site, const int64_t *words, int64_t n, const void *const *sources,
                                   void *const *targets)
{
    sdfg_ranked *instance = (sdfg_ranked *)(intptr_t)address;
    (void)words, (void)n, (void)sources, (void)targets;
    /* A move that did not begin does not end. */
    if (instance->move_status == 0)
        sdfg_ranked_moved(instance, instance->mpi.finish(instance->context, site));
}

static void sdfg_ranked_move_all(int64_t address, int64_t site, const int64_t *words, int64_t n, const void *const *sources,
                                 void *const *targets)
{
    sdfg_ranked_begin_all(address, site, words, n, sources, targets);
    sdfg_ranked_finish_all(address, site, words, n, sources, targets);
}

static void sdfg_ranked_begin_one(int64_t address, int64_t site, const int64_t *words, int64_t n, const void *source,
                                  void *target)
{
    sdfg_ranked *instance = (sdfg_ranked *)(intptr_t)address;
    sdfg_ranked_moved(instance, instance->mpi.begin(instance->context, site, 0, words, n, source, target));
}

/* The functions for a number of pairs of arrays. */
#define SDFG_RANKED_ONE(verb)                                                                                                  \
    static void sdfg_ranked_##verb##_one(int64_t address, int64_t site, const int64_t *words, int64_t n, const void *source0,   \
                                         void *target0)                                                                        \
    {                                                                                                                          \
        const void *const sources[] = {source0};                                                                               \
        void *const targets[] = {target0};                                                                                     \
        sdfg_ranked_##verb##_all(address, site, words, n, sources, targets);                                                   \
    }
#define SDFG_RANKED_TOGETHER(verb)                                                                                             \
    static void sdfg_ranked_##verb##_two(int64_t address, int64_t site, const int64_t *words, int64_t n, const void *source0,   \
                                         const void *source1, void *target0, void *target1)                                    \
    {                                                                                                                          \
        const void *const sources[] = {source0, source1};                                                                      \
        void *const targets[] = {target0, target1};                                                                            \
        sdfg_ranked_##verb##_all(address, site, words, n, sources, targets);                                                   \
    }                                                                                                                          \
    static void sdfg_ranked_##verb##_three(int64_t address, int64_t site, const int64_t *words, int64_t n,                      \
                                           const void *source0, const void *source1, const void *source2, void *target0,       \
                                           void *target1, void *target2)                                                       \
    {                                                                                                                          \
        const void *const sources[] = {source0, source1, source2};                                                             \
        void *const targets[] = {target0, target1, target2};                                                                   \
        sdfg_ranked_##verb##_all(address, site, words, n, sources, targets);                                                   \
    }                                                                                                                          \
    static void sdfg_ranked_##verb##_four(int64_t address, int64_t site, const int64_t *words, int64_t n, const void *source0,  \
                                          const void *source1, const void *source2, const void *source3, void *target0,        \
                                          void *target1, void *target2, void *target3)                                         \
    {                                                                                                                          \
        const void *const sources[] = {source0, source1, source2, source3};                                                    \
        void *const targets[] = {target0, target1, target2, target3};                                                          \
        sdfg_ranked_##verb##_all(address, site, words, n, sources, targets);                                                   \
    }

SDFG_RANKED_TOGETHER(move)
SDFG_RANKED_TOGETHER(begin)
SDFG_RANKED_ONE(finish)
SDFG_RANKED_TOGETHER(finish)

static int32_t sdfg_ranked_call(sdfg_ranked *instance, void **arguments)
{
    const sdfg_ranked_program *program = instance->program;
    void (*const functions[])(void) = {
        (void (*)(void))sdfg_ranked_move_data,  (void (*)(void))sdfg_ranked_combine_data,
        (void (*)(void))sdfg_ranked_move_two,   (void (*)(void))sdfg_ranked_move_three,
        (void (*)(void))sdfg_ranked_move_four,  (void (*)(void))sdfg_ranked_begin_one,
        (void (*)(void))sdfg_ranked_begin_two,  (void (*)(void))sdfg_ranked_begin_three,
        (void (*)(void))sdfg_ranked_begin_four, (void (*)(void))sdfg_ranked_finish_one,
        (void (*)(void))sdfg_ranked_finish_two, (void (*)(void))sdfg_ranked_finish_three,
        (void (*)(void))sdfg_ranked_finish_four,
    };
    for (int64_t k = 0; k < program->n_passed; k++) {
        int64_t from = program->passed[k];
        instance->passed[k] = from >= 0 ? arguments[from] : &instance->symbols[-1 - from];
    }
    for (int64_t k = 0; k < program->n_functions; k++)
        memcpy(&instance->passed[program->n_passed + k], &functions[program->functions[k]], sizeof *instance->passed);
    instance->move_status = 0;
    int32_t status = program->code.invoke(instance->code, instance->passed);
    if (status == SDFG_RANKED_STOPPED && instance->move_status != 0)
        return (int32_t)instance->move_status;
    if (status == 0)
        return 0;
    sdfg_ranked_fail(instance->message, status, "%.400s", program->code.error(instance->code));
    if (instance->ranks > 1)
        instance->mpi.abort(instance->context, status, instance->message);
    return status;
}
