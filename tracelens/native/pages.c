/* The bytes that a Parquet file's pages become: `page_bytes` of storage/pages.py, which defines it. */

#include "native.h"

enum { TRUE_ = 1, FALSE_, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, STRUCT = 12 };
/* What a struct is: the footer, one of its groups of rows, one of a group's columns, what is said of that; a page. */
enum level { FOOTER, GROUP, COLUMN, ABOUT, PAGE, OTHER };
static const unsigned inner_fields[] = {[FOOTER] = 4, [GROUP] = 1, [COLUMN] = 3};
enum { UNCOMPRESSED = 2, COMPRESSED, LENGTH = 7, FIRST_PAGE = 9, DICTIONARY = 11, N_FIELDS };
enum { DEEPEST = 16, NO_NUMBER = -1 };

struct reader {
    const uint8_t *text, *at, *end;
    int64_t size, length, n_bytes; /* of the file, of all columns, and what their pages become */
    int has_failed;
};

static void read_struct(struct reader *reader, enum level level, int64_t *fields, int depth);

static void fail(struct reader *reader)
{
    reader->has_failed = 1;
    reader->at = reader->end;
}

static void skip(struct reader *reader, uint64_t n)
{
    if (n > (uint64_t)(reader->end - reader->at))
        fail(reader);
    else
        reader->at += n;
}

static uint64_t varint(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    fail(reader);
    return 0;
}

static int64_t integer(struct reader *reader)
{
    uint64_t value = varint(reader);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Add up the pages of a column. */
static void add_pages(struct reader *file, const int64_t *about)
{
    int64_t first = about[FIRST_PAGE], dictionary = about[DICTIONARY], length = about[LENGTH];
    int64_t at = dictionary && (!first || dictionary < first) ? dictionary : first;
    if (at <= 0 || at > file->size || length < 0 || length > file->size - file->length) {
        fail(file);
        return;
    }
    file->length += length;
    for (int64_t end = at + length; at < end;) {
        int64_t header[N_FIELDS] = {[UNCOMPRESSED] = NO_NUMBER, [COMPRESSED] = NO_NUMBER};
        struct reader page = {.text = file->text, .at = file->text + at, .end = file->text + file->size};
        read_struct(&page, PAGE, header, 0);
        if (page.has_failed || header[UNCOMPRESSED] < 0 || header[UNCOMPRESSED] > INT32_MAX || header[COMPRESSED] < 0) {
            fail(file);
            return;
        }
        file->n_bytes += header[UNCOMPRESSED];
        at = page.at - page.text + at_most(header[COMPRESSED], file->size);
    }
}

/* Read a value of the kind; returns an integer, else NO_NUMBER. */
static int64_t read_value(struct reader *reader, unsigned kind, enum level level, int depth)
{
    if (level != OTHER && kind != (level == ABOUT ? STRUCT : LIST)) {
        fail(reader);
    } else if (kind == I16 || kind == I32 || kind == I64) {
        return integer(reader);
    } else if (kind == LIST) {
        unsigned head = reader->at < reader->end ? *reader->at++ : 0;
        uint64_t n = head >> 4 == 15 ? varint(reader) : head >> 4;
        if (depth >= DEEPEST)
            fail(reader);
        for (; n && !reader->has_failed; n--)
            if (level == OTHER)
                read_value(reader, head & 15, OTHER, depth + 1);
            else if ((head & 15) == STRUCT)
                read_struct(reader, level, NULL, depth + 2);
            else
                fail(reader);
    } else if (kind == STRUCT) {
        int64_t about[N_FIELDS] = {[LENGTH] = NO_NUMBER};
        read_struct(reader, level, level == ABOUT ? about : NULL, depth + 1);
        if (level == ABOUT && !reader->has_failed)
            add_pages(reader, about);
    } else if (kind == BINARY) {
        skip(reader, varint(reader));
    } else if (kind == TRUE_ || kind == FALSE_ || kind == BYTE || kind == DOUBLE) {
        skip(reader, kind == DOUBLE ? 8 : 1);
    } else {
        fail(reader);
    }
    return NO_NUMBER;
}

/* Read a struct; the values of its first fields go where there is room for them. */
static void read_struct(struct reader *reader, enum level level, int64_t *fields, int depth)
{
    uint64_t field = 0;
    int is_whole = level == FOOTER || level > COLUMN; /* or has its inner field */
    while (reader->at < reader->end && depth <= DEEPEST) {
        unsigned head = *reader->at++;
        if (!head) {
            if (!is_whole)
                break;
            return;
        }
        field = head >> 4 ? field + (head >> 4) : (uint64_t)integer(reader);
        if ((head & 15) == TRUE_ || (head & 15) == FALSE_)
            continue; /* these are in the head */
        int is_inner = level < ABOUT && field == inner_fields[level];
        int64_t value = read_value(reader, head & 15, is_inner ? level + 1 : OTHER, depth);
        is_whole |= is_inner;
        if (fields && field < N_FIELDS)
            fields[field] = value;
    }
    fail(reader);
}

int64_t page_bytes(const uint8_t *text, size_t n)
{
    if (n < 8)
        return -1;
    size_t length = (size_t)load_some(text + n - 8, 4);
    struct reader file = {.text = text, .end = text + n - 8, .size = (int64_t)n};
    file.at = file.end - (length < n - 8 ? length : n - 8);
    read_struct(&file, FOOTER, NULL, 0);
    return file.has_failed ? -1 : file.n_bytes;
}
