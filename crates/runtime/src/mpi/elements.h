/* Elements: their types, the operations that combine them, and copies of boxes between arrays. Part of sdfg_mpi.c.
 *
 * The arithmetic is that of conflict resolutions: integers wrap, minima and maxima of NaN are NaN, and -0 is below 0. */

enum { ASSIGN, SUM, PRODUCT, MINIMUM, MAXIMUM, AND, OR, XOR, BIT_AND, BIT_OR, BIT_XOR, OPERATIONS };
enum { BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, C64, C128, TYPES };

static int64_t type_bytes(int64_t type)
{
    static const int8_t bytes[TYPES] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};
    return bytes[type];
}

/* Whether an operation works on a type. */
static int is_defined(int64_t operation, int64_t type)
{
    switch (operation) {
    case SUM:
    case PRODUCT:
        return type != BOOL;
    case BIT_AND:
    case BIT_OR:
    case BIT_XOR:
        return type < F16;
    default:
        return type != C64 && type != C128;
    }
}

static float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = (half >> 10) & 31, fraction = half & 0x3ff, bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | fraction << 13;
    } else if (exponent != 0) {
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else {
        float value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The nearest half, ties to even. */
static uint16_t half_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x3ff));
    if (bits >= 0x477ff000)
        return sign | 0x7c00;
    if (bits < 0x38800000) {
        /* The sum rounds to a multiple of the least half, as additions do. */
        float magic = 0.5f, small;
        memcpy(&small, &bits, sizeof small);
        small += magic;
        memcpy(&bits, &small, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign | ((bits >> 13) - (112 << 10)));
}

struct complex64 {
    float re, im;
};
struct complex128 {
    double re, im;
};

#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define LARGER(a, b) ((a) < (b) ? (b) : (a))
#define LEAST_FLOAT(a, b) ((a) < (b) ? (a) : (b) < (a) ? (b) : (a) == (b) ? (signbit(a) ? (a) : (b)) : (a) + (b))
#define GREATEST_FLOAT(a, b) ((a) < (b) ? (b) : (b) < (a) ? (a) : (a) == (b) ? (signbit(a) ? (b) : (a)) : (a) + (b))

/* `to[i] = expression(to[i], from[i])`, in a form that is vectorised if both are contiguous. */
#define EACH(T, expression)                                                                                                \
    if (to_stride == (int64_t)sizeof(T) && from_stride == (int64_t)sizeof(T)) {                                            \
        T *to_array = (T *)to;                                                                                             \
        const T *from_array = (const T *)from;                                                                             \
        for (int64_t i = 0; i < count; i++) {                                                                              \
            const T a = to_array[i], b = from_array[i];                                                                    \
            to_array[i] = (expression);                                                                                    \
        }                                                                                                                  \
    } else {                                                                                                               \
        for (int64_t i = 0; i < count; i++) {                                                                              \
            T *place = (T *)(to + i * to_stride);                                                                          \
            const T a = *place, b = *(const T *)(from + i * from_stride);                                                  \
            *place = (expression);                                                                                         \
        }                                                                                                                  \
    }                                                                                                                      \
    break

#define PARAMETERS \
    int64_t operation, char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count

#define COMBINE_INTEGERS(name, T)                                                                                          \
    static void name(PARAMETERS)                                                                                           \
    {                                                                                                                      \
        switch (operation) {                                                                                               \
        case SUM: EACH(T, (T)((uint64_t)a + (uint64_t)b));                                                                 \
        case PRODUCT: EACH(T, (T)((uint64_t)a * (uint64_t)b));                                                             \
        case MINIMUM: EACH(T, SMALLER(a, b));                                                                              \
        case MAXIMUM: EACH(T, LARGER(a, b));                                                                               \
        case AND: EACH(T, (T)(a != 0 && b != 0));                                                                          \
        case OR: EACH(T, (T)(a != 0 || b != 0));                                                                           \
        case XOR: EACH(T, (T)((a != 0) != (b != 0)));                                                                      \
        case BIT_AND: EACH(T, (T)(a & b));                                                                                 \
        case BIT_OR: EACH(T, (T)(a | b));                                                                                  \
        case BIT_XOR: EACH(T, (T)(a ^ b));                                                                                 \
        default: break;                                                                                                    \
        }                                                                                                                  \
    }

#define COMBINE_FLOATS(name, T)                                                                                            \
    static void name(PARAMETERS)                                                                                           \
    {                                                                                                                      \
        switch (operation) {                                                                                               \
        case SUM: EACH(T, a + b);                                                                                          \
        case PRODUCT: EACH(T, a * b);                                                                                      \
        case MINIMUM: EACH(T, LEAST_FLOAT(a, b));                                                                          \
        case MAXIMUM: EACH(T, GREATEST_FLOAT(a, b));                                                                       \
        case AND: EACH(T, (T)(a != 0 && b != 0));                                                                          \
        case OR: EACH(T, (T)(a != 0 || b != 0));                                                                           \
        case XOR: EACH(T, (T)((a != 0) != (b != 0)));                                                                      \
        default: break;                                                                                                    \
        }                                                                                                                  \
    }

#define COMBINE_COMPLEX(name, T)                                                                                           \
    static void name(PARAMETERS)                                                                                           \
    {                                                                                                                      \
        switch (operation) {                                                                                               \
        case SUM: EACH(T, ((T){a.re + b.re, a.im + b.im}));                                                                \
        case PRODUCT: EACH(T, ((T){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}));                                \
        default: break;                                                                                                    \
        }                                                                                                                  \
    }

COMBINE_INTEGERS(combine_i8, int8_t)
COMBINE_INTEGERS(combine_i16, int16_t)
COMBINE_INTEGERS(combine_i32, int32_t)
COMBINE_INTEGERS(combine_i64, int64_t)
COMBINE_INTEGERS(combine_u8, uint8_t)
COMBINE_INTEGERS(combine_u16, uint16_t)
COMBINE_INTEGERS(combine_u32, uint32_t)
COMBINE_INTEGERS(combine_u64, uint64_t)
COMBINE_FLOATS(combine_f32, float)
COMBINE_FLOATS(combine_f64, double)
COMBINE_COMPLEX(combine_c64, struct complex64)
COMBINE_COMPLEX(combine_c128, struct complex128)

static void combine_f16(PARAMETERS)
{
    for (int64_t i = 0; i < count; i++) {
        uint16_t *place = (uint16_t *)(to + i * to_stride);
        float a = float_of_half(*place), b = float_of_half(*(const uint16_t *)(from + i * from_stride));
        combine_f32(operation, (char *)&a, sizeof a, (const char *)&b, sizeof b, 1);
        *place = half_of_float(a);
    }
}

/* Combines `count` values with as many others. */
static void combine_run(int64_t type, PARAMETERS)
{
    typedef void combination(PARAMETERS);
    /* Truth values are bytes that are 0 or 1. */
    static combination *const table[TYPES] = {
        combine_u8,  combine_i8,  combine_i16, combine_i32, combine_i64, combine_u8,  combine_u16,
        combine_u32, combine_u64, combine_f16, combine_f32, combine_f64, combine_c64, combine_c128,
    };
    table[type](operation, to, to_stride, from, from_stride, count);
}

/* Writes the value that an operation combines with any other one to give that one. */
static void write_neutral(int64_t operation, int64_t type, char *to)
{
    int64_t bytes = type_bytes(type);
    int is_signed = type >= I8 && type <= I64, is_largest = operation == MINIMUM;
    memset(to, 0, (size_t)bytes);
    if (operation == PRODUCT || operation == AND) {
        static const float one = 1;
        static const double one_in_double = 1;
        if (type == F16)
            memcpy(to, &(uint16_t){0x3c00}, 2);
        else if (type == F32 || type == C64)
            memcpy(to, &one, sizeof one);
        else if (type == F64 || type == C128)
            memcpy(to, &one_in_double, sizeof one_in_double);
        else
            memcpy(to, &(uint64_t){1}, (size_t)bytes); /* little-endian: the low bytes come first */
    } else if (operation == BIT_AND) {
        memset(to, type == BOOL ? 1 : 255, (size_t)bytes);
    } else if (operation == MINIMUM || operation == MAXIMUM) {
        if (type == F16)
            memcpy(to, &(uint16_t){is_largest ? 0x7c00 : 0xfc00}, 2);
        else if (type == F32)
            memcpy(to, &(float){is_largest ? INFINITY : -INFINITY}, 4);
        else if (type == F64)
            memcpy(to, &(double){is_largest ? (double)INFINITY : -(double)INFINITY}, 8);
        else if (type == BOOL)
            memset(to, is_largest, 1);
        else if (is_signed) {
            memset(to, is_largest ? 255 : 0, (size_t)bytes);
            to[bytes - 1] = is_largest ? 127 : -128;
        } else
            memset(to, is_largest ? 255 : 0, (size_t)bytes);
    }
}

/* Dimensions of containers, grids and moves. */
#define MOST 16

/* An interval [low, high) in each dimension. */
struct box {
    int64_t low[MOST], high[MOST];
};

/* The loops of a copy: counts, and bytes from one iteration to the next one at both ends, outermost first. */
struct walk {
    int n;
    int64_t counts[MOST], to[MOST], from[MOST];
    int64_t run; /* contiguous bytes that the innermost loop copies at once */
};

/* The loops over a box. Neighbours that are one dimension in memory become one loop. */
static void make_walk(struct walk *walk, int64_t n, const int *order, const struct box *box, const int64_t *to,
                      const int64_t *from, int64_t bytes)
{
    walk->n = 0;
    walk->run = bytes;
    for (int64_t at = 0; at < n; at++) {
        int k = order[at], last = walk->n - 1;
        int64_t count = box->high[k] - box->low[k];
        if (count == 1)
            continue;
        if (last >= 0 && walk->to[last] == count * to[k] && walk->from[last] == count * from[k])
            walk->counts[last] *= count;
        else
            walk->counts[++last] = count;
        walk->to[last] = to[k];
        walk->from[last] = from[k];
        walk->n = last + 1;
    }
    if (walk->n > 0 && walk->to[walk->n - 1] == bytes && walk->from[walk->n - 1] == bytes)
        walk->run = bytes * walk->counts[--walk->n];
}

#define COPY_EACH(size)                                                 \
    for (int64_t i = 0; i < count; i++)                                 \
        memcpy(to + i * to_stride, from + i * from_stride, size);       \
    break

/* Strides from which on each element lies in another page or nearly so, where the processor does not look for the next one by
 * itself, and the number of elements ahead that are then asked for. */
enum { FAR = 2048, AHEAD = 16 };

/* Copies `count` elements that lie far from each other at one end. */
static void copy_far_run(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count, int64_t bytes)
{
    for (int64_t i = 0; i < count; i++) {
#if defined(__GNUC__)
        int64_t next = SMALLER(i + AHEAD, count - 1);
        __builtin_prefetch(from + next * from_stride, 0);
        __builtin_prefetch(to + next * to_stride, 1);
#endif
        if (bytes == 8)
            memcpy(to + i * to_stride, from + i * from_stride, 8);
        else
            memcpy(to + i * to_stride, from + i * from_stride, (size_t)bytes);
    }
}

/* Copies `count` elements. */
static void copy_run(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count, int64_t bytes)
{
    if (llabs(to_stride) >= FAR || llabs(from_stride) >= FAR) {
        copy_far_run(to, to_stride, from, from_stride, count, bytes);
        return;
    }
    switch (bytes) {
    case 1: COPY_EACH(1);
    case 2: COPY_EACH(2);
    case 4: COPY_EACH(4);
    case 8: COPY_EACH(8);
    case 16: COPY_EACH(16);
    default: COPY_EACH((size_t)bytes);
    }
}

/* Steps through the loops outside of the innermost `inner` ones. `at` begins with zeros; 0 behind the last iteration. */
static int next_iteration(const struct walk *walk, int inner, int64_t *at, char **to, const char **from)
{
    for (int k = walk->n - inner; k-- > 0;) {
        *to += walk->to[k];
        *from += walk->from[k];
        if (++at[k] < walk->counts[k])
            return 1;
        *to -= walk->to[k] * walk->counts[k];
        *from -= walk->from[k] * walk->counts[k];
        at[k] = 0;
    }
    return 0;
}

/* A copy whose innermost two loops run in tiles: one of them is contiguous at one end, the other one at the other end. */
static void copy_transposed(const struct walk *walk, char *to, const char *from)
{
    enum { TILE = 16 };
    int64_t at[MOST] = {0};
    int outer = walk->n - 2, inner = walk->n - 1;
    do {
        for (int64_t i = 0; i < walk->counts[outer]; i += TILE)
            for (int64_t j = 0; j < walk->counts[inner]; j += TILE) {
                int64_t rows = SMALLER(walk->counts[outer] - i, TILE), columns = SMALLER(walk->counts[inner] - j, TILE);
                for (int64_t row = i; row < i + rows; row++)
                    copy_run(to + row * walk->to[outer] + j * walk->to[inner], walk->to[inner],
                             from + row * walk->from[outer] + j * walk->from[inner], walk->from[inner], columns, walk->run);
            }
    } while (next_iteration(walk, 2, at, &to, &from));
}

/* Copies a box. The order of its elements does not matter. */
static void copy_box(const struct walk *given, char *to, const char *from)
{
    struct walk walk = *given;
    int64_t at[MOST] = {0};
    int last = walk.n - 1, is_run = walk.run >= 64 || last < 0;
    for (int k = 0; k < last && !is_run; k++)
        if (llabs(walk.to[k]) < llabs(walk.to[last]) || llabs(walk.from[k]) < llabs(walk.from[last])) {
            int64_t swap[3] = {walk.counts[k], walk.to[k], walk.from[k]};
            walk.counts[k] = walk.counts[last - 1], walk.to[k] = walk.to[last - 1], walk.from[k] = walk.from[last - 1];
            walk.counts[last - 1] = swap[0], walk.to[last - 1] = swap[1], walk.from[last - 1] = swap[2];
            copy_transposed(&walk, to, from);
            return;
        }
    do {
        if (last < 0)
            memcpy(to, from, (size_t)walk.run);
        else
            copy_run(to, walk.to[last], from, walk.from[last], walk.counts[last], walk.run);
    } while (next_iteration(&walk, 1, at, &to, &from));
}

/* Combines a box with another one, in row-major order of the loops. */
static void combine_box(const struct walk *walk, int64_t operation, int64_t type, int64_t bytes, char *to, const char *from)
{
    int64_t at[MOST] = {0}, size = type_bytes(type);
    int is_strided = walk->run == size && bytes == size && walk->n > 0, last = walk->n - 1;
    do {
        if (is_strided)
            combine_run(type, operation, to, walk->to[last], from, walk->from[last], walk->counts[last]);
        else
            combine_run(type, operation, to, size, from, size, walk->run / size);
    } while (next_iteration(walk, is_strided, at, &to, &from));
}

/* Sets a box to the neutral element of an operation; both ends of the walk are that box. */
static void neutral_box(const struct walk *walk, int64_t operation, int64_t type, char *to)
{
    char value[16];
    int64_t at[MOST] = {0}, size = type_bytes(type);
    const char *from = to;
    write_neutral(operation, type, value);
    do {
        memcpy(to, value, (size_t)size);
        for (int64_t done = size; done < walk->run; done *= 2)
            memcpy(to + done, to, (size_t)SMALLER(done, walk->run - done));
    } while (next_iteration(walk, 0, at, &to, &from));
}
