/* Moves: the messages that follow from the words, with persistent requests, and how they travel. Part of sdfg_mpi.c.
 *
 * A move is one stage. A combination is two: values travel to the rank that combines them, results to those that hold copies.
 * If all ranks need all results and there are few values, all values travel to all ranks instead, which takes one step.
 * All decisions follow from the words, so ranks agree on them without messages. */

/* A message between this rank and another one. */
struct transfer {
    int peer;
    int is_direct;      /* contiguous in the array, so sent from it or received into it */
    int64_t bytes;
    int64_t first;      /* bytes from the beginning of the array to the first element */
    int64_t buffer;     /* bytes from the beginning of the buffer, unless it is direct */
    struct walk walk;   /* between array and buffer */
    int first_request, n_requests;
};

struct transfers {
    struct transfer *list;
    int n, room;
};

struct stage {
    struct transfers out, in; /* incoming ones by rank */
    int n_out, n_requests;    /* requests: first the outgoing ones */
    MPI_Request *requests;
    int has_local, is_staged;
    int64_t owner;            /* of the elements that stay here: this rank, or the one whose replica it is */
    int64_t to, from;         /* of these elements, in bytes from the beginnings of the arrays */
    int64_t local_buffer;
    struct walk local, pack, unpack;
    int64_t sent_bytes, received_bytes, local_bytes;
};

/* What the words of a site describe. */
enum kind { MOVE, COMBINATION, BUNDLE };

struct move {
    int64_t site, n, *words;
    enum kind kind;
    int combine;              /* whether it is a combination */
    int64_t n_parts;          /* of a bundle, whose own stage has the messages that the parts share */
    struct move **parts;
    struct shape shape;
    struct stage stages[2];
    int n_stages;
    int64_t buffer_bytes;
    char *own;                /* a buffer that it shares with no other site */
    int has_own;
    const void *source;       /* of the present requests */
    void *target;
    const char *buffer;
    int has_requests, is_under_way;
    int64_t gathered_bytes;   /* of the values of one rank if all ranks receive all values, else 0 */
    int has_fresh;
    struct walk fresh;
    int64_t fresh_first;
};

/* Copies or combines elements that were received or stayed here. */
static void deliver(const struct move *move, int stage, const struct walk *walk, char *to, const char *from)
{
    const struct shape *shape = &move->shape;
    if (stage == 0 && shape->operation != ASSIGN)
        combine_box(walk, shape->operation, shape->type, shape->bytes, to, from);
    else
        copy_box(walk, to, from);
}

static struct transfer *new_transfer(struct transfers *transfers)
{
    if (transfers->n == transfers->room) {
        int room = transfers->room < 4 ? 4 : 2 * transfers->room;
        struct transfer *list = realloc(transfers->list, (size_t)room * sizeof *list);
        if (list == NULL)
            return NULL;
        transfers->list = list;
        transfers->room = room;
    }
    struct transfer *transfer = &transfers->list[transfers->n++];
    memset(transfer, 0, sizeof *transfer);
    return transfer;
}

/* The strides of a box that is packed in the order of the source. */
static void packed_strides(const struct shape *shape, const struct box *box, int64_t *strides)
{
    int64_t stride = shape->bytes;
    for (int64_t at = shape->q; at-- > 0;) {
        int k = shape->order[at];
        strides[k] = stride;
        stride *= box->high[k] - box->low[k];
    }
}

/* Bytes of a message in the buffer, where each begins with a cache line. */
static int64_t reserve(int64_t *buffer, int64_t bytes)
{
    int64_t at = *buffer;
    *buffer += (bytes + 63) / 64 * 64;
    return at;
}

/* Adds the message of a box that this rank sends to another one (`is_sent`), or receives. */
static int add_transfer(const struct context *context, struct move *move, struct stage *stage, const struct side *side,
                        int64_t peer, int is_sent, int may_be_direct, const struct box *box, int64_t *buffer)
{
    const struct shape *shape = &move->shape;
    struct transfers *transfers = is_sent ? &stage->out : &stage->in;
    struct transfer *transfer = new_transfer(transfers);
    if (transfer == NULL)
        return 0;
    int64_t array[MOST], packed[MOST];
    transfer->peer = (int)peer;
    transfer->bytes = shape->bytes * elements_of(shape, box);
    transfer->first = position_in(shape, side, context->rank, box, array);
    packed_strides(shape, box, packed);
    if (is_sent)
        make_walk(&transfer->walk, shape->q, shape->order, box, packed, array, shape->bytes);
    else
        make_walk(&transfer->walk, shape->q, shape->order, box, array, packed, shape->bytes);
    transfer->is_direct = may_be_direct && transfer->walk.n == 0;
    if (!transfer->is_direct)
        transfer->buffer = reserve(buffer, transfer->bytes);
    transfer->n_requests = (int)((transfer->bytes - 1) / context->chunk + 1);
    transfer->first_request = stage->n_requests;
    stage->n_requests += transfer->n_requests;
    *(is_sent ? &stage->sent_bytes : &stage->received_bytes) += transfer->bytes;
    return 1;
}

/* Whether two ranks have the same part of a side. */
static int have_same_part(const struct side *side, int64_t a, int64_t b)
{
    int64_t of_a[MOST], of_b[MOST];
    if (side->everywhere)
        return 1;
    if (!coordinates_of(side, a, of_a) || !coordinates_of(side, b, of_b))
        return 0;
    for (int64_t d = 0; d < side->rank; d++) {
        int64_t cut = side->dimensions[d].cut;
        if (cut >= 0 && of_a[cut] != of_b[cut])
            return 0;
    }
    return 1;
}

/* The owner of what a rank has of a side. */
static int64_t owner_of(const struct side *side, int64_t rank)
{
    int64_t owner = 0;
    while (!have_same_part(side, rank, owner))
        owner++;
    return owner;
}

/* What a rank computes in a combination: a share of the part that it and its replicas have, with all values that are
 * combined. The share is cut along the first dimension that is long enough, else along the longest one. */
static int computed_at(const struct shape *shape, int64_t rank, int64_t ranks, struct box *share)
{
    int64_t number, replicas = replicas_of(&shape->target, rank, ranks, &number), cut = -1;
    if (replicas == 0 || !moved_at(shape, &shape->target, rank, 0, share))
        return 0;
    if (replicas == 1)
        return 1;
    for (int64_t k = 0; k < shape->q; k++) {
        int64_t count = share->high[k] - share->low[k];
        if (!shape->is_followed[k])
            continue;
        if (cut < 0 || count > share->high[cut] - share->low[cut])
            cut = k;
        if (count >= replicas) {
            cut = k;
            break;
        }
    }
    if (cut < 0)
        return number == 0;
    int64_t low = share->low[cut], count = share->high[cut] - low, each = count / replicas, rest = count % replicas;
    share->low[cut] = low + each * number + SMALLER(number, rest);
    share->high[cut] = share->low[cut] + each + (number < rest);
    return share->low[cut] < share->high[cut];
}

/* What a rank needs in a stage: moved elements of the target. */
static int needed_at(const struct shape *shape, int combine, int stage, int64_t rank, int64_t ranks, struct box *box)
{
    if (combine && stage == 0)
        return computed_at(shape, rank, ranks, box);
    int is_there = moved_at(shape, &shape->target, rank, 1, box);
    for (int64_t k = 0; is_there && combine && k < shape->q; k++)
        if (!shape->is_followed[k])
            box->high[k] = 1;
    return is_there;
}

/* What a rank gives in a stage. */
static int given_at(const struct shape *shape, int stage, int64_t rank, int64_t ranks, struct box *box)
{
    return stage == 0 ? owned_at(shape, &shape->source, rank, ranks, box) : computed_at(shape, rank, ranks, box);
}

/* Notes which elements stay on this rank. */
static void add_local(const struct context *context, struct move *move, struct stage *stage, const struct box *box,
                      int is_staged, int64_t *buffer)
{
    const struct shape *shape = &move->shape;
    int64_t to[MOST], from[MOST], packed[MOST];
    stage->has_local = 1;
    stage->is_staged = is_staged;
    stage->owner = owner_of(&shape->source, context->rank);
    stage->from = position_in(shape, &shape->source, context->rank, box, from);
    stage->to = position_in(shape, &shape->target, context->rank, box, to);
    stage->local_bytes = shape->bytes * elements_of(shape, box);
    make_walk(&stage->local, shape->q, shape->order, box, to, from, shape->bytes);
    if (is_staged) {
        packed_strides(shape, box, packed);
        make_walk(&stage->pack, shape->q, shape->order, box, packed, from, shape->bytes);
        make_walk(&stage->unpack, shape->q, shape->order, box, to, packed, shape->bytes);
        stage->local_buffer = reserve(buffer, stage->local_bytes);
    }
}

/* Finds the messages of a stage. Outgoing ones begin with the next rank, so that not all ranks send to the first one first. */
static int make_stage(const struct context *context, struct move *move, int number, int is_refresh)
{
    const struct shape *shape = &move->shape;
    struct stage *stage = &move->stages[number];
    int64_t me = context->rank, ranks = context->ranks, buffer = 0;
    int is_first = number == 0, is_in_place = (shape->flags & SDFG_MPI_IN_PLACE) != 0;
    int are_current = (shape->flags & (SDFG_MPI_SOURCE_REPLICAS_CURRENT | SDFG_MPI_SOURCE_EVERYWHERE)) != 0;
    const struct side *from = is_first ? &shape->source : &shape->target;
    /* In place, a message might come in where another one has not gone out yet. */
    int may_be_direct = !is_in_place || is_refresh;
    int may_come_directly = may_be_direct && (number == 1 || shape->operation == ASSIGN);
    struct box given, needed, both;
    if (given_at(shape, number, me, ranks, &given))
        for (int64_t step = 1; step < ranks; step++) {
            int64_t peer = (me + step) % ranks;
            if (is_first && are_current && have_same_part(from, me, peer))
                continue;
            if (!needed_at(shape, move->combine, number, peer, ranks, &needed))
                continue;
            if (intersection(shape, &given, &needed, &both)
                && !add_transfer(context, move, stage, from, peer, 1, may_be_direct, &both, &buffer))
                return 0;
        }
    stage->n_out = stage->n_requests;
    if (needed_at(shape, move->combine, number, me, ranks, &needed))
        for (int64_t peer = 0; peer < ranks; peer++) {
            if (peer == me || (is_first && are_current && have_same_part(from, me, peer)))
                continue;
            if (given_at(shape, number, peer, ranks, &given) && intersection(shape, &given, &needed, &both)
                && !add_transfer(context, move, stage, &shape->target, peer, 0, may_come_directly, &both, &buffer))
                return 0;
        }
    int is_mine = are_current ? moved_at(shape, &shape->source, me, 0, &given)
                              : owned_at(shape, &shape->source, me, ranks, &given);
    if (is_first && !is_refresh && is_mine && needed_at(shape, move->combine, 0, me, ranks, &needed)
        && intersection(shape, &given, &needed, &both))
        add_local(context, move, stage, &both, is_in_place, &buffer);
    stage->requests = malloc((size_t)(stage->n_requests + 1) * sizeof *stage->requests);
    if (buffer > move->buffer_bytes)
        move->buffer_bytes = buffer;
    return stage->requests != NULL;
}

/* Whether both sides have the same words. */
static int is_refresh(const struct move *move)
{
    const struct side *a = &move->shape.source, *b = &move->shape.target;
    if (!(move->shape.flags & SDFG_MPI_IN_PLACE) || a->rank != b->rank || a->grid_rank != b->grid_rank
        || a->everywhere != b->everywhere || memcmp(a->grid, b->grid, sizeof a->grid) != 0)
        return 0;
    for (int64_t d = 0; d < a->rank; d++) {
        struct dimension one = a->dimensions[d], other = b->dimensions[d];
        if (one.extent != other.extent || one.cut != other.cut || one.parts != other.parts || one.before != other.before
            || one.after != other.after || one.begin != other.begin || one.step != other.step || one.moved != other.moved
            || memcmp(one.starts, other.starts, (size_t)(one.parts + 1) * sizeof *one.starts) != 0)
            return 0;
    }
    return 1;
}

/* Frees the requests, which are inactive. */
static void free_requests(struct move *move)
{
    for (int stage = 0; move->has_requests && stage < move->n_stages; stage++)
        for (int at = 0; at < move->stages[stage].n_requests; at++)
            MPI_Request_free(&move->stages[stage].requests[at]);
    move->has_requests = 0;
}

static void free_move(struct context *context, struct move *move)
{
    if (move == NULL)
        return;
    for (int64_t part = 0; part < move->n_parts; part++)
        free_move(context, move->parts[part]);
    free(move->parts);
    free_requests(move);
    for (int stage = 0; stage < 2; stage++) {
        free(move->stages[stage].out.list);
        free(move->stages[stage].in.list);
        free(move->stages[stage].requests);
    }
    if (move->own != NULL)
        context->counters[BUFFER_BYTES] -= move->buffer_bytes;
    free(move->own);
    free(move->words);
    free(move);
}

/* Bytes that all values of a combination have at most if all ranks receive all of them. */
#define GATHERED_BYTES 4096

/* Bytes of the values of each rank in a combination that all ranks compute; 0 if they do not. */
static int64_t gathered_bytes_of(const struct context *context, const struct shape *shape)
{
    int64_t each = 0;
    if (!(shape->flags & SDFG_MPI_TARGET_EVERYWHERE) || context->ranks == 1)
        return 0;
    for (int64_t rank = 0; rank < context->ranks; rank++) {
        struct box owned;
        if (!owned_at(shape, &shape->source, rank, context->ranks, &owned))
            return 0;
        int64_t bytes = shape->bytes * elements_of(shape, &owned);
        if (bytes > GATHERED_BYTES / context->ranks || (rank > 0 && bytes != each))
            return 0;
        each = bytes;
    }
    return each;
}

/* Finds how the values of each rank lie in the target, and those of this rank in the source. Behind the values of all ranks, the
 * buffer has those of this one. */
static int make_gather(const struct context *context, struct move *move)
{
    const struct shape *shape = &move->shape;
    struct stage *stage = &move->stages[0];
    int64_t array[MOST], packed[MOST];
    struct box owned;
    for (int64_t rank = 0; rank < context->ranks; rank++) {
        struct transfer *transfer = new_transfer(&stage->in);
        if (transfer == NULL)
            return 0;
        owned_at(shape, &shape->source, rank, context->ranks, &owned);
        packed_strides(shape, &owned, packed);
        transfer->peer = (int)rank;
        transfer->buffer = rank * move->gathered_bytes;
        transfer->first = position_in(shape, &shape->target, context->rank, &owned, array);
        make_walk(&transfer->walk, shape->q, shape->order, &owned, array, packed, shape->bytes);
    }
    owned_at(shape, &shape->source, context->rank, context->ranks, &owned);
    packed_strides(shape, &owned, packed);
    stage->has_local = 1;
    stage->from = position_in(shape, &shape->source, context->rank, &owned, array);
    stage->local_buffer = context->ranks * move->gathered_bytes;
    make_walk(&stage->pack, shape->q, shape->order, &owned, packed, array, shape->bytes);
    move->buffer_bytes = (context->ranks + 1) * move->gathered_bytes;
    return 1;
}

/* An empty descriptor with a copy of the words; NULL with a status in `context`. */
static struct move *new_move(struct context *context, int64_t site, enum kind kind, const int64_t *words, int64_t n)
{
    struct move *move = calloc(1, sizeof *move);
    if (move == NULL || n < 0 || (move->words = malloc((size_t)(n + 1) * sizeof *words)) == NULL) {
        fail(context, OUT_OF_MEMORY, "no memory for the descriptor of move %lld", (long long)site);
        free(move);
        return NULL;
    }
    memcpy(move->words, words, (size_t)n * sizeof *words);
    move->site = site;
    move->n = n;
    move->kind = kind;
    move->combine = kind == COMBINATION;
    return move;
}

/* Makes the descriptor of a move or a combination without its buffers; NULL with a status in `context`. */
static struct move *make_move(struct context *context, int64_t site, enum kind kind, const int64_t *words, int64_t n)
{
    struct move *move = new_move(context, site, kind, words, n);
    if (move == NULL)
        return NULL;
    int combine = move->combine;
    if (!read_shape(&move->shape, move->words, n, context->ranks, combine)) {
        fail(context, INVALID_ARGUMENT, "the words of move %lld are wrong", (long long)site);
        free_move(context, move);
        return NULL;
    }
    struct box share;
    const struct shape *shape = &move->shape;
    move->gathered_bytes = combine ? gathered_bytes_of(context, shape) : 0;
    int is_gathered = move->gathered_bytes > 0, is_made = !is_gathered || make_gather(context, move);
    move->n_stages = is_gathered ? 0 : combine ? 2 : 1;
    for (int stage = 0; stage < move->n_stages && is_made; stage++)
        is_made = make_stage(context, move, stage, is_refresh(move));
    if (!is_made) {
        fail(context, OUT_OF_MEMORY, "no memory for the messages of move %lld", (long long)site);
        free_move(context, move);
        return NULL;
    }
    int is_computed = is_gathered ? moved_at(shape, &shape->target, context->rank, 0, &share)
                                  : combine && computed_at(shape, context->rank, context->ranks, &share);
    if (is_computed && (shape->flags & SDFG_MPI_FRESH)) {
        int64_t strides[MOST];
        for (int64_t k = 0; k < shape->q; k++)
            if (!shape->is_followed[k])
                share.low[k] = 0, share.high[k] = 1;
        move->has_fresh = 1;
        move->fresh_first = position_in(shape, &shape->target, context->rank, &share, strides);
        make_walk(&move->fresh, shape->q, shape->order, &share, strides, strides, shape->bytes);
    }
    return move;
}

/* Adds a message to those that the parts of a bundle share: the transfers to or from a rank, one part behind the other. */
static int add_message(const struct context *context, struct move *bundle, int64_t peer, int is_sent, int *next)
{
    struct stage *stage = &bundle->stages[0];
    struct transfer *message = NULL;
    for (int64_t part = 0; part < bundle->n_parts; part++) {
        struct stage *of_part = &bundle->parts[part]->stages[0];
        struct transfers *transfers = is_sent ? &of_part->out : &of_part->in;
        if (next[part] == transfers->n || transfers->list[next[part]].peer != peer)
            continue;
        struct transfer *transfer = &transfers->list[next[part]++];
        if (message == NULL) {
            message = new_transfer(is_sent ? &stage->out : &stage->in);
            if (message == NULL)
                return 0;
            message->peer = (int)peer;
            message->buffer = bundle->buffer_bytes;
        }
        transfer->buffer = message->buffer + message->bytes;
        message->bytes += transfer->bytes;
    }
    if (message == NULL)
        return 1;
    reserve(&bundle->buffer_bytes, message->bytes);
    message->n_requests = (int)((message->bytes - 1) / context->chunk + 1);
    message->first_request = stage->n_requests;
    stage->n_requests += message->n_requests;
    *(is_sent ? &stage->sent_bytes : &stage->received_bytes) += message->bytes;
    return 1;
}

/* Merges the messages of the parts of a bundle. */
static int merge_messages(const struct context *context, struct move *bundle)
{
    struct stage *stage = &bundle->stages[0];
    int *next = calloc((size_t)(2 * bundle->n_parts + 1), sizeof *next), is_made = next != NULL;
    for (int64_t step = 1; step < context->ranks && is_made; step++)
        is_made = add_message(context, bundle, (context->rank + step) % context->ranks, 1, next);
    stage->n_out = stage->n_requests;
    for (int64_t peer = 0; peer < context->ranks && is_made; peer++)
        is_made = add_message(context, bundle, peer, 0, next + bundle->n_parts);
    free(next);
    for (int64_t part = 0; part < bundle->n_parts; part++) {
        struct stage *of_part = &bundle->parts[part]->stages[0];
        if (of_part->is_staged)
            of_part->local_buffer = reserve(&bundle->buffer_bytes, of_part->local_bytes);
    }
    stage->requests = malloc((size_t)(stage->n_requests + 1) * sizeof *stage->requests);
    return is_made && stage->requests != NULL;
}

/* Makes the descriptor of several moves: their number, then the number of words of each with the words. */
static struct move *make_bundle(struct context *context, int64_t site, const int64_t *words, int64_t n)
{
    struct move *bundle = new_move(context, site, BUNDLE, words, n);
    if (bundle == NULL)
        return NULL;
    struct reader reader = {bundle->words, n, 0};
    int64_t n_parts = next_word(&reader, 0, n);
    bundle->n_stages = 1;
    bundle->parts = calloc((size_t)(n_parts + 1), sizeof *bundle->parts);
    int is_made = bundle->parts != NULL;
    if (!is_made)
        fail(context, OUT_OF_MEMORY, "no memory for the descriptor of move %lld", (long long)site);
    for (int64_t part = 0; part < n_parts && is_made && !reader.is_wrong; part++) {
        int64_t length = next_word(&reader, 0, reader.left - 1);
        if (reader.is_wrong)
            break;
        bundle->parts[part] = make_move(context, site, MOVE, reader.words, length);
        is_made = bundle->parts[part] != NULL;
        bundle->n_parts += is_made;
        reader.is_wrong |= is_made && bundle->parts[part]->shape.operation != ASSIGN;
        reader.words += length;
        reader.left -= length;
    }
    if (is_made && (reader.is_wrong || reader.left != 0)) {
        fail(context, INVALID_ARGUMENT, "the words of move %lld are wrong", (long long)site);
        is_made = 0;
    } else if (is_made && !merge_messages(context, bundle)) {
        fail(context, OUT_OF_MEMORY, "no memory for the messages of move %lld", (long long)site);
        is_made = 0;
    }
    if (is_made)
        return bundle;
    free_move(context, bundle);
    return NULL;
}

/* Makes the persistent requests of a move for these arrays and the buffer. Messages of more bytes than MPI counts are several
 * ones. Two ranks have at most one message of a stage in each direction, so site and stage make its tag. */
static int make_requests(struct context *context, struct move *move, const void *source, void *target, char *buffer)
{
    if (move->has_requests && move->source == source && move->target == target && move->buffer == buffer)
        return MPI_SUCCESS;
    free_requests(move);
    for (int number = 0; number < move->n_stages; number++) {
        struct stage *stage = &move->stages[number];
        int tag = (int)((2 * move->site + number) % context->tags);
        for (int way = 0; way < 2; way++) {
            struct transfers *transfers = way == 0 ? &stage->out : &stage->in;
            for (int at = 0; at < transfers->n; at++) {
                struct transfer *transfer = &transfers->list[at];
                const char *array = way == 1 || number == 1 ? target : source;
                const char *place = transfer->is_direct ? array + transfer->first : buffer + transfer->buffer;
                for (int part = 0; part < transfer->n_requests; part++) {
                    int64_t begin = part * context->chunk, count = SMALLER(transfer->bytes - begin, context->chunk);
                    MPI_Request *request = &stage->requests[transfer->first_request + part];
                    void *data = (void *)(uintptr_t)(place + begin);
                    int error = way == 0 ? MPI_Send_init(data, (int)count, MPI_BYTE, transfer->peer, tag,
                                                         context->communicator, request)
                                         : MPI_Recv_init(data, (int)count, MPI_BYTE, transfer->peer, tag,
                                                         context->communicator, request);
                    if (error != MPI_SUCCESS)
                        return error;
                }
            }
        }
    }
    move->has_requests = 1;
    move->source = source;
    move->target = target;
    move->buffer = buffer;
    return MPI_SUCCESS;
}

/* Lets incoming messages come, and sends the outgoing ones. */
static int start_stage(struct move *move, int number, const char *array, char *buffer)
{
    struct stage *stage = &move->stages[number];
    int error = MPI_SUCCESS;
    if (stage->n_requests > stage->n_out)
        error = MPI_Startall(stage->n_requests - stage->n_out, stage->requests + stage->n_out);
    for (int at = 0; at < stage->out.n && error == MPI_SUCCESS; at++) {
        const struct transfer *transfer = &stage->out.list[at];
        if (!transfer->is_direct)
            copy_box(&transfer->walk, buffer + transfer->buffer, array + transfer->first);
        error = MPI_Startall(transfer->n_requests, stage->requests + transfer->first_request);
    }
    return error;
}

/* Packs everything that the parts of a bundle send, and sends it. */
static int start_bundle(struct move *bundle, const void *const *sources, char *buffer)
{
    struct stage *stage = &bundle->stages[0];
    int error = MPI_SUCCESS;
    if (stage->n_requests > stage->n_out)
        error = MPI_Startall(stage->n_requests - stage->n_out, stage->requests + stage->n_out);
    for (int64_t part = 0; part < bundle->n_parts; part++) {
        const struct stage *of_part = &bundle->parts[part]->stages[0];
        const char *source = sources[part];
        for (int at = 0; at < of_part->out.n; at++) {
            const struct transfer *transfer = &of_part->out.list[at];
            copy_box(&transfer->walk, buffer + transfer->buffer, source + transfer->first);
        }
        if (of_part->has_local && of_part->is_staged)
            copy_box(&of_part->pack, buffer + of_part->local_buffer, source + of_part->from);
    }
    if (error == MPI_SUCCESS && stage->n_out > 0)
        error = MPI_Startall(stage->n_out, stage->requests);
    return error;
}

/* Handles the elements that stay here. */
static void deliver_local(const struct move *move, int number, char *target, const char *source, const char *buffer)
{
    const struct stage *stage = &move->stages[number];
    if (stage->has_local && stage->is_staged)
        deliver(move, number, &stage->unpack, target + stage->to, buffer + stage->local_buffer);
    else if (stage->has_local)
        deliver(move, number, &stage->local, target + stage->to, source + stage->from);
}

/* Waits for a message. One of another length was sent by a rank that had other words, which ends all ranks. */
static int receive(struct context *context, const struct move *move, const struct transfer *transfer, MPI_Request *requests)
{
    for (int part = 0; part < transfer->n_requests; part++) {
        int64_t expected = SMALLER(transfer->bytes - part * context->chunk, context->chunk);
        int count = 0, error;
        MPI_Status status;
        if ((error = wait_for(context, &requests[transfer->first_request + part], &status, move->site)) != MPI_SUCCESS)
            return error;
        MPI_Get_count(&status, MPI_BYTE, &count);
        if (count != expected) {
            fail(context, INVALID_ARGUMENT, "move %lld: rank %d sent %d bytes, not %lld: its words differ", (long long)move->site,
                 transfer->peer, count, (long long)expected);
            end_all(context);
        }
    }
    return MPI_SUCCESS;
}

/* Waits for the messages of a stage, and takes the values out of the buffers. Combinations take them by rank. */
static int finish_stage(struct context *context, struct move *move, int number, char *buffer)
{
    struct stage *stage = &move->stages[number];
    char *target = move->target;
    int is_ordered = number == 0 && move->combine, is_local_due = is_ordered, error = MPI_SUCCESS;
    for (int at = 0; at < stage->in.n && error == MPI_SUCCESS; at++) {
        const struct transfer *transfer = &stage->in.list[at];
        if (is_local_due && transfer->peer > stage->owner) {
            deliver_local(move, number, target, move->source, buffer);
            is_local_due = 0;
        }
        error = receive(context, move, transfer, stage->requests);
        if (error == MPI_SUCCESS && !transfer->is_direct)
            deliver(move, number, &transfer->walk, target + transfer->first, buffer + transfer->buffer);
    }
    if (is_local_due)
        deliver_local(move, number, target, move->source, buffer);
    for (int at = 0; at < stage->n_out && error == MPI_SUCCESS; at++)
        error = wait_for(context, &stage->requests[at], MPI_STATUS_IGNORE, move->site);
    return error;
}

/* Waits for the messages of a bundle, and takes the values of all parts out of the buffer. */
static int finish_bundle(struct context *context, struct move *bundle, const char *buffer)
{
    struct stage *stage = &bundle->stages[0];
    int error = MPI_SUCCESS;
    for (int at = 0; at < stage->in.n && error == MPI_SUCCESS; at++)
        error = receive(context, bundle, &stage->in.list[at], stage->requests);
    for (int64_t part = 0; part < bundle->n_parts && error == MPI_SUCCESS; part++) {
        const struct move *move = bundle->parts[part];
        const struct transfers *in = &move->stages[0].in;
        for (int at = 0; at < in->n; at++) {
            const struct transfer *transfer = &in->list[at];
            copy_box(&transfer->walk, (char *)move->target + transfer->first, buffer + transfer->buffer);
        }
    }
    for (int at = 0; at < stage->n_out && error == MPI_SUCCESS; at++)
        error = wait_for(context, &stage->requests[at], MPI_STATUS_IGNORE, bundle->site);
    return error;
}

/* Exchanges the values of all ranks, and combines them. */
static int finish_gather(struct context *context, const struct move *move, char *buffer)
{
    const struct shape *shape = &move->shape;
    const struct stage *stage = &move->stages[0];
    int each = (int)move->gathered_bytes, error;
    MPI_Request request;
    if (context->deadline <= 0) {
        error = MPI_Allgather(buffer + stage->local_buffer, each, MPI_BYTE, buffer, each, MPI_BYTE, context->communicator);
    } else {
        error = MPI_Iallgather(buffer + stage->local_buffer, each, MPI_BYTE, buffer, each, MPI_BYTE, context->communicator,
                               &request);
        if (error == MPI_SUCCESS)
            error = wait_for(context, &request, MPI_STATUS_IGNORE, move->site);
    }
    for (int at = 0; at < stage->in.n && error == MPI_SUCCESS; at++) {
        const struct transfer *transfer = &stage->in.list[at];
        combine_box(&transfer->walk, shape->operation, shape->type, shape->bytes, (char *)move->target + transfer->first,
                    buffer + transfer->buffer);
    }
    return error;
}

static void count_move(struct context *context, const struct move *move)
{
    int64_t *counters = context->counters;
    const struct stage *stage = &move->stages[0];
    if (move->combine) {
        struct box given;
        if (owned_at(&move->shape, &move->shape.source, context->rank, context->ranks, &given))
            counters[PAYLOAD_BYTES] += move->shape.bytes * elements_of(&move->shape, &given);
        counters[COLLECTIVES]++;
        counters[COMBINED_BYTES] += stage[0].sent_bytes + stage[1].sent_bytes + (context->ranks - 1) * move->gathered_bytes;
        return;
    }
    counters[SENT_BYTES] += stage->sent_bytes;
    counters[RECEIVED_BYTES] += stage->received_bytes;
    counters[SENT_MESSAGES] += stage->n_out;
    counters[RECEIVED_MESSAGES] += stage->n_requests - stage->n_out;
}
