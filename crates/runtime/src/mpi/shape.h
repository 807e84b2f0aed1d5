/* Distributions and moves as words, and the boxes of elements that follow from them. Part of sdfg_mpi.c.
 *
 * Everything is a product of intervals: parts, boxes with halos, and therefore what one rank needs of another one. Boxes of
 * moved dimensions are the common coordinates of source and target. */

struct dimension {
    int64_t extent, cut, parts;
    const int64_t *starts; /* among the words */
    int64_t before, after, begin, step, moved;
};

struct side {
    int64_t rank, grid_rank, grid[MOST], processes;
    int everywhere;
    struct dimension dimensions[MOST];
};

struct shape {
    int64_t bytes, operation, type, flags, q, extents[MOST];
    struct side source, target;
    int is_followed[MOST]; /* whether the target follows the moved dimension; otherwise it is combined */
    int order[MOST];       /* the moved dimensions in the order of the source, in which messages are packed */
};

/* Words that are read from the front. */
struct reader {
    const int64_t *words;
    int64_t left;
    int is_wrong;
};

static int64_t next_word(struct reader *reader, int64_t low, int64_t high)
{
    if (reader->left <= 0) {
        reader->is_wrong = 1;
        return low;
    }
    int64_t word = *reader->words++;
    reader->left--;
    if (word < low || word > high) {
        reader->is_wrong = 1;
        return low;
    }
    return word;
}

/* Reads the cuts of one dimension. */
static void read_dimension(struct reader *reader, struct side *side, int64_t at, int *is_cutting)
{
    struct dimension *dimension = &side->dimensions[at];
    dimension->extent = next_word(reader, 0, INT64_MAX);
    dimension->cut = next_word(reader, -1, side->grid_rank - 1);
    int64_t parts = dimension->cut < 0 ? 1 : side->grid[dimension->cut];
    dimension->parts = next_word(reader, parts, parts);
    if (dimension->cut >= 0) {
        reader->is_wrong |= is_cutting[dimension->cut];
        is_cutting[dimension->cut] = 1;
    }
    dimension->starts = reader->words;
    int64_t last = 0;
    for (int64_t part = 0; part <= parts && !reader->is_wrong; part++) {
        int64_t high = part == 0 ? 0 : dimension->extent;
        last = next_word(reader, part == parts ? dimension->extent : last, high);
    }
    dimension->before = next_word(reader, 0, INT64_MAX);
    dimension->after = next_word(reader, 0, INT64_MAX);
}

/* Reads which elements of a dimension are moved; notes which moved dimension is followed. */
static void read_subset(struct reader *reader, const struct shape *shape, struct dimension *dimension, int *is_followed)
{
    int is_empty = 0;
    for (int64_t k = 0; k < shape->q; k++)
        is_empty |= shape->extents[k] == 0;
    dimension->begin = next_word(reader, INT64_MIN, INT64_MAX);
    dimension->step = next_word(reader, INT64_MIN, INT64_MAX);
    dimension->moved = next_word(reader, -1, shape->q - 1);
    int64_t last = dimension->begin, way;
    if (dimension->moved >= 0) {
        reader->is_wrong |= is_followed[dimension->moved] || dimension->step == 0 || dimension->step == INT64_MIN;
        is_followed[dimension->moved] = 1;
        reader->is_wrong |= !is_empty && (__builtin_mul_overflow(dimension->step, shape->extents[dimension->moved] - 1, &way)
                                          || __builtin_add_overflow(dimension->begin, way, &last));
    }
    int is_inside = dimension->begin >= 0 && dimension->begin < dimension->extent && last >= 0 && last < dimension->extent;
    reader->is_wrong |= !is_empty && !is_inside;
}

static void read_side(struct reader *reader, const struct shape *shape, struct side *side, int64_t ranks, int everywhere,
                      int *is_followed)
{
    int is_cutting[MOST] = {0};
    side->everywhere = everywhere;
    side->rank = next_word(reader, 0, MOST);
    side->grid_rank = next_word(reader, 0, everywhere ? 0 : MOST);
    side->processes = 1;
    for (int64_t k = 0; k < side->grid_rank; k++) {
        side->grid[k] = next_word(reader, 1, ranks);
        side->processes *= side->grid[k];
        if (side->processes > ranks) {
            reader->is_wrong = 1;
            side->processes = 1;
        }
    }
    for (int64_t at = 0; at < side->rank && !reader->is_wrong; at++)
        read_dimension(reader, side, at, is_cutting);
    for (int64_t at = 0; at < side->rank && !reader->is_wrong; at++)
        read_subset(reader, shape, &side->dimensions[at], is_followed);
}

/* Reads the words of a move, which outlive the shape. Whether they are right. */
static int read_shape(struct shape *shape, const int64_t *words, int64_t n, int64_t ranks, int combine)
{
    struct reader reader = {words, n, 0};
    int is_in_source[MOST] = {0};
    memset(shape, 0, sizeof *shape);
    shape->bytes = next_word(&reader, 1, INT32_MAX);
    shape->operation = next_word(&reader, combine ? 1 : 0, OPERATIONS - 1);
    shape->type = next_word(&reader, 0, TYPES - 1);
    shape->flags = next_word(&reader, 0, 31);
    shape->q = next_word(&reader, 0, MOST);
    for (int64_t k = 0; k < shape->q; k++)
        shape->extents[k] = next_word(&reader, 0, INT64_MAX);
    int everywhere = (shape->flags & SDFG_MPI_SOURCE_EVERYWHERE) != 0;
    read_side(&reader, shape, &shape->source, ranks, everywhere, is_in_source);
    everywhere = (shape->flags & SDFG_MPI_TARGET_EVERYWHERE) != 0;
    read_side(&reader, shape, &shape->target, ranks, everywhere, shape->is_followed);
    if (reader.is_wrong || reader.left != 0)
        return 0;
    if (shape->operation != 0 && (!is_defined(shape->operation, shape->type) || shape->bytes % type_bytes(shape->type) != 0))
        return 0;
    int at = 0;
    for (int64_t d = 0; d < shape->source.rank; d++)
        if (shape->source.dimensions[d].moved >= 0)
            shape->order[at++] = (int)shape->source.dimensions[d].moved;
    for (int64_t k = 0; k < shape->q; k++)
        if (!is_in_source[k] || !(shape->is_followed[k] || combine))
            return 0;
    return 1;
}

/* The coordinates of a rank in the grid; whether it is a process of it. */
static int coordinates_of(const struct side *side, int64_t rank, int64_t *coordinates)
{
    if (!side->everywhere && rank >= side->processes)
        return 0;
    for (int64_t k = side->grid_rank; k-- > 0;) {
        coordinates[k] = rank % side->grid[k];
        rank /= side->grid[k];
    }
    return 1;
}

/* The number of ranks that have the same part as this one, and its number among them, counted in the dimensions of the grid
 * that cut nothing. The owner has number 0. */
static int64_t replicas_of(const struct side *side, int64_t rank, int64_t ranks, int64_t *number)
{
    int64_t coordinates[MOST], n = 1;
    *number = 0;
    if (side->everywhere) {
        *number = rank;
        return ranks;
    }
    if (!coordinates_of(side, rank, coordinates))
        return 0;
    for (int64_t k = 0; k < side->grid_rank; k++) {
        int is_cutting = 0;
        for (int64_t d = 0; d < side->rank; d++)
            is_cutting |= side->dimensions[d].cut == k;
        if (!is_cutting) {
            n *= side->grid[k];
            *number = *number * side->grid[k] + coordinates[k];
        }
    }
    return n;
}

/* The part of a rank in its container, with halos or without; whether it has elements. */
static int part_of(const struct side *side, int64_t rank, int with_halos, struct box *part)
{
    int64_t coordinates[MOST];
    if (!coordinates_of(side, rank, coordinates))
        return 0;
    for (int64_t d = 0; d < side->rank; d++) {
        const struct dimension *dimension = &side->dimensions[d];
        int64_t at = dimension->cut < 0 ? 0 : coordinates[dimension->cut];
        int64_t low = dimension->starts[at], high = dimension->starts[at + 1];
        if (low == high)
            return 0;
        if (with_halos) {
            low = low > dimension->before ? low - dimension->before : 0;
            high = dimension->extent - high > dimension->after ? high + dimension->after : dimension->extent;
        }
        part->low[d] = low;
        part->high[d] = high;
    }
    return 1;
}

/* The quotient of a positive divisor, rounded down. */
static int64_t floor_division(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The moved elements that lie in a box of a side: a box of moved dimensions; whether there are any. Dimensions that the
 * side does not follow are whole. */
static int moved_in(const struct shape *shape, const struct side *side, const struct box *part, struct box *moved)
{
    for (int64_t k = 0; k < shape->q; k++) {
        moved->low[k] = 0;
        moved->high[k] = shape->extents[k];
        if (shape->extents[k] == 0)
            return 0;
    }
    for (int64_t d = 0; d < side->rank; d++) {
        const struct dimension *dimension = &side->dimensions[d];
        int64_t begin = dimension->begin, step = dimension->step, k = dimension->moved;
        if (k < 0) {
            if (begin < part->low[d] || begin >= part->high[d])
                return 0;
            continue;
        }
        /* The least m with low <= begin + step * m, and the first one behind it with begin + step * m >= high. */
        int64_t low, high;
        if (step > 0) {
            low = -floor_division(begin - part->low[d], step);
            high = -floor_division(begin - part->high[d], step);
        } else {
            low = floor_division(begin - part->high[d], -step) + 1;
            high = floor_division(begin - part->low[d], -step) + 1;
        }
        if (low > moved->low[k])
            moved->low[k] = low;
        if (high < moved->high[k])
            moved->high[k] = high;
        if (moved->low[k] >= moved->high[k])
            return 0;
    }
    return 1;
}

/* The intersection of two boxes; whether it has elements. */
static int intersection(const struct shape *shape, const struct box *a, const struct box *b, struct box *both)
{
    for (int64_t k = 0; k < shape->q; k++) {
        both->low[k] = a->low[k] > b->low[k] ? a->low[k] : b->low[k];
        both->high[k] = a->high[k] < b->high[k] ? a->high[k] : b->high[k];
        if (both->low[k] >= both->high[k])
            return 0;
    }
    return 1;
}

static int64_t elements_of(const struct shape *shape, const struct box *box)
{
    int64_t n = 1;
    for (int64_t k = 0; k < shape->q; k++)
        n *= box->high[k] - box->low[k];
    return n;
}

/* What a rank has of a side (`with_halos`: holds), as moved elements. */
static int moved_at(const struct shape *shape, const struct side *side, int64_t rank, int with_halos, struct box *moved)
{
    struct box part;
    return part_of(side, rank, with_halos, &part) && moved_in(shape, side, &part, moved);
}

/* What a rank owns of a side, as moved elements. */
static int owned_at(const struct shape *shape, const struct side *side, int64_t rank, int64_t ranks, struct box *moved)
{
    int64_t number;
    return replicas_of(side, rank, ranks, &number) > 0 && number == 0 && moved_at(shape, side, rank, 0, moved);
}

/* Position of a box of moved dimensions in the local array of a rank: bytes from its beginning to the first element, and from
 * one element to the next one in each moved dimension (0 where the side does not follow it). */
static int64_t position_in(const struct shape *shape, const struct side *side, int64_t rank, const struct box *box,
                           int64_t *strides)
{
    struct box held = {{0}, {0}};
    int64_t first = 0, stride = shape->bytes;
    part_of(side, rank, 1, &held);
    for (int64_t k = 0; k < shape->q; k++)
        strides[k] = 0;
    for (int64_t d = side->rank; d-- > 0;) {
        const struct dimension *dimension = &side->dimensions[d];
        int64_t index = dimension->begin;
        if (dimension->moved >= 0) {
            index += dimension->step * box->low[dimension->moved];
            strides[dimension->moved] = dimension->step * stride;
        }
        first += (index - held.low[d]) * stride;
        stride *= held.high[d] - held.low[d];
    }
    return first;
}
