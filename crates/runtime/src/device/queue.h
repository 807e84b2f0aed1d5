/* Device queues: streams in memory of a device, to which kernels push.
 *
 * The queues of a stream lie in one piece of memory of the device. It begins with words of 64 bits: the number of elements that each
 * queue may have, the elements of memory between the beginnings of queues, the bytes before the first element, and a counter for each
 * queue. A push in a kernel takes the next number of its counter, and writes the element if its number is below the first word. The
 * host makes room and sets the words before a kernel, and reads the counters behind it. It takes elements out between kernels.
 *
 * The file around defines sdfg_queue_device, sdfg_queue_status, and sdfg_queue_allocate, sdfg_queue_free and sdfg_queue_copy. The text
 * is C11 and C++17. */

/* Words before the counters. */
enum { SDFG_QUEUE_LIMIT, SDFG_QUEUE_ROOM, SDFG_QUEUE_OFFSET, SDFG_QUEUE_COUNTERS };

/* The bytes that the host reads ahead where single elements are taken. */
enum { SDFG_QUEUE_AHEAD = 65536 };

typedef struct sdfg_device_fifo {
    /* Positions of elements in memory of the queue. */
    int64_t head, length;
    /* Elements from a position on that the host has read ahead. */
    char *ahead;
    int64_t first, count;
} sdfg_device_fifo;

typedef struct sdfg_queues {
    int64_t queues, bound, bytes;
    /* Elements of memory of each queue. */
    int64_t room;
    /* Memory of the device, or NULL. */
    int64_t *memory;
    /* The words of the host, and their bytes with those up to the first element. */
    int64_t *words;
    int64_t offset;
    sdfg_device_fifo queue[];
} sdfg_queues;

/* An array of empty queues for elements of a size in bytes; a bound below zero is none. NULL without memory. */
SDFG_QUEUE_FUNCTION sdfg_queues *sdfg_queues_open(int64_t queues, int64_t bound, int64_t bytes) {
    queues = queues < 0 ? 0 : queues;
    if (queues > INT64_MAX / 1024) {
        return NULL;
    }
    sdfg_queues *const stream = (sdfg_queues *)calloc(1, sizeof(sdfg_queues) + (size_t)queues * sizeof(sdfg_device_fifo));
    if (stream == NULL) {
        return NULL;
    }
    stream->queues = queues;
    stream->bound = bound;
    stream->bytes = bytes;
    stream->offset = ((SDFG_QUEUE_COUNTERS + queues) * 8 + 63) / 64 * 64;
    stream->words = (int64_t *)calloc(1, (size_t)stream->offset);
    if (stream->words == NULL) {
        free(stream);
        return NULL;
    }
    return stream;
}

/* Frees queues and their elements; NULL is nothing. */
SDFG_QUEUE_FUNCTION void sdfg_queues_close(sdfg_queue_device *device, sdfg_queues *stream) {
    (void)device;
    if (stream == NULL) {
        return;
    }
    if (stream->memory != NULL) {
        (void)sdfg_queue_free(device, stream->memory);
    }
    for (int64_t q = 0; q < stream->queues; ++q) {
        free(stream->queue[q].ahead);
    }
    free(stream->words);
    free(stream);
}

SDFG_QUEUE_FUNCTION char *sdfg_queue_element(const sdfg_queues *stream, int64_t queue, int64_t position) {
    return (char *)stream->memory + stream->offset + (queue * stream->room + position) * stream->bytes;
}

/* The bytes of memory for queues of so many elements; more than any device has if the number does not fit. */
SDFG_QUEUE_FUNCTION size_t sdfg_queues_bytes(const sdfg_queues *stream, int64_t room) {
    int64_t bytes;
    if (__builtin_mul_overflow(room, stream->queues, &bytes) || __builtin_mul_overflow(bytes, stream->bytes, &bytes) || __builtin_add_overflow(bytes, stream->offset, &bytes)) {
        return (size_t)-1;
    }
    return (size_t)bytes;
}

/* Moves the elements of all queues to memory for `room` elements each, in which they begin at position 0. */
SDFG_QUEUE_FUNCTION sdfg_queue_status sdfg_queues_move(sdfg_queue_device *device, sdfg_queues *stream, int64_t room) {
    sdfg_queues before = *stream;
    void *memory = NULL;
    (void)device;
    sdfg_queue_status status = sdfg_queue_allocate(device, &memory, sdfg_queues_bytes(stream, room));
    if (status != 0) {
        return status;
    }
    stream->memory = (int64_t *)memory;
    stream->room = room;
    for (int64_t q = 0; q < stream->queues; ++q) {
        sdfg_device_fifo *const queue = &stream->queue[q];
        const int64_t bytes = queue->length * stream->bytes;
        if (bytes > 0 && status == 0) {
            status = sdfg_queue_copy(device, sdfg_queue_element(stream, q, 0), bytes, sdfg_queue_element(&before, q, queue->head), bytes, bytes, 1);
        }
        queue->head = queue->count = 0;
    }
    if (before.memory != NULL) {
        (void)sdfg_queue_free(device, before.memory);
    }
    return status;
}

/* The largest number of elements in a queue. */
SDFG_QUEUE_FUNCTION int64_t sdfg_queues_longest(const sdfg_queues *stream) {
    int64_t longest = 0;
    for (int64_t q = 0; q < stream->queues; ++q) {
        longest = stream->queue[q].length > longest ? stream->queue[q].length : longest;
    }
    return longest;
}

/* Room for `most` more elements in each queue, up to the bound; below zero, up to the bound. */
SDFG_QUEUE_FUNCTION int64_t sdfg_queues_limit(const sdfg_queues *stream, int64_t most) {
    const int64_t longest = sdfg_queues_longest(stream);
    int64_t limit;
    if (most < 0 || __builtin_add_overflow(longest, most, &limit)) {
        limit = INT64_MAX;
    }
    return stream->bound >= 0 && limit > stream->bound ? (stream->bound > longest ? stream->bound : longest) : limit;
}

/* Room that serves the next requests, too. */
SDFG_QUEUE_FUNCTION int64_t sdfg_queues_room(const sdfg_queues *stream, int64_t limit) {
    const int64_t more = stream->room + stream->room / 2;
    return limit <= stream->room ? stream->room : stream->room > 0 && more > limit ? more : limit;
}

/* Prepares queues for a kernel that pushes `most` elements to each at most; below zero, as many as the bound permits. */
SDFG_QUEUE_FUNCTION sdfg_queue_status sdfg_queues_prepare(sdfg_queue_device *device, sdfg_queues *stream, int64_t most) {
    const int64_t limit = sdfg_queues_limit(stream, most);
    sdfg_queue_status status = (sdfg_queue_status)0;
    /* Counters of kernels begin at position 0. */
    bool moves = stream->memory == NULL || limit > stream->room;
    for (int64_t q = 0; q < stream->queues; ++q) {
        moves |= stream->queue[q].head > 0;
    }
    if (moves) {
        status = sdfg_queues_move(device, stream, sdfg_queues_room(stream, limit));
    }
    stream->words[SDFG_QUEUE_LIMIT] = limit;
    stream->words[SDFG_QUEUE_ROOM] = stream->room;
    stream->words[SDFG_QUEUE_OFFSET] = stream->offset;
    for (int64_t q = 0; q < stream->queues; ++q) {
        stream->words[SDFG_QUEUE_COUNTERS + q] = stream->queue[q].length;
    }
    return status != 0 ? status : sdfg_queue_copy(device, stream->memory, stream->offset, stream->words, stream->offset, stream->offset, 1);
}

/* Takes the lengths of queues behind a kernel. `is_over` says whether it pushed more than there was room for. */
SDFG_QUEUE_FUNCTION sdfg_queue_status sdfg_queues_settle(sdfg_queue_device *device, sdfg_queues *stream, bool *is_over) {
    const int64_t limit = stream->words[SDFG_QUEUE_LIMIT], bytes = (SDFG_QUEUE_COUNTERS + stream->queues) * 8;
    (void)device;
    const sdfg_queue_status status = sdfg_queue_copy(device, stream->words, bytes, stream->memory, bytes, bytes, 1);
    *is_over = false;
    for (int64_t q = 0; q < stream->queues && status == 0; ++q) {
        const int64_t count = stream->words[SDFG_QUEUE_COUNTERS + q];
        *is_over |= count > limit;
        stream->queue[q].length = count > limit ? limit : count;
    }
    return status;
}

/* Adds `count` elements, `stride` bytes apart in any memory, to a queue. `is_full` says whether its bound does not permit it. */
SDFG_QUEUE_FUNCTION sdfg_queue_status sdfg_queues_push(sdfg_queue_device *device, sdfg_queues *stream, int64_t number, const void *from, int64_t count, int64_t stride, bool *is_full) {
    sdfg_device_fifo *const queue = &stream->queue[number];
    sdfg_queue_status status = (sdfg_queue_status)0;
    *is_full = count > 0 && stream->bound >= 0 && count > stream->bound - queue->length;
    if (count <= 0 || *is_full) {
        return status;
    }
    if (count > stream->room - queue->head - queue->length) {
        status = sdfg_queues_move(device, stream, sdfg_queues_room(stream, sdfg_queues_limit(stream, count)));
    }
    if (status == 0) {
        status = sdfg_queue_copy(device, sdfg_queue_element(stream, number, queue->head + queue->length), stream->bytes, from, stride, stream->bytes, count);
    }
    queue->length += status == 0 ? count : 0;
    return status;
}

/* Copies one element of a queue to the host, and those behind it ahead. */
SDFG_QUEUE_FUNCTION sdfg_queue_status sdfg_queues_read(sdfg_queue_device *device, sdfg_queues *stream, int64_t number, void *to) {
    sdfg_device_fifo *const queue = &stream->queue[number];
    const int64_t bytes = stream->bytes, most = bytes < SDFG_QUEUE_AHEAD ? SDFG_QUEUE_AHEAD / bytes : 1;
    sdfg_queue_status status = (sdfg_queue_status)0;
    (void)device;
    if (queue->ahead == NULL) {
        queue->ahead = (char *)malloc((size_t)(most * bytes));
    }
    if (queue->ahead == NULL) {
        return sdfg_queue_copy(device, to, bytes, sdfg_queue_element(stream, number, queue->head), bytes, bytes, 1);
    }
    if (queue->head < queue->first || queue->head >= queue->first + queue->count) {
        queue->first = queue->head;
        queue->count = queue->length < most ? queue->length : most;
        status = sdfg_queue_copy(device, queue->ahead, queue->count * bytes, sdfg_queue_element(stream, number, queue->head), queue->count * bytes, queue->count * bytes, 1);
    }
    memcpy(to, queue->ahead + (queue->head - queue->first) * bytes, (size_t)bytes);
    return status;
}

/* Takes the elements of a queue, up to `most`, to places `stride` bytes apart in memory of the host or of the device. */
SDFG_QUEUE_FUNCTION sdfg_queue_status sdfg_queues_take(sdfg_queue_device *device, sdfg_queues *stream, int64_t number, void *to, int64_t most, int64_t stride, bool is_of_host, int64_t *taken) {
    sdfg_device_fifo *const queue = &stream->queue[number];
    const int64_t count = most < 0 ? 0 : most < queue->length ? most : queue->length;
    sdfg_queue_status status = (sdfg_queue_status)0;
    *taken = count;
    if (count == 1 && is_of_host) {
        status = sdfg_queues_read(device, stream, number, to);
    } else if (count > 0) {
        status = sdfg_queue_copy(device, to, stride, sdfg_queue_element(stream, number, queue->head), stream->bytes, stream->bytes, count);
    }
    queue->head += count;
    queue->length -= count;
    if (queue->length == 0) {
        queue->head = queue->count = 0;
    }
    return status;
}
