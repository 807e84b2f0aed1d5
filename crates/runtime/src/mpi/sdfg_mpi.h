/* The interface of communication: functions of C that generated code calls, whatever MPI the machine has.
 *
 * `sdfg_mpi.c` implements it with functions of MPI-2 and MPI-3 alone, and is compiled once per machine by its `mpicc` to a
 * shared library. Arguments are 64-bit integers and pointers, so no caller depends on the ABI of an MPI.
 *
 * STATUSES
 *
 * Functions return 0 or one of these, which are those of compiled programs; `sdfg_mpi_error` has the message:
 *
 *   2  memory could not be allocated
 *   3  an argument is wrong, or differs between ranks
 *   8  MPI reported an error
 *
 * `open`, `agree`, `same`, `move`, `begin` and `combine` return the same status on every rank, so ranks that check it take
 * the same branch. A failure that only one rank sees while others wait for it ends all ranks, as `sdfg_mpi_abort` does.
 *
 * CONTEXTS
 *
 * A context is a duplicate of the caller's communicator, with descriptors and buffers. Its functions are collective unless
 * they say otherwise: every rank calls them in the same order, with the same arguments except for addresses. One thread at a
 * time calls them, the one that initialised MPI.
 *
 * WORDS OF A MOVE
 *
 * A move copies a subset of one container to a subset of another one. The elements of both subsets are paired by *moved
 * dimensions*. Its words are:
 *
 *   bytes          of an element, a multiple of the bytes of its type
 *   operation      0 assign, 1 sum, 2 product, 3 min, 4 max, 5 and, 6 or, 7 xor, 8 bitand, 9 bitor, 10 bitxor
 *   type           0 bool, 1 i8, 2 i16, 3 i32, 4 i64, 5 u8, 6 u16, 7 u32, 8 u64, 9 f16, 10 f32, 11 f64, 12 complex64,
 *                  13 complex128; operations work on it, lane by lane. Assignments ignore it.
 *   flags          the sum of SDFG_MPI_... below
 *   q              number of moved dimensions
 *   extent         of each of them
 *   source side    see below
 *   target side    see below
 *
 * A side is a container with its distribution, and the subset that is moved:
 *
 *   n              rank of the container
 *   g              rank of the grid of processes
 *   extent         of each dimension of the grid. Process p is rank p; processes are numbered in row-major order. A grid of
 *                  rank 0 has one process. There may be more ranks than processes, not fewer.
 *   then for each dimension of the container:
 *     extent
 *     cut          the dimension of the grid that cuts it, or -1; each cuts at most one
 *     parts        number of parts: the extent of that dimension of the grid, or 1
 *     start        of each part, and behind the last one the extent: parts + 1 words from 0 that do not decrease
 *     before       elements of halo in front of a part
 *     after        elements of halo behind a part
 *   then for each dimension of the container:
 *     begin        the element that is paired with element 0 of the moved dimension
 *     step         the distance to the next one, not 0
 *     moved        the moved dimension that it follows; -1 if `begin` is the only element
 *
 * Each moved dimension is followed by one dimension of the source and one of the target; in a combination, by at most one
 * of the target. Elements lie inside the containers.
 *
 * A process *has* the part at its coordinates. It *holds* the part with its halos: in each dimension
 * [max(0, start - before), min(extent, end + after)), or nothing in all of them if the part is empty in one. Its local array
 * is exactly this box, packed in row-major order. Ranks that are no process hold nothing, and may pass NULL. A side with the
 * flag *everywhere* has grid rank 0, and every rank has all of it.
 *
 * The *owner* of an element is the process that has it and has coordinate 0 in every dimension of the grid that cuts nothing
 * (of an *everywhere* side: rank 0). Other processes that have it are replicas.
 *
 * A move sets every element that a rank holds in the subset of the target, replicas and halos included, to the value at the
 * owner of the source's element, or combines it: `target = operation(target, value)`. A rank takes its own value if it is the
 * owner; also if it is a replica and the replicas of the source are current. Otherwise it receives the value from the owner.
 * Every two ranks exchange at most one message, which has exactly the elements that one needs of the other, once.
 *
 * Source and target lie in disjoint memory, or are the same array, which the flag *in place* says. In the second case all
 * values are read before any is written. A move in place with the same words on both sides refreshes replicas and halos.
 *
 * COMBINATIONS
 *
 * `sdfg_mpi_combine` takes the same words with an operation. Moved dimensions that no dimension of the target follows are
 * combined: an array with a leading dimension of c partial results, cut into c parts of 1, becomes their sum. It serves as
 * all-reduce, reduce-scatter or reduce, by the distribution of the target. Values are combined in the order of the ranks
 * that own them (and of the moved dimensions within a rank), beginning with the target's value, or with the neutral element
 * under SDFG_MPI_FRESH. Each element is computed by one rank and sent to the others, or by all ranks in the same way, so copies
 * have equal bits, in every run.
 */
#ifndef SDFG_MPI_H
#define SDFG_MPI_H

#include <stdint.h>

#if defined(__GNUC__)
#define SDFG_MPI_EXPORT __attribute__((visibility("default")))
#else
#define SDFG_MPI_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface, which changes with every change of it. */
#define SDFG_MPI_ABI 1

/* Flags of a move. */
#define SDFG_MPI_SOURCE_REPLICAS_CURRENT 1 /* every replica of the source holds the owner's values */
#define SDFG_MPI_SOURCE_EVERYWHERE 2       /* every rank has all of the source, with current values */
#define SDFG_MPI_TARGET_EVERYWHERE 4       /* every rank has all of the target */
#define SDFG_MPI_FRESH 8                   /* a combination does not include the target's old value */
#define SDFG_MPI_IN_PLACE 16               /* source and target are the same array */

/* Kinds of communicators. */
#define SDFG_MPI_WORLD 0   /* MPI_COMM_WORLD; `communicator` is ignored */
#define SDFG_MPI_C 1       /* `communicator` points to an MPI_Comm */
#define SDFG_MPI_FORTRAN 2 /* `communicator` points to an int64_t with a handle of Fortran (mpi4py: `comm.py2f()`) */

/* SDFG_MPI_ABI of the library. Not collective. */
SDFG_MPI_EXPORT int64_t sdfg_mpi_abi(void);

/* Makes a context of a duplicate of the communicator. The kind SDFG_MPI_WORLD initialises MPI if nobody has, and then
 * finalises it when the process ends. A process that ends with a status other than 0 ends all ranks after 2 s.
 * Waits end all ranks after as many seconds as the variable SDFG_MPI_DEADLINE says, if it is set. */
SDFG_MPI_EXPORT int64_t sdfg_mpi_open(int64_t kind, const void *communicator, void **context);

/* Frees the context with its descriptors, buffers and communicator. NULL is permitted. */
SDFG_MPI_EXPORT void sdfg_mpi_close(void *context);

/* The rank of this process in the context, and the number of ranks. Not collective. */
SDFG_MPI_EXPORT int64_t sdfg_mpi_rank(const void *context);
SDFG_MPI_EXPORT int64_t sdfg_mpi_ranks(const void *context);

/* The message of the last status that was not 0; of NULL, that of the last `sdfg_mpi_open`. Not collective. */
SDFG_MPI_EXPORT const char *sdfg_mpi_error(const void *context);

/* The largest of the ranks' statuses (0 or above). If it is not 0, `message` (which may be NULL) receives on every rank
 * `rank R: ` with the message of the lowest rank that has a status other than 0. */
SDFG_MPI_EXPORT int64_t sdfg_mpi_agree(void *context, int64_t status, char *message, int64_t capacity);

/* 0 if all ranks have equal words. Otherwise a status, and the first rank that differs from rank 0 with the index of the
 * first word in which it does; -1 as index if it has another number of words. Both pointers may be NULL. */
SDFG_MPI_EXPORT int64_t sdfg_mpi_same(void *context, const int64_t *words, int64_t n, int64_t *which_rank,
                                      int64_t *which_word);

/* A move. `site` is a number of the caller's (0 to 2^20 - 1), by which the context keeps descriptor, requests and buffers.
 * They are made by the first call, and anew when the words differ from those of the call before. */
SDFG_MPI_EXPORT int64_t sdfg_mpi_move(void *context, int64_t site, const int64_t *words, int64_t n, const void *source,
                                      void *target);

/* A combination. */
SDFG_MPI_EXPORT int64_t sdfg_mpi_combine(void *context, int64_t site, const int64_t *words, int64_t n,
                                         const void *source, void *target);

/* The halves of a move or (`combine` is 1) a combination. In between, the caller changes neither what is sent nor what is
 * received, and reads nothing that is received. Several sites may be under way at once. */
SDFG_MPI_EXPORT int64_t sdfg_mpi_begin(void *context, int64_t site, int64_t combine, const int64_t *words, int64_t n,
                                       const void *source, void *target);
SDFG_MPI_EXPORT int64_t sdfg_mpi_finish(void *context, int64_t site);

/* The first half of several moves whose values travel together: every two ranks exchange at most one message for all of them, which
 * has the values of each move behind those of the one before. `words` has the number of moves, then for each the number of its
 * words, and the words; all operations are assignments. `sources` and `targets` have an array for each move. No array that one
 * of them writes is read by another one. `sdfg_mpi_finish` is the second half. */
SDFG_MPI_EXPORT int64_t sdfg_mpi_begin_all(void *context, int64_t site, const int64_t *words, int64_t n,
                                           const void *const *sources, void *const *targets);

/* Sets `bytes` bytes on every rank to those of rank `root`. */
SDFG_MPI_EXPORT int64_t sdfg_mpi_broadcast(void *context, int64_t root, void *data, int64_t bytes);

/* Seconds of a move, or of a combination: the median over so many repetitions of the time of the slowest rank, after one that is not
 * counted. It counts nothing else, and leaves no descriptor. All ranks receive the same number. */
SDFG_MPI_EXPORT int64_t sdfg_mpi_measure(void *context, int64_t combine, const int64_t *words, int64_t n, const void *source,
                                         void *target, int64_t repetitions, double *seconds);

/* Sums since the context was opened. Not collective. `agree` and `same` do not count.
 *   0, 1  bytes sent and received by moves, point to point      2, 3  messages sent and received by moves
 *   4     payload of collectives: for a combination the bytes of the values that this rank owns and contributes, for a
 *         broadcast its bytes                                   5     combinations and broadcasts
 *   6     bytes that combinations sent, point to point          7     bytes of buffers that the context has now */
SDFG_MPI_EXPORT void sdfg_mpi_counters(const void *context, int64_t counters[8]);

/* Prints `sdfg: rank R: MESSAGE` and ends all ranks with the status. Any rank may call it; it does not return. */
SDFG_MPI_EXPORT void sdfg_mpi_abort(void *context, int64_t status, const char *message);

#ifdef __cplusplus
}
#endif

#endif
