/* Communication of generated code, on any MPI: see sdfg_mpi.h for the interface. This file has contexts, agreement and ends;
 * the headers that it includes have the rest, so it is one translation unit: `mpicc -shared -fPIC sdfg_mpi.c` compiles it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sdfg_mpi.h"

enum { OUT_OF_MEMORY = 2, INVALID_ARGUMENT = 3, COMMUNICATION = 8 };

enum { SENT_BYTES, RECEIVED_BYTES, SENT_MESSAGES, RECEIVED_MESSAGES, PAYLOAD_BYTES, COLLECTIVES, COMBINED_BYTES, BUFFER_BYTES };

/* Sites of callers are below this. */
#define SITES (INT64_C(1) << 20)

struct move;

struct context {
    MPI_Comm communicator;
    int64_t rank, ranks;
    int tags;              /* tags are below this */
    int64_t chunk;         /* bytes of the longest message */
    double deadline;       /* seconds that a wait may take; 0 for any number */
    int64_t status;
    char message[512];
    struct move **moves;   /* by site */
    int64_t n_moves, n_under_way;
    char *buffer;          /* shared by moves that no other one overlaps */
    int64_t buffer_bytes;
    int64_t counters[8];
};

/* Of an `open` that failed. */
static char message_of_open[512];


/* Sets the status and the message of a context. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static int64_t fail(struct context *context, int64_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context->message, sizeof context->message, format, arguments);
    va_end(arguments);
    return context->status = status;
}

void sdfg_mpi_abort(void *opaque, int64_t status, const char *message)
{
    const struct context *context = opaque;
    fflush(stdout);
    if (context != NULL)
        fprintf(stderr, "sdfg: rank %lld: %s\n", (long long)context->rank, message);
    else
        fprintf(stderr, "sdfg: %s\n", message);
    fflush(stderr);
    int code = status > 0 && status < 126 ? (int)status : 1, is_initialised = 0, is_finalised = 0;
    MPI_Initialized(&is_initialised);
    MPI_Finalized(&is_finalised);
    if (is_initialised && !is_finalised)
        MPI_Abort(context != NULL ? context->communicator : MPI_COMM_WORLD, code);
    _Exit(code);
}

/* Ends all ranks with the message of the context. */
static int64_t end_all(struct context *context)
{
    sdfg_mpi_abort(context, context->status, context->message);
    return context->status;
}

/* Ends all ranks because MPI reported an error while others may be waiting. */
static int64_t end_by_error(struct context *context, int error, const char *action, int64_t site)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(error, text, &length);
    fail(context, COMMUNICATION, "%s %lld failed: %.300s", action, (long long)site, text);
    return end_all(context);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sleep_seconds(double duration)
{
    struct timespec rest = {(time_t)duration, (long)(1e9 * (duration - (double)(time_t)duration))};
    nanosleep(&rest, NULL);
}

/* Waits for a request; longer than the deadline ends all ranks. */
static int wait_for(struct context *context, MPI_Request *request, MPI_Status *status, int64_t site)
{
    if (context->deadline <= 0)
        return MPI_Wait(request, status);
    double end = seconds() + context->deadline;
    for (int is_done = 0; !is_done; sched_yield()) {
        int error = MPI_Test(request, &is_done, status);
        if (error != MPI_SUCCESS)
            return error;
        if (!is_done && seconds() > end) {
            /* One rank reports what all of them see. */
            sleep_seconds(context->rank < 20 ? 0.05 * (double)context->rank : 1);
            if (site >= 0)
                fail(context, COMMUNICATION, "move %lld waited for other ranks for more than %g s (SDFG_MPI_DEADLINE)",
                     (long long)site, context->deadline);
            else
                fail(context, COMMUNICATION, "other ranks did not arrive within %g s (SDFG_MPI_DEADLINE)", context->deadline);
            end_all(context);
        }
    }
    return MPI_SUCCESS;
}

/* A reduction whose result all ranks have. An error ends all of them. */
static void reduce_all(struct context *context, int64_t *words, int n, MPI_Op operation)
{
    MPI_Request request;
    int error;
    if (context->deadline <= 0) {
        error = MPI_Allreduce(MPI_IN_PLACE, words, n, MPI_INT64_T, operation, context->communicator);
    } else {
        error = MPI_Iallreduce(MPI_IN_PLACE, words, n, MPI_INT64_T, operation, context->communicator, &request);
        if (error == MPI_SUCCESS)
            error = wait_for(context, &request, MPI_STATUS_IGNORE, -1);
    }
    if (error != MPI_SUCCESS)
        end_by_error(context, error, "agreement of words", n);
}

/* Bytes of one rank for all others. An error ends all ranks. */
static void broadcast(struct context *context, int64_t root, void *data, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += context->chunk) {
        int count = (int)(bytes - at < context->chunk ? bytes - at : context->chunk), error;
        char *part = (char *)data + at;
        MPI_Request request;
        if (context->deadline <= 0) {
            error = MPI_Bcast(part, count, MPI_BYTE, (int)root, context->communicator);
        } else {
            error = MPI_Ibcast(part, count, MPI_BYTE, (int)root, context->communicator, &request);
            if (error == MPI_SUCCESS)
                error = wait_for(context, &request, MPI_STATUS_IGNORE, -1);
        }
        if (error != MPI_SUCCESS)
            end_by_error(context, error, "broadcast from rank", root);
    }
}

#include "elements.h"
#include "shape.h"
#include "move.h"

int64_t sdfg_mpi_abi(void)
{
    return SDFG_MPI_ABI;
}

/* A number that a variable of the environment gives. */
static double number_of(const char *variable, double otherwise)
{
    const char *text = getenv(variable);
    double number = text != NULL ? strtod(text, NULL) : 0;
    return number > 0 ? number : otherwise;
}

/* Finalises MPI at the end of the process. A failed process ends the others, unless they come to their ends as well: they may
 * have agreed on the failure, and print it. */
static void finalise(int status)
{
    int is_finalised = 0, is_there = 0;
    MPI_Finalized(&is_finalised);
    if (is_finalised)
        return;
    MPI_Request request;
    if (status != 0 && MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS) {
        for (double end = seconds() + 2; !is_there && seconds() < end; sleep_seconds(0.001))
            MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
        if (!is_there) {
            int rank = 0;
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            fflush(NULL);
            fprintf(stderr, "sdfg: rank %d ended with status %d while others go on\n", rank, status);
            MPI_Abort(MPI_COMM_WORLD, status);
        }
    }
    MPI_Finalize();
}

#if defined(__GLIBC__)
static void finalise_at_exit(int status, void *nothing)
{
    (void)nothing;
    finalise(status);
}
#else
static void finalise_at_exit(void)
{
    finalise(0);
}
#endif

/* Initialises MPI if that is this library's task. */
static int64_t initialise(struct context *context, int64_t kind)
{
    int is_initialised = 0, is_finalised = 0, provided = 0;
    MPI_Initialized(&is_initialised);
    MPI_Finalized(&is_finalised);
    if (is_finalised)
        return fail(context, COMMUNICATION, "MPI has been finalised in this process");
    if (is_initialised)
        return 0;
    if (kind != SDFG_MPI_WORLD)
        return fail(context, INVALID_ARGUMENT, "a communicator was given, but MPI is not initialised: call MPI_Init_thread");
    /* Open MPI adds no text of its own to an abort: `sdfg_mpi_abort` has said why. The launcher still names a rank that is killed. */
    setenv("OMPI_MCA_orte_execute_quiet", "1", 0);
    /* Its handler of crashes allocates memory, so that a crash inside of `malloc` would never end. */
    setenv("OMPI_MCA_opal_signal", "", 0);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return fail(context, COMMUNICATION, "MPI_Init_thread failed");
#if defined(__GLIBC__)
    on_exit(finalise_at_exit, NULL);
#else
    atexit(finalise_at_exit);
#endif
    return 0;
}

static int64_t open_context(struct context *context, int64_t kind, const void *given)
{
    MPI_Comm communicator = MPI_COMM_WORLD;
    int rank, ranks, is_inter = 0, has_tags = 0, *tags = NULL;
    int64_t status = initialise(context, kind);
    if (status != 0)
        return status;
    if (kind < SDFG_MPI_WORLD || kind > SDFG_MPI_FORTRAN || (kind != SDFG_MPI_WORLD && given == NULL))
        return fail(context, INVALID_ARGUMENT, "%lld is no kind of communicators, or there is none", (long long)kind);
    if (kind == SDFG_MPI_C)
        communicator = *(const MPI_Comm *)given;
    else if (kind == SDFG_MPI_FORTRAN)
        communicator = MPI_Comm_f2c((MPI_Fint) * (const int64_t *)given);
    if (communicator == MPI_COMM_NULL)
        return fail(context, INVALID_ARGUMENT, "the communicator is MPI_COMM_NULL");
    if (MPI_Comm_test_inter(communicator, &is_inter) != MPI_SUCCESS || is_inter)
        return fail(context, INVALID_ARGUMENT, "the communicator is no intracommunicator");
    if (MPI_Comm_dup(communicator, &context->communicator) != MPI_SUCCESS)
        return fail(context, COMMUNICATION, "MPI_Comm_dup failed");
    MPI_Comm_set_errhandler(context->communicator, MPI_ERRORS_RETURN);
    MPI_Comm_rank(context->communicator, &rank);
    MPI_Comm_size(context->communicator, &ranks);
    MPI_Comm_get_attr(context->communicator, MPI_TAG_UB, &tags, &has_tags);
    context->rank = rank;
    context->ranks = ranks;
    context->tags = has_tags ? *tags : 32767;
    context->deadline = number_of("SDFG_MPI_DEADLINE", 0);
    double chunk = number_of("SDFG_MPI_CHUNK", 0x1p30);
    context->chunk = chunk >= 1 && chunk <= 0x1p30 ? (int64_t)chunk : INT64_C(1) << 30;
    return 0;
}

int64_t sdfg_mpi_open(int64_t kind, const void *communicator, void **result)
{
    struct context *context = calloc(1, sizeof *context);
    *result = NULL;
    if (context == NULL) {
        snprintf(message_of_open, sizeof message_of_open, "no memory for a context of communication");
        return OUT_OF_MEMORY;
    }
    int64_t status = open_context(context, kind, communicator);
    if (status != 0) {
        memcpy(message_of_open, context->message, sizeof message_of_open);
        free(context);
        return status;
    }
    *result = context;
    return 0;
}

/* Frees descriptors and buffers. */
static void free_moves(struct context *context)
{
    int is_finalised = 0;
    MPI_Finalized(&is_finalised);
    for (int64_t site = 0; site < context->n_moves; site++) {
        if (context->moves[site] != NULL && is_finalised)
            context->moves[site]->has_requests = 0;
        free_move(context, context->moves[site]);
    }
    free(context->moves);
    free(context->buffer);
}

void sdfg_mpi_close(void *opaque)
{
    struct context *context = opaque;
    int is_finalised = 0;
    if (context == NULL)
        return;
    free_moves(context);
    MPI_Finalized(&is_finalised);
    if (!is_finalised)
        MPI_Comm_free(&context->communicator);
    free(context);
}

int64_t sdfg_mpi_rank(const void *context)
{
    return ((const struct context *)context)->rank;
}

int64_t sdfg_mpi_ranks(const void *context)
{
    return ((const struct context *)context)->ranks;
}

const char *sdfg_mpi_error(const void *context)
{
    return context == NULL ? message_of_open : ((const struct context *)context)->message;
}

void sdfg_mpi_counters(const void *context, int64_t counters[8])
{
    memcpy(counters, ((const struct context *)context)->counters, sizeof ((const struct context *)context)->counters);
}

int64_t sdfg_mpi_agree(void *opaque, int64_t status, char *message, int64_t capacity)
{
    struct context *context = opaque;
    /* The largest status, and the lowest rank that failed. */
    int64_t words[2] = {status, status != 0 ? -context->rank : -context->ranks};
    char text[sizeof context->message] = "";
    if (context->ranks > 1)
        reduce_all(context, words, 2, MPI_MAX);
    if (words[0] == 0)
        return 0;
    if (status != 0)
        snprintf(text, sizeof text, "rank %lld: %.*s", (long long)context->rank,
                 (int)(capacity > 0 && capacity < 490 ? capacity : 490), message != NULL ? message : "failed");
    if (context->ranks > 1)
        broadcast(context, -words[1], text, sizeof text);
    if (message != NULL && capacity > 0)
        snprintf(message, (size_t)capacity, "%s", text);
    memcpy(context->message, text, sizeof text);
    return context->status = words[0];
}

/* The index of the first word that differs from those of rank 0: -1 if their number does, `n` if none does. */
static int64_t first_difference(struct context *context, const int64_t *words, int64_t n)
{
    enum { AT_ONCE = 64 };
    int64_t theirs[AT_ONCE] = {n}, number = n, found = n, at = 0;
    for (int64_t room = AT_ONCE - 1; at == 0 || at < number; room = AT_ONCE) {
        int64_t *place = theirs + (AT_ONCE - room), count = SMALLER(number - at, room);
        if (context->rank == 0)
            memcpy(place, words + at, (size_t)count * sizeof *words);
        broadcast(context, 0, theirs, sizeof theirs);
        if (at == 0)
            number = theirs[0];
        count = SMALLER(number - at, room);
        for (int64_t k = 0; k < count && found == n && number == n; k++)
            if (words[at + k] != place[k])
                found = at + k;
        at += room;
    }
    return number == n ? found : -1;
}

int64_t sdfg_mpi_same(void *opaque, const int64_t *words, int64_t n, int64_t *which_rank, int64_t *which_word)
{
    struct context *context = opaque;
    if (context->ranks == 1)
        return 0;
    int64_t word = first_difference(context, words, n);
    int64_t lowest = word != n ? -context->rank : -context->ranks;
    reduce_all(context, &lowest, 1, MPI_MAX);
    if (lowest == -context->ranks)
        return 0;
    broadcast(context, -lowest, &word, sizeof word);
    if (which_rank != NULL)
        *which_rank = -lowest;
    if (which_word != NULL)
        *which_word = word;
    if (word < 0)
        return fail(context, INVALID_ARGUMENT, "rank %lld has another number of words than rank 0", (long long)-lowest);
    return fail(context, INVALID_ARGUMENT, "rank %lld differs from rank 0 in word %lld", (long long)-lowest, (long long)word);
}

int64_t sdfg_mpi_broadcast(void *opaque, int64_t root, void *data, int64_t bytes)
{
    struct context *context = opaque;
    if (root < 0 || root >= context->ranks || bytes < 0)
        return fail(context, INVALID_ARGUMENT, "no broadcast of %lld bytes from rank %lld", (long long)bytes, (long long)root);
    if (context->ranks > 1)
        broadcast(context, root, data, bytes);
    context->counters[PAYLOAD_BYTES] += bytes;
    context->counters[COLLECTIVES]++;
    return 0;
}

/* The place of a site's move; NULL with a status. It fails on every rank or on those without memory at the first use of a
 * site, where all ranks make descriptors. */
static struct move **place_of(struct context *context, int64_t site)
{
    if (site < 0 || site >= SITES) {
        fail(context, INVALID_ARGUMENT, "%lld is no site", (long long)site);
        return NULL;
    }
    if (site >= context->n_moves) {
        int64_t n = 2 * site + 8;
        struct move **moves = realloc(context->moves, (size_t)n * sizeof *moves);
        if (moves == NULL) {
            fail(context, OUT_OF_MEMORY, "no memory for the descriptor of move %lld", (long long)site);
            return NULL;
        }
        memset(moves + context->n_moves, 0, (size_t)(n - context->n_moves) * sizeof *moves);
        context->moves = moves;
        context->n_moves = n;
    }
    return &context->moves[site];
}

/* Gives a move its buffer: the shared one, or one of its own if another move is under way, which all ranks know. */
static int64_t prepare_buffer(struct context *context, struct move *move)
{
    int64_t bytes = move->buffer_bytes;
    if (context->n_under_way > 0) {
        move->has_own = 1;
        move->own = malloc((size_t)(bytes + 1));
        if (move->own == NULL)
            return fail(context, OUT_OF_MEMORY, "no memory for %lld bytes of messages of move %lld", (long long)bytes,
                        (long long)move->site);
        context->counters[BUFFER_BYTES] += bytes;
    } else if (bytes > context->buffer_bytes) {
        free(context->buffer);
        context->counters[BUFFER_BYTES] -= context->buffer_bytes;
        context->buffer_bytes = 0;
        context->buffer = malloc((size_t)bytes);
        if (context->buffer == NULL)
            return fail(context, OUT_OF_MEMORY, "no memory for %lld bytes of messages of move %lld", (long long)bytes,
                        (long long)move->site);
        context->buffer_bytes = bytes;
        context->counters[BUFFER_BYTES] += bytes;
    }
    return 0;
}

/* The move of a site with these words, ready to begin; NULL with a status that all ranks agree on. */
static struct move *prepare(struct context *context, int64_t site, enum kind kind, const int64_t *words, int64_t n)
{
    struct move **place = place_of(context, site), *move = place != NULL ? *place : NULL;
    int is_kept = move != NULL && move->n == n && move->kind == kind
                  && memcmp(move->words, words, (size_t)n * sizeof *words) == 0;
    if (move != NULL && move->is_under_way) {
        fail(context, INVALID_ARGUMENT, "move %lld begins again before it is finished", (long long)site);
        end_all(context);
    }
    if (is_kept && (move->has_own || context->n_under_way == 0))
        return move;
    int64_t status = place == NULL ? context->status : 0;
    if (status == 0 && !is_kept) {
        free_move(context, move);
        *place = move = kind == BUNDLE ? make_bundle(context, site, words, n) : make_move(context, site, kind, words, n);
        status = move == NULL ? context->status : 0;
    }
    if (status == 0)
        status = prepare_buffer(context, move);
    status = sdfg_mpi_agree(context, status, context->message, sizeof context->message);
    if (status == 0)
        return move;
    if (place != NULL) {
        free_move(context, *place);
        *place = NULL;
    }
    /* Some rank may have lost the shared buffer: all make their descriptors anew. */
    for (int64_t at = 0; context->n_under_way == 0 && at < context->n_moves; at++) {
        free_move(context, context->moves[at]);
        context->moves[at] = NULL;
    }
    return NULL;
}

/* Ends all ranks if the arrays cannot be those of the move: others do not see them. */
static void check_arrays(struct context *context, const struct move *move, const void *source, const void *target)
{
    const struct stage *stage = move->stages;
    int is_in_place = (move->shape.flags & SDFG_MPI_IN_PLACE) != 0;
    int is_source_used = stage[0].out.n > 0 || stage[0].has_local;
    int is_target_used = stage[0].in.n > 0 || stage[0].has_local || stage[1].in.n > 0;
    if ((is_source_used && source == NULL) || (is_target_used && target == NULL))
        fail(context, INVALID_ARGUMENT, "move %lld has no array on this rank", (long long)move->site);
    else if (is_source_used && is_target_used && is_in_place != (source == target))
        fail(context, INVALID_ARGUMENT, "move %lld is in place, but the arrays differ, or the other way round",
             (long long)move->site);
    else
        return;
    end_all(context);
}

int64_t sdfg_mpi_begin(void *opaque, int64_t site, int64_t combine, const int64_t *words, int64_t n, const void *source,
                       void *target)
{
    struct context *context = opaque;
    struct move *move = prepare(context, site, combine != 0 ? COMBINATION : MOVE, words, n);
    if (move == NULL)
        return context->status;
    check_arrays(context, move, source, target);
    char *buffer = move->has_own ? move->own : context->buffer;
    int error = make_requests(context, move, source, target, buffer);
    move->is_under_way = 1;
    context->n_under_way++;
    count_move(context, move);
    if (move->has_fresh)
        neutral_box(&move->fresh, move->shape.operation, move->shape.type, (char *)target + move->fresh_first);
    if (error == MPI_SUCCESS)
        error = start_stage(move, 0, source, buffer);
    if (error != MPI_SUCCESS)
        return end_by_error(context, error, "move", site);
    const struct stage *stage = &move->stages[0];
    if (stage->has_local && (stage->is_staged || move->gathered_bytes > 0))
        copy_box(&stage->pack, buffer + stage->local_buffer, (const char *)source + stage->from);
    if (!move->combine)
        deliver_local(move, 0, target, source, buffer);
    return 0;
}

int64_t sdfg_mpi_begin_all(void *opaque, int64_t site, const int64_t *words, int64_t n, const void *const *sources,
                           void *const *targets)
{
    struct context *context = opaque;
    struct move *bundle = prepare(context, site, BUNDLE, words, n);
    if (bundle == NULL)
        return context->status;
    for (int64_t part = 0; part < bundle->n_parts; part++) {
        check_arrays(context, bundle->parts[part], sources[part], targets[part]);
        bundle->parts[part]->target = targets[part];
    }
    char *buffer = bundle->has_own ? bundle->own : context->buffer;
    int error = make_requests(context, bundle, NULL, NULL, buffer);
    bundle->is_under_way = 1;
    context->n_under_way++;
    count_move(context, bundle);
    if (error == MPI_SUCCESS)
        error = start_bundle(bundle, sources, buffer);
    if (error != MPI_SUCCESS)
        return end_by_error(context, error, "move", site);
    for (int64_t part = 0; part < bundle->n_parts; part++)
        deliver_local(bundle->parts[part], 0, targets[part], sources[part], buffer);
    return 0;
}

int64_t sdfg_mpi_finish(void *opaque, int64_t site)
{
    struct context *context = opaque;
    struct move *move = site >= 0 && site < context->n_moves ? context->moves[site] : NULL;
    if (move == NULL || !move->is_under_way) {
        fail(context, INVALID_ARGUMENT, "move %lld is finished before it begins", (long long)site);
        return end_all(context);
    }
    char *buffer = move->has_own ? move->own : context->buffer;
    int error;
    if (move->gathered_bytes > 0)
        error = finish_gather(context, move, buffer);
    else if (move->kind == BUNDLE)
        error = finish_bundle(context, move, buffer);
    else
        error = finish_stage(context, move, 0, buffer);
    for (int stage = 1; stage < move->n_stages && error == MPI_SUCCESS; stage++) {
        error = start_stage(move, stage, move->target, buffer);
        if (error == MPI_SUCCESS)
            error = finish_stage(context, move, stage, buffer);
    }
    if (error != MPI_SUCCESS)
        return end_by_error(context, error, "move", site);
    move->is_under_way = 0;
    context->n_under_way--;
    return 0;
}

int64_t sdfg_mpi_move(void *context, int64_t site, const int64_t *words, int64_t n, const void *source, void *target)
{
    int64_t status = sdfg_mpi_begin(context, site, 0, words, n, source, target);
    return status != 0 ? status : sdfg_mpi_finish(context, site);
}

int64_t sdfg_mpi_combine(void *context, int64_t site, const int64_t *words, int64_t n, const void *source, void *target)
{
    int64_t status = sdfg_mpi_begin(context, site, 1, words, n, source, target);
    return status != 0 ? status : sdfg_mpi_finish(context, site);
}

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

int64_t sdfg_mpi_measure(void *opaque, int64_t combine, const int64_t *words, int64_t n, const void *source, void *target,
                         int64_t repetitions, double *result)
{
    struct context *context = opaque, inner = *context;
    double times[101];
    if (repetitions < 1 || repetitions > 101)
        return fail(context, INVALID_ARGUMENT, "%lld repetitions cannot be measured, only 1 to 101", (long long)repetitions);
    /* Descriptors, buffers and counters of its own. */
    inner.moves = NULL;
    inner.buffer = NULL;
    inner.n_moves = inner.n_under_way = inner.buffer_bytes = 0;
    int64_t status = sdfg_mpi_begin(&inner, 0, combine, words, n, source, target);
    if (status == 0)
        status = sdfg_mpi_finish(&inner, 0);
    for (int64_t k = 0; k < repetitions && status == 0; k++) {
        sdfg_mpi_agree(&inner, 0, NULL, 0);
        double start = seconds();
        sdfg_mpi_begin(&inner, 0, combine, words, n, source, target);
        sdfg_mpi_finish(&inner, 0);
        /* Nanoseconds are integers, which the reduction takes. */
        int64_t time = (int64_t)(1e9 * (seconds() - start));
        if (inner.ranks > 1)
            reduce_all(&inner, &time, 1, MPI_MAX);
        times[k] = 1e-9 * (double)time;
    }
    if (status != 0) {
        memcpy(context->message, inner.message, sizeof context->message);
        context->status = status;
    } else {
        qsort(times, (size_t)repetitions, sizeof *times, by_size);
        *result = times[repetitions / 2];
    }
    free_moves(&inner);
    return status;
}
