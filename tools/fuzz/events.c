/* A fuzzer of the parser of events, for libFuzzer, or with a mutator of its own (-DALONE) where that is not there.

The plan of keys, tables and columns is the one that `python -m tools.fuzz` writes from fields.py. Each input is put where
it ends with its memory, so that AddressSanitizer sees a byte too far; what comes out is held against what must hold of
any input. */

#include <stdio.h>
#include <stdlib.h>

#include "native.h"
#include "plan.h"

#define ROWS 24

static struct parser parser;
static int64_t cells[ROWS * N_COLUMNS];

static void must(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void begin(void)
{
    strings_end(&parser.strings[0]);
    strings_end(&parser.strings[1]);
    memset(&parser, 0, sizeof parser);
    parser.key_text = (const uint8_t *)KEY_TEXT;
    parser.n_key_text = sizeof KEY_TEXT - 1;
    parser.keys = (const struct key *)KEYS;
    parser.n_keys = sizeof KEYS / sizeof(struct key);
    parser.tables = (const struct table *)TABLES;
    parser.n_tables = sizeof TABLES / sizeof(struct table);
    parser.columns = (const struct column *)COLUMNS;
    parser.n_columns = N_COLUMNS;
    parser.cells = cells;
    parser.n_cells = ROWS * N_COLUMNS;
    parser.allocations = ALLOCATIONS, parser.counters = COUNTERS, parser.unplaced = UNPLACED;
    must(parser_ready(&parser), "the plan fits together");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned turn;
    if (turn++ % 4096 == 0)
        begin();
    uint8_t *text = malloc(size + !size);
    memcpy(text, data, size);
    size_t at = 0, before;
    enum why why;
    do {
        before = at;
        why = parse(&parser, text, size, &at);
        must(at >= before && at <= size, "the parser goes on, and not past the end");
        must(why != FULL || at > before, "a full buffer was filled by something");
        must(why != TEXT_OVER || at == size, "where the text is over, all was read");
        for (size_t k = 0; k < parser.n_refused; k++) {
            const int64_t *note = parser.refused + k * (2 + parser.n_tables);
            must(note[0] >= 0 && note[0] < note[1] && note[1] <= (int64_t)size, "what is refused lies in the text");
            must(value_end(text + note[0], text + note[1]) == text + note[1], "what is refused is JSON");
        }
        for (size_t t = 0; t < parser.n_tables; t++)
            must(parser.n_rows[t] >= 0 && parser.n_rows[t] <= ROWS, "rows fit their room");
    } while (why == FULL);
    must(why != NO_MEMORY, "there is memory");
    free(text);
    return 0;
}

#ifdef ALONE
static uint64_t state = 0x9E3779B97F4A7C15u;

static size_t chance(size_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return n ? (size_t)(state >> 11) % n : 0;
}

/* Changes pieces of the seeds given: bytes, words of JSON, parts of other seeds put in, taken out or doubled. */
int main(int argc, char **argv)
{
    static const char *words[] = {"\"", "\\", "{", "}", "[", "]", ",", ":", "-", ".", "0", "9", "e5", "null", "true", "\\u",
                                  "\\ud800", "\xc3\xa9", "\xed\xa0\x80", "\xff", "\0", "\"ts\":", "\"ph\":\"X\"",
                                  "\"args\":{", "\"pid\":\"a7\"", "999999999999999999", "\"cat\":\"kernel\"", "\"name\":"};
    size_t n_inputs = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 0, n_seeds = 0;
    state += argc > 2 ? strtoull(argv[2], NULL, 10) * 0xD1B54A32D192ED03u : 0;
    static uint8_t seeds[4096][1024], text[4096];
    static size_t sizes[4096];
    for (int i = 3; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        must(file != NULL, "a seed can be read");
        while (n_seeds < 4096 && (sizes[n_seeds] = fread(seeds[n_seeds], 1, 1 + chance(1023), file)))
            n_seeds++;
        fclose(file);
    }
    must(n_seeds > 0, "there are seeds");
    for (size_t i = 0; i < n_inputs; i++) {
        size_t seed = chance(n_seeds), size = sizes[seed];
        memcpy(text, seeds[seed], size);
        for (size_t k = chance(6); k > 0; k--) {
            size_t place = chance(size + 1), gone = chance(4) ? 0 : chance(size - place + 1), other = chance(n_seeds);
            const char *word = words[chance(sizeof words / sizeof *words)];
            const uint8_t *put = (const uint8_t *)word;
            size_t length = strlen(word);
            if (!chance(6)) {
                put = seeds[other];
                length = chance(sizes[other] + 1);
            }
            if (size - gone + length > sizeof text)
                continue;
            memmove(text + place + length, text + place + gone, size - place - gone);
            memcpy(text + place, put, length);
            size += length - gone;
            if (size && !chance(3))
                text[chance(size)] = (uint8_t)chance(256);
        }
        LLVMFuzzerTestOneInput(text, size);
    }
    printf("%zu inputs\n", n_inputs);
    return 0;
}
#endif
