/* Runs moves that a file lists: the half of the tests in mpi.rs that MPI starts. Each rank reads its own cases, and writes
 * what it holds afterwards.
 *
 * driver cases FOLDER             the cases of FOLDER/RANK.in, to FOLDER/RANK.out
 * driver soak FOLDER SECONDS     the same again and again, which must not need more and more memory, requests or communicators
 * driver TEST                     one of the tests below; 0 or the line of the check that failed
 */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../../../tests/c/counted_mpi.h"
#include "sdfg_mpi.h"

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                 \
            MPI_Abort(MPI_COMM_WORLD, 99);                                          \
        }                                                                           \
    } while (0)

static int64_t read_word(FILE *file)
{
    int64_t word = 0;
    CHECK(fread(&word, sizeof word, 1, file) == 1);
    return word;
}

/* A number of bytes, and as many bytes in memory of their own. */
static void *read_bytes(FILE *file, int64_t *bytes)
{
    *bytes = read_word(file);
    void *memory = *bytes > 0 ? malloc((size_t)*bytes) : NULL;
    CHECK(*bytes == 0 || (memory != NULL && fread(memory, 1, (size_t)*bytes, file) == (size_t)*bytes));
    return memory;
}

struct test_case {
    int64_t is_overlapping, combine, is_in_place, site, n_words, *words, source_bytes, target_bytes;
    void *source, *target, *result;
};

static int read_case(FILE *file, struct test_case *test)
{
    int64_t bytes;
    test->is_overlapping = read_word(file);
    if (test->is_overlapping < 0)
        return 0;
    test->combine = read_word(file);
    test->is_in_place = read_word(file);
    test->site = read_word(file);
    test->words = read_bytes(file, &bytes);
    test->n_words = bytes / 8;
    test->source = read_bytes(file, &test->source_bytes);
    test->target = read_bytes(file, &test->target_bytes);
    test->result = NULL;
    return 1;
}

/* A copy in memory that differs from that of the copy before, which it replaces. */
static void *fresh_copy(const void *from, void *before, int64_t bytes)
{
    void *copy = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (bytes > 0)
        memcpy(copy, from, (size_t)bytes);
    free(before);
    return copy;
}

/* Gives a case arrays in new memory. */
static void renew(struct test_case *test)
{
    test->source = fresh_copy(test->source, test->source, test->source_bytes);
    test->result = fresh_copy(test->target, test->result, test->target_bytes);
}

/* Two cases in one bundle. */
static void run_bundle(void *context, struct test_case *tests)
{
    int64_t n = 0, *words = malloc((size_t)(tests[0].n_words + tests[1].n_words + 3) * 8);
    const void *sources[2];
    void *targets[2];
    words[n++] = 2;
    for (int at = 0; at < 2; at++) {
        renew(&tests[at]);
        words[n++] = tests[at].n_words;
        memcpy(words + n, tests[at].words, (size_t)tests[at].n_words * 8);
        n += tests[at].n_words;
        targets[at] = tests[at].result;
        sources[at] = tests[at].is_in_place ? targets[at] : tests[at].source;
    }
    CHECK(sdfg_mpi_begin_all(context, tests[0].site, words, n, sources, targets) == 0);
    CHECK(sdfg_mpi_finish(context, tests[0].site) == 0);
    free(words);
}

static int64_t begin(void *context, struct test_case *test)
{
    renew(test);
    return sdfg_mpi_begin(context, test->site, test->combine, test->words, test->n_words,
                          test->is_in_place ? test->result : test->source, test->result);
}

/* The result of a case, and what the counters say of it. */
static void write_result(FILE *file, const struct test_case *test, const int64_t *counters)
{
    fwrite(counters, 8, 8, file);
    fwrite(&test->target_bytes, 8, 1, file);
    if (test->target_bytes > 0)
        fwrite(test->result, 1, (size_t)test->target_bytes, file);
}

static void run_cases(const char *folder)
{
    void *context;
    char name[4096];
    CHECK(sdfg_mpi_open(SDFG_MPI_WORLD, NULL, &context) == 0);
    snprintf(name, sizeof name, "%s/%d.in", folder, (int)sdfg_mpi_rank(context));
    FILE *in = fopen(name, "rb");
    snprintf(name, sizeof name, "%s/%d.out", folder, (int)sdfg_mpi_rank(context));
    FILE *out = fopen(name, "wb");
    CHECK(in != NULL && out != NULL);
    struct test_case tests[2];
    while (read_case(in, &tests[0])) {
        int n = 1;
        if (tests[0].is_overlapping)
            n += read_case(in, &tests[1]);
        int64_t counters[3][8] = {{0}};
        /* The second time with the descriptor of the first time, and other memory. */
        for (int turn = 0; turn < 2; turn++) {
            if (tests[0].is_overlapping == 2) {
                sdfg_mpi_counters(context, counters[0]);
                run_bundle(context, tests);
                sdfg_mpi_counters(context, counters[1]);
                memcpy(counters[2], counters[1], sizeof counters[1]);
                continue;
            }
            for (int at = 0; at < n; at++) {
                sdfg_mpi_counters(context, counters[at]);
                int64_t status = begin(context, &tests[at]);
                if (status != 0)
                    fprintf(stderr, "%s\n", sdfg_mpi_error(context));
                CHECK(status == 0);
            }
            sdfg_mpi_counters(context, counters[n]);
            for (int at = 0; at < n; at++) {
                /* In the order of beginnings, or against it. */
                int which = tests[0].site % 2 == 0 ? at : n - 1 - at;
                CHECK(sdfg_mpi_finish(context, tests[which].site) == 0);
            }
        }
        for (int at = 0; at < n; at++) {
            for (int k = 0; k < 7; k++)
                counters[at][k] = counters[at + 1][k] - counters[at][k];
            write_result(out, &tests[at], counters[at]);
            free(tests[at].words);
            free(tests[at].source);
            free(tests[at].target);
            free(tests[at].result);
        }
    }
    sdfg_mpi_close(context);
    fclose(in);
    CHECK(fclose(out) == 0);
}

/* Bytes of this process in memory. */
static int64_t resident(void)
{
    long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &pages) == 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Contexts, requests and buffers come and go for so many seconds, after as many passes as MPI's own tables need to fill. */
static void soak(const char *folder, double seconds)
{
    void *context;
    CHECK(sdfg_mpi_open(SDFG_MPI_WORLD, NULL, &context) == 0);
    double start = MPI_Wtime();
    int64_t first = 0, passes = 0;
    double told = start;
    /* All ranks end with the same pass. */
    for (int64_t is_over = 0; !is_over; passes++) {
        run_cases(folder);
        /* Of each pass remains the context of this function. */
        CHECK(n_requests == 0 && n_communicators == 1);
        if (MPI_Wtime() - told > 60 && sdfg_mpi_rank(context) == 0) {
            told = MPI_Wtime();
            printf("%.0f s: %d passes, rank 0 has %d KiB\n", told - start, (int)passes, (int)(resident() >> 10));
        }
        if (passes == 20)
            first = resident();
        is_over = passes > 20 && MPI_Wtime() - start > seconds;
        CHECK(sdfg_mpi_broadcast(context, 0, &is_over, sizeof is_over) == 0);
    }
    int64_t last = resident();
    printf("rank %d: %d passes, %d KiB, then %d KiB\n", (int)sdfg_mpi_rank(context), (int)passes, (int)(first >> 10),
           (int)(last >> 10));
    CHECK(last <= first + (1 << 20));
    sdfg_mpi_close(context);
}

/* Words of a whole array of doubles that ranks hold in even parts, moved to every rank. */
static int64_t gather_words(int64_t *words, int64_t ranks, int64_t each)
{
    int64_t n = 0, head[] = {8, 0, 11, SDFG_MPI_TARGET_EVERYWHERE, 1, ranks * each, 1, 1, ranks, ranks * each, 0, ranks};
    for (size_t k = 0; k < sizeof head / 8; k++)
        words[n++] = head[k];
    for (int64_t rank = 0; rank <= ranks; rank++)
        words[n++] = rank * each;
    int64_t tail[] = {0, 0, 0, 1, 0, 1, 0, ranks * each, -1, 1, 0, ranks * each, 0, 0, 0, 1, 0};
    for (size_t k = 0; k < sizeof tail / 8; k++)
        words[n++] = tail[k];
    return n;
}

/* Gathers parts of so many elements. */
static int64_t gather(void *context, int64_t site, int64_t each)
{
    int64_t words[64], ranks = sdfg_mpi_ranks(context), rank = sdfg_mpi_rank(context);
    int64_t n = gather_words(words, ranks, each);
    double *part = malloc((size_t)each * 8), *whole = malloc((size_t)(each * ranks) * 8);
    CHECK(part != NULL && whole != NULL);
    for (int64_t k = 0; k < each; k++)
        part[k] = (double)(rank * each + k);
    int64_t status = sdfg_mpi_move(context, site, words, n, part, whole);
    for (int64_t k = 0; k < each * ranks && status == 0; k++)
        CHECK(whole[k] == (double)k);
    free(part);
    free(whole);
    return status;
}

static void agreement(void *context)
{
    int64_t rank = sdfg_mpi_rank(context), ranks = sdfg_mpi_ranks(context);
    char message[200] = "";
    CHECK(sdfg_mpi_abi() == SDFG_MPI_ABI);
    CHECK(sdfg_mpi_agree(context, 0, message, sizeof message) == 0 && message[0] == 0);
    snprintf(message, sizeof message, "of %d", (int)rank);
    int64_t status = rank == 0 ? 0 : 10 - rank;
    int64_t agreed = sdfg_mpi_agree(context, status, message, sizeof message);
    CHECK(agreed == (ranks == 1 ? 0 : 9));
    CHECK(ranks == 1 || strcmp(message, "rank 1: of 1") == 0);
    CHECK(ranks == 1 || strcmp(sdfg_mpi_error(context), "rank 1: of 1") == 0);
    CHECK(sdfg_mpi_agree(context, rank == ranks - 1 ? 3 : 0, NULL, 0) == 3);
    char short_message[8] = "abcdefg";
    CHECK(sdfg_mpi_agree(context, 1, short_message, sizeof short_message) == 1);
    CHECK(strcmp(short_message, "rank 0:") == 0);

    int64_t words[200], which_rank = -7, which_word = -7;
    for (int64_t n = 0; n <= 200; n += n < 66 ? 1 : 67) {
        for (int64_t k = 0; k < 200; k++)
            words[k] = k - INT64_C(0x7000000000000000);
        CHECK(sdfg_mpi_same(context, words, n, &which_rank, &which_word) == 0 && which_rank == -7);
        for (int64_t other = 1; other < ranks && n > 0; other++) {
            int64_t at = n - 1 - (other * 31) % n;
            int64_t difference = other % 2 == 0 ? 5 : -5;
            words[at] += rank == other ? difference : 0;
            words[n - 1] += rank > other ? 1 : 0;
            CHECK(sdfg_mpi_same(context, words, n, &which_rank, &which_word) == 3);
            CHECK(which_rank == other && which_word == at);
            words[at] -= rank == other ? difference : 0;
            words[n - 1] -= rank > other ? 1 : 0;
            CHECK(sdfg_mpi_same(context, words, n - (rank == other), &which_rank, &which_word) == 3);
            CHECK(which_rank == other && which_word == -1);
            CHECK(strstr(sdfg_mpi_error(context), "another number of words") != NULL);
            which_rank = -7;
        }
    }
    CHECK(ranks == 1 || sdfg_mpi_same(context, &rank, 1, NULL, NULL) == 3);
    CHECK(ranks == 1 || strcmp(sdfg_mpi_error(context), "rank 1 differs from rank 0 in word 0") == 0);

    int64_t counters[8], before[8];
    sdfg_mpi_counters(context, before);
    for (int64_t root = 0; root < ranks; root++) {
        double data[300];
        for (int k = 0; k < 300; k++)
            data[k] = (double)(rank * 1000 + k);
        CHECK(sdfg_mpi_broadcast(context, root, data, sizeof data) == 0);
        for (int k = 0; k < 300; k++)
            CHECK(data[k] == (double)(root * 1000 + k));
    }
    sdfg_mpi_counters(context, counters);
    CHECK(counters[4] - before[4] == ranks * 2400 && counters[5] - before[5] == ranks);
    CHECK(sdfg_mpi_broadcast(context, ranks, words, 8) == 3 && sdfg_mpi_broadcast(context, -1, words, 8) == 3);
}

/* Words that are wrong, one at a time, are refused on every rank, and what follows works. */
static void wrong_words(void *context)
{
    int64_t words[64], ranks = sdfg_mpi_ranks(context), n = gather_words(words, ranks, 3);
    double part[3] = {0}, whole[64];
    const int64_t values[] = {-1000, INT64_MIN, INT64_MAX, INT64_C(1) << 40, 31, 16};
    for (int64_t at = 0; at < n; at++)
        for (int k = 0; k < 6; k++) {
            int64_t changed[64];
            memcpy(changed, words, sizeof changed);
            changed[at] = values[k];
            /* Widths of halos may be any; whatever the flags, the number of bytes and the type say has to fit as well. */
            int64_t starts = 12 + ranks + 1;
            if (at <= 3 || (at >= starts && at < starts + 2) || at == n - 5 || at == n - 4)
                continue;
            if (at == starts + 3 || at == n - 2)
                continue;
            int64_t status = sdfg_mpi_move(context, 5, changed, n, part, whole);
            if (status != 3)
                fprintf(stderr, "word %d = %lld: %lld\n", (int)at, (long long)changed[at], (long long)status);
            CHECK(status == 3 && strstr(sdfg_mpi_error(context), "words of move 5 are wrong") != NULL);
        }
    for (int64_t length = 0; length < n; length++)
        CHECK(sdfg_mpi_move(context, 5, words, length, part, whole) == 3);
    int64_t longer[65] = {0};
    memcpy(longer, words, sizeof words);
    CHECK(sdfg_mpi_move(context, 5, longer, n + 1, part, whole) == 3);
    CHECK(sdfg_mpi_move(context, -1, words, n, part, whole) == 3);
    CHECK(sdfg_mpi_move(context, INT64_C(1) << 20, words, n, part, whole) == 3);
    CHECK(sdfg_mpi_combine(context, 5, words, n, part, whole) == 3);
    /* One dimension of the grid cuts two of the container; then one each. */
    int64_t cut_twice[] = {8, 0, 11, 0, 0, 2, 2, 1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, -1, 0, 1, -1,
                           0, 0};
    int64_t m = sizeof cut_twice / 8;
    CHECK(sdfg_mpi_move(context, 5, cut_twice, m, part, whole) == 3);
    cut_twice[17] = 1;
    CHECK(sdfg_mpi_move(context, 5, cut_twice, m, part, whole) == 0);
    /* A bundle of nothing, and of words that are wrong as a whole or in a part. */
    int64_t none = 0, bundle[70] = {1, n};
    const void *sources[] = {part};
    void *targets[] = {whole};
    CHECK(sdfg_mpi_begin_all(context, 6, &none, 1, sources, targets) == 0 && sdfg_mpi_finish(context, 6) == 0);
    memcpy(bundle + 2, words, (size_t)n * 8);
    CHECK(sdfg_mpi_begin_all(context, 6, bundle, n + 2, sources, targets) == 0 && sdfg_mpi_finish(context, 6) == 0);
    for (int64_t length = 0; length < n + 4; length++)
        CHECK(length == n + 2 || sdfg_mpi_begin_all(context, 6, bundle, length, sources, targets) == 3);
    for (int at = 0; at < 2; at++)
        for (int64_t change = -1; change < 2; change += 2) {
            bundle[at] += change;
            CHECK(sdfg_mpi_begin_all(context, 6, bundle, n + 2, sources, targets) == 3);
            bundle[at] -= change;
        }
    bundle[3] = 1;
    CHECK(sdfg_mpi_begin_all(context, 6, bundle, n + 2, sources, targets) == 3);
    CHECK(gather(context, 5, 3) == 0 && gather(context, 5, 7) == 0 && gather(context, 5, 3) == 0);
}

/* Communicators of each kind: half of the ranks each, beside the user's messages with the same tags. */
static void communicators(void)
{
    MPI_Comm half;
    void *first, *second, *none = (void *)&half;
    int rank, provided;
    MPI_Comm null = MPI_COMM_NULL;
    int64_t handle;
    CHECK(sdfg_mpi_open(SDFG_MPI_C, &null, &none) == 3 && none == NULL);
    CHECK(strstr(sdfg_mpi_error(NULL), "MPI_Init_thread") != NULL);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(sdfg_mpi_open(SDFG_MPI_C, &null, &none) == 3 && none == NULL);
    CHECK(strstr(sdfg_mpi_error(NULL), "MPI_COMM_NULL") != NULL);
    CHECK(sdfg_mpi_open(SDFG_MPI_C, NULL, &none) == 3 && sdfg_mpi_open(3, &null, &none) == 3);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    handle = MPI_Comm_c2f(half);
    CHECK(sdfg_mpi_open(SDFG_MPI_C, &half, &first) == 0 && sdfg_mpi_open(SDFG_MPI_FORTRAN, &handle, &second) == 0);
    int own_rank, own_ranks, message = rank, other = -1;
    MPI_Comm_rank(half, &own_rank);
    MPI_Comm_size(half, &own_ranks);
    CHECK(sdfg_mpi_rank(first) == own_rank && sdfg_mpi_ranks(second) == own_ranks);
    MPI_Request requests[2];
    MPI_Irecv(&other, 1, MPI_INT, (own_rank + 1) % own_ranks, MPI_ANY_TAG, half, &requests[0]);
    CHECK(gather(first, 0, 5) == 0 && gather(second, 0, 9) == 0);
    MPI_Isend(&message, 1, MPI_INT, (own_rank + own_ranks - 1) % own_ranks, 0, half, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(other >= 0 && other % 2 == rank % 2);
    sdfg_mpi_close(first);
    CHECK(gather(second, 1, 2) == 0);
    sdfg_mpi_close(second);
    MPI_Comm_free(&half);
    MPI_Finalize();
    CHECK(sdfg_mpi_open(SDFG_MPI_WORLD, NULL, &none) == 8 && none == NULL);
}

/* One rank has no memory for a message: all get a status with its message, and go on. */
static void no_memory(void *context)
{
    int64_t rank = sdfg_mpi_rank(context), ranks = sdfg_mpi_ranks(context), each = INT64_C(1) << 26;
    int64_t words[64], n = gather_words(words, ranks, each);
    double dummy[4] = {0};
    struct rlimit limit, old;
    CHECK(gather(context, 0, 100) == 0);
    /* With a step, nothing is contiguous, so everything needs a buffer. */
    words[5] = each / 2;
    words[12 + ranks + 1 + 3] = 2;
    words[n - 2] = 2;
    getrlimit(RLIMIT_AS, &old);
    limit = old;
    /* Some memory is left for MPI. */
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    limit.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + (INT64_C(1) << 27);
    if (rank == ranks - 1)
        setrlimit(RLIMIT_AS, &limit);
    int64_t status = sdfg_mpi_move(context, 1, words, n, dummy, dummy + 1);
    setrlimit(RLIMIT_AS, &old);
    CHECK(status == 2);
    char expected[40];
    snprintf(expected, sizeof expected, "rank %d: no memory", (int)(ranks - 1));
    CHECK(strstr(sdfg_mpi_error(context), expected) == sdfg_mpi_error(context));
    CHECK(gather(context, 0, 100) == 0 && gather(context, 1, 50) == 0);
}

/* Sites whose messages need a buffer begin alone, and then while another one is under way. */
static void overlapping(void *context)
{
    enum { EACH = 8, TURNS = 4 };
    int64_t words[64], ranks = sdfg_mpi_ranks(context), rank = sdfg_mpi_rank(context);
    int64_t n = gather_words(words, ranks, EACH), half = EACH * ranks / 2;
    words[5] = half;
    words[12 + ranks + 1 + 3] = 2;
    words[n - 2] = 2;
    for (int turn = 0; turn < TURNS; turn++) {
        double parts[2][EACH], *wholes[2] = {calloc((size_t)(EACH * ranks), 8), calloc((size_t)(EACH * ranks), 8)};
        for (int site = 0; site < 2; site++) {
            for (int k = 0; k < EACH; k++)
                parts[site][k] = (double)(1000 * turn + 100 * site + rank * EACH + k);
            CHECK(sdfg_mpi_begin(context, site, 0, words, n, parts[site], wholes[site]) == 0);
            if (turn == 0)
                CHECK(sdfg_mpi_finish(context, site) == 0);
        }
        for (int site = 0; site < 2; site++) {
            if (turn > 0)
                CHECK(sdfg_mpi_finish(context, site) == 0);
            for (int64_t k = 0; k < EACH * ranks; k++)
                CHECK(wholes[site][k] == (k % 2 == 0 ? (double)(1000 * turn + 100 * site + k) : 0));
            free(wholes[site]);
        }
    }
}

/* A move is measured: all ranks have the same number, and nothing counts. */
static void measured(void *context)
{
    int64_t words[64], ranks = sdfg_mpi_ranks(context), each = 1 << 17, n = gather_words(words, ranks, each);
    int64_t before[8], after[8], bits;
    double *part = calloc((size_t)each, 8), *whole = calloc((size_t)(each * ranks), 8), seconds = 0, shorter = 0;
    sdfg_mpi_counters(context, before);
    CHECK(sdfg_mpi_measure(context, 0, words, n, part, whole, 9, &seconds) == 0);
    CHECK(seconds > 1e-6 && seconds < 10);
    memcpy(&bits, &seconds, sizeof bits);
    CHECK(sdfg_mpi_same(context, &bits, 1, NULL, NULL) == 0);
    n = gather_words(words, ranks, 1);
    CHECK(sdfg_mpi_measure(context, 0, words, n, part, whole, 101, &shorter) == 0 && shorter > 0);
    CHECK(sdfg_mpi_measure(context, 0, words, n - 1, part, whole, 9, &seconds) == 3);
    CHECK(sdfg_mpi_measure(context, 0, words, n, part, whole, 0, &seconds) == 3);
    CHECK(sdfg_mpi_measure(context, 0, words, n, part, whole, 102, &seconds) == 3);
    sdfg_mpi_counters(context, after);
    CHECK(memcmp(before, after, sizeof after) == 0);
    free(part);
    free(whole);
}

/* Moves of many sites under way, again and again: neither buffers nor requests grow. */
static void repeated(void *context)
{
    int64_t words[64], ranks = sdfg_mpi_ranks(context), n = gather_words(words, ranks, 1000), counters[8], first = 0;
    double *part = calloc(1000, 8), *wholes[3];
    for (int k = 0; k < 3; k++)
        wholes[k] = calloc((size_t)(1000 * ranks), 8);
    for (int turn = 0; turn < 500; turn++) {
        part[turn % 1000] = turn;
        for (int site = 0; site < 3; site++)
            CHECK(sdfg_mpi_begin(context, site, 0, words, n, part, wholes[site]) == 0);
        for (int site = 0; site < 3; site++)
            CHECK(sdfg_mpi_finish(context, (site + turn) % 3) == 0);
        CHECK(wholes[turn % 3][(ranks - 1) * 1000 + turn % 1000] == turn);
        CHECK(sdfg_mpi_agree(context, 0, NULL, 0) == 0);
        sdfg_mpi_counters(context, counters);
        first = turn == 0 ? counters[7] : first;
        CHECK(counters[7] == first);
    }
    CHECK(counters[0] == 500 * 3 * 8000 * (ranks - 1) && counters[1] == counters[0]);
    CHECK(counters[2] == 500 * 3 * (ranks - 1) && counters[3] == counters[2]);
    free(part);
    for (int k = 0; k < 3; k++)
        free(wholes[k]);
}

/* The last rank stops in one of the ways in which ranks are lost; the others wait for it. */
static void lost(void *context, const char *way)
{
    int64_t rank = sdfg_mpi_rank(context), ranks = sdfg_mpi_ranks(context);
    CHECK(gather(context, 0, 10) == 0);
    if (rank == ranks - 1) {
        if (strcmp(way, "killed") == 0)
            kill(getpid(), 9);
        if (strcmp(way, "exited") == 0)
            exit(3);
        if (strcmp(way, "crashed") == 0)
            abort();
        if (strcmp(way, "reported") == 0)
            sdfg_mpi_abort(context, 4, "the residual is no number");
        if (strcmp(way, "stuck") == 0)
            sleep(60);
        if (strcmp(way, "elsewhere") == 0)
            sdfg_mpi_finish(context, 0);
    }
    if (rank == 0)
        sdfg_mpi_agree(context, 0, NULL, 0);
    gather(context, 0, 10);
}

/* Two ranks call a move with different words, as no agreement has prevented: message and buffer differ in size. */
static void different(void *context)
{
    gather(context, 0, sdfg_mpi_rank(context) == 0 ? 5 : 10);
}

int main(int n, char **arguments)
{
    void *context;
    const char *test = n > 1 ? arguments[1] : "";
    if (n == 3 && strcmp(test, "cases") == 0) {
        run_cases(arguments[2]);
        return 0;
    }
    if (n == 4 && strcmp(test, "soak") == 0) {
        soak(arguments[2], atof(arguments[3]));
        return 0;
    }
    if (strcmp(test, "communicators") == 0) {
        communicators();
        return 0;
    }
    if (sdfg_mpi_open(SDFG_MPI_WORLD, NULL, &context) != 0) {
        fprintf(stderr, "%s\n", sdfg_mpi_error(NULL));
        return 1;
    }
    if (strcmp(test, "agreement") == 0)
        agreement(context);
    else if (strcmp(test, "wrong_words") == 0)
        wrong_words(context);
    else if (strcmp(test, "no_memory") == 0)
        no_memory(context);
    else if (strcmp(test, "overlapping") == 0)
        overlapping(context);
    else if (strcmp(test, "measured") == 0)
        measured(context);
    else if (strcmp(test, "repeated") == 0)
        repeated(context);
    else if (strcmp(test, "lost") == 0 && n == 3)
        lost(context, arguments[2]);
    else if (strcmp(test, "different") == 0)
        different(context);
    else
        return 2;
    sdfg_mpi_close(context);
    return 0;
}
