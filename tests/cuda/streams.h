/* Streams of the stand-ins for CUDA: queues of commands that run when something waits for them, or earlier.
 *
 * Commands of one stream run in order. Those of different streams run in an order that only events determine. Runs have different ones,
 * in turns: nothing runs before something waits for it; streams with an odd number, or with an even one, run their commands at once;
 * a seeded order decides. A missing event, or a missing wait of the host, therefore changes results. Callers hold a lock. Only what
 * generated code uses is here. */
#ifndef SDFG_CUDA_STREAMS
#define SDFG_CUDA_STREAMS

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct StandInStream;

/* One record of an event. */
struct StandInRecord {
    StandInStream *stream;
    bool is_done;
    timespec time;
};

/* An event, with its last record. */
struct StandInEvent {
    StandInRecord *last;
};

/* A command. What it does is that of a derived type. */
struct StandInCommand {
    StandInCommand *next;
    virtual bool is_ready() const { return true; }
    /* What it waits for, or NULL. */
    virtual StandInRecord *awaited() const { return NULL; }
    virtual void run() = 0;
    virtual ~StandInCommand() {}
};

template <typename Work> struct StandInWork : StandInCommand {
    Work work;
    explicit StandInWork(const Work &its_work) : work(its_work) {}
    void run() override { work(); }
};
struct StandInWait : StandInCommand {
    StandInRecord *record;
    explicit StandInWait(StandInRecord *awaited_record) : record(awaited_record) {}
    bool is_ready() const override { return record->is_done; }
    StandInRecord *awaited() const override { return record; }
    void run() override {}
};
struct StandInRecording : StandInCommand {
    StandInRecord *record;
    explicit StandInRecording(StandInRecord *its_record) : record(its_record) {}
    void run() override {
        record->is_done = true;
        clock_gettime(CLOCK_MONOTONIC, &record->time);
    }
};

struct StandInStream {
    StandInCommand *first, *last;
    unsigned number;
    StandInStream *next;
};

/* All streams, and the order of their commands. */
struct StandInStreams {
    enum Policy { Late, OddAtOnce, Seeded, EvenAtOnce };
    StandInStream *all;
    uint64_t random;
    unsigned runs;

    Policy policy() const { return (Policy)(runs % 4); }
    /* A number below `end`. */
    uint64_t draw(uint64_t end) {
        random = random * 6364136223846793005u + 1442695040888963407u + runs;
        return (random >> 33) % end;
    }
    /* Behind a wait for the default stream: if no command is left, the next ones have another order. */
    void next_run() {
        for (const StandInStream *at = all; at != NULL; at = at->next) {
            if (at->first != NULL) {
                return;
            }
        }
        ++runs;
        random = runs;
    }

    StandInStream *open(bool is_default) {
        StandInStream *const stream = (StandInStream *)calloc(1, sizeof *stream);
        for (const StandInStream *at = all; at != NULL && !is_default; at = at->next) {
            stream->number = at->number >= stream->number ? at->number + 1 : stream->number;
        }
        stream->number += !is_default && stream->number == 0;
        stream->next = all;
        return all = stream;
    }
    /* The caller has waited for all commands. */
    void close(StandInStream *stream) {
        if (stream->first != NULL) {
            fprintf(stderr, "commands are left in stream %u, which is closed\n", stream->number);
            abort();
        }
        StandInStream **at = &all;
        while (*at != stream) {
            at = &(*at)->next;
        }
        *at = stream->next;
        free(stream);
    }
    bool has(const StandInStream *stream) const {
        const StandInStream *at = all;
        while (at != NULL && at != stream) {
            at = at->next;
        }
        return at != NULL;
    }

    void add(StandInStream *stream, StandInCommand *command) {
        command->next = NULL;
        (stream->first == NULL ? stream->first : stream->last->next) = command;
        stream->last = command;
        switch (policy()) {
        case Late: break;
        case OddAtOnce:
        case EvenAtOnce:
            if ((stream->number % 2 == 1) == (policy() == OddAtOnce)) {
                finish(stream);
            }
            break;
        case Seeded:
            while (draw(2) == 0 && step_any()) {
            }
            break;
        }
    }
    template <typename Work> void add_work(StandInStream *stream, const Work &work) { add(stream, new StandInWork<Work>(work)); }
    void record(StandInStream *stream, StandInEvent *event) {
        event->last = (StandInRecord *)calloc(1, sizeof *event->last);
        event->last->stream = stream;
        add(stream, new StandInRecording(event->last));
    }
    /* False if the event was never recorded. */
    bool wait(StandInStream *stream, const StandInEvent *event) {
        if (event->last == NULL) {
            return false;
        }
        add(stream, new StandInWait(event->last));
        return true;
    }

    /* Runs the next command of a stream, and before what it waits for. */
    void step(StandInStream *stream) {
        StandInCommand *const command = stream->first;
        if (!command->is_ready()) {
            finish(command->awaited());
        }
        stream->first = command->next;
        command->run();
        delete command;
    }
    /* Runs a command of any stream that need not wait; false if none is left. */
    bool step_any() {
        uint64_t ready = 0;
        for (const StandInStream *at = all; at != NULL; at = at->next) {
            ready += at->first != NULL && at->first->is_ready();
        }
        uint64_t chosen = ready > 0 ? draw(ready) : 0;
        for (StandInStream *at = all; at != NULL; at = at->next) {
            if (at->first != NULL && at->first->is_ready() && chosen-- == 0) {
                step(at);
                return true;
            }
        }
        return false;
    }
    void finish(StandInRecord *record) {
        while (!record->is_done) {
            if (policy() != Seeded || !step_any()) {
                step(record->stream);
            }
        }
    }
    void finish(StandInStream *stream) {
        while (stream->first != NULL) {
            if (policy() != Seeded || !step_any()) {
                step(stream);
            }
        }
    }
    void finish_all() {
        for (StandInStream *at = all; at != NULL; at = at->next) {
            finish(at);
        }
    }
};

#endif
