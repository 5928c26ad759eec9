/* Events of a Kineto trace into columns, one pass over the text.

An event is taken only if Python would read it in the same way: strict JSON, no key twice, every value of the kind its
key is known for. Anything else that is JSON is handed back as a range of bytes, for Python to judge; where it is no
JSON, the parser stops. `fields.py` says which keys there are and what tables are made of. */

#include "native.h"

#define TIME_LIMIT_US UINT64_C(2305843009213693)
#define EXACT_FLOAT (UINT64_C(1) << 53)
#define MOST_DIGITS 18
#define BIT(at) (UINT64_C(1) << (at))

/* A value that was met: a number where `text` is NULL. */
struct field {
    const uint8_t *text;
    size_t length;
    int64_t value;
};

struct event {
    uint64_t seen, has; /* keys met; fields with a value */
    uint64_t odd;       /* fields whose value is not of the key's kind: matters if the event's table takes the field */
    int has_fraction;
    struct field fields[MOST_FIELDS];
};

static const uint64_t POWERS[MOST_DIGITS + 1] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
    1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
    1000000000000000000,
};

/* --- keys --- */

static size_t key_slot(const uint8_t *text, size_t length, int level)
{
    uint64_t word = 0;
    for (size_t k = 0; k < length && k < 8; k++)
        word |= (uint64_t)text[k] << (8 * k);
    return (size_t)((word ^ (length + 64 * (uint64_t)level)) * UINT64_C(0x1E3779B97F4A7C15) >> 55) & 255;
}

int parser_ready(struct parser *parser)
{
    size_t n_tables = parser->n_tables;
    memset(parser->key_slots, 0, sizeof parser->key_slots);
    if (parser->n_keys > 200 || parser->allocations >= n_tables || parser->counters >= n_tables ||
        parser->unplaced >= n_tables || parser->base > UINT32_MAX - MOST_STRINGS)
        return 0;
    for (size_t t = 0; t < n_tables; t++)
        if (parser->tables[t].first > parser->tables[t].last || parser->tables[t].last > parser->n_columns)
            return 0;
    for (size_t c = 0; c < parser->n_columns; c++) {
        const struct column *of = &parser->columns[c];
        if (of->how < 0 || of->how >= N_HOWS || of->first < 0 || of->first >= MOST_FIELDS ||
            of->second < -(of->how != UNLESS_ZERO) || of->second >= MOST_FIELDS)
            return 0;
    }
    for (size_t k = 0; k < parser->n_keys; k++) {
        const struct key *key = &parser->keys[k];
        if (key->what < 0 || key->what >= (key->level == 2 ? (int)n_tables : N_KINDS) || key->at < 0 ||
            key->at > MOST_FIELDS - 3)
            return 0;
        size_t j = key_slot(key->text, key->length, key->level);
        while (parser->key_slots[j])
            j = (j + 1) & 255;
        parser->key_slots[j] = (uint8_t)(k + 1);
    }
    return 1;
}

/* A key of the event or its args, or a category; NULL when it is none that is known. */
static const struct key *find_key(const struct parser *parser, const uint8_t *text, size_t length, int level)
{
    for (size_t j = key_slot(text, length, level); parser->key_slots[j]; j = (j + 1) & 255) {
        const struct key *key = &parser->keys[parser->key_slots[j] - 1];
        if (key->level == level && key->length == length && !memcmp(key->text, text, length))
            return key;
    }
    return NULL;
}

/* --- values. Each returns the place after it, NULL where Python has to look at the event. --- */

static void put(struct event *event, int at, int64_t value)
{
    event->has |= BIT(at);
    event->fields[at] = (struct field){NULL, 0, value};
}

static void put_text(struct event *event, int at, const uint8_t *text, const uint8_t *end)
{
    event->has |= BIT(at);
    event->fields[at] = (struct field){text, (size_t)(end - text), 0};
}

/* Digits as a JSON number has them, 1 to 18. */
static const uint8_t *whole(const uint8_t *p, const uint8_t *end, uint64_t *value, int *n)
{
    const uint8_t *after = digits(p, end, value);
    *n = (int)at_most(after - p, MOST_DIGITS + 1);
    return *n == 0 || *n > MOST_DIGITS || (*p == '0' && *n > 1) ? NULL : after;
}

/* Digits after a decimal point, 1 to 18. */
static const uint8_t *decimals(const uint8_t *p, const uint8_t *end, uint64_t *value, int *n)
{
    const uint8_t *after = digits(p, end, value);
    *n = (int)at_most(after - p, MOST_DIGITS + 1);
    return *n == 0 || *n > MOST_DIGITS ? NULL : after;
}

/* Thousandths of a decimal fraction, rounded half to even with the whole number before it. */
static uint64_t with_fraction(uint64_t value, uint64_t fraction, int n)
{
    if (n <= 3)
        return value + fraction * POWERS[3 - n];
    uint64_t unit = POWERS[n - 3], rest = 2 * (fraction % unit);
    value += fraction / unit;
    return value + (rest > unit || (rest == unit && value & 1));
}

static const uint8_t *read_number(struct event *event, const struct key *key, const uint8_t *p, const uint8_t *end)
{
    int is_negative = byte_at(p, end) == '-', n, n_decimals = 0;
    uint64_t value, fraction = 0;
    if (!(p = whole(p + is_negative, end, &value, &n)))
        return NULL;
    if (byte_at(p, end) == '.') {
        if ((key->what != TIME && key->what != REAL) || !(p = decimals(p + 1, end, &fraction, &n_decimals)))
            return NULL;
    }
    if (byte_at(p, end) == 'e' || byte_at(p, end) == 'E' || key->what == TEXT)
        return NULL;
    if (key->what == TIME) {
        if (value >= TIME_LIMIT_US || (is_negative && key->at == DURATION))
            return NULL;
        event->has_fraction |= n_decimals && key->at == START;
        value = with_fraction(value * 1000, fraction, n_decimals);
    } else if (key->what == REAL) {
        if (n + n_decimals > MOST_DIGITS)
            return NULL;
        value = value * POWERS[n_decimals] + fraction;
        if (value >= EXACT_FLOAT)
            return NULL;
        /* Both are exact as floats, so the quotient is the nearest float to what is written. */
        double real = (double)value / (double)POWERS[n_decimals];
        real = is_negative && (value || n_decimals) ? -real : real;
        int64_t bits;
        memcpy(&bits, &real, sizeof bits);
        put(event, key->at, bits);
        return p;
    }
    put(event, key->at, is_negative ? -(int64_t)value : (int64_t)value);
    return p;
}

static const uint8_t *read_string(struct event *event, const struct key *key, const uint8_t *p, const uint8_t *end)
{
    unsigned flags;
    const uint8_t *last = string_end(++p, end, &flags);
    if (!last || (flags & NOT_ASCII && !is_utf8(p, last)) || key->what == TIME)
        return NULL;
    if (key->what == TEXT) {
        if (flags & UNICODE_ESCAPE || (flags & ESCAPED && key->at <= CATEGORY))
            event->odd |= BIT(key->at);
        put_text(event, key->at, p, last);
    } else if (key->what == TRACK || key->what == NUMERAL) {
        int is_negative = p < last && *p == '-';
        uint64_t value;
        const uint8_t *after = digits(p + is_negative, last, &value);
        if (after == last && after > p + is_negative && after - p - is_negative <= MOST_DIGITS)
            put(event, key->at, is_negative ? -(int64_t)value : (int64_t)value);
        else if (key->what == TRACK && !(flags & UNICODE_ESCAPE))
            put_text(event, key->at, p, last);
        else
            event->odd |= BIT(key->at);
    } else {
        event->odd |= BIT(key->at);
    }
    return last + 1;
}

static const uint8_t *read_triple(struct event *event, const struct key *key, const uint8_t *p, const uint8_t *end)
{
    for (int axis = 0; axis < 3; axis++) {
        uint64_t value;
        int n;
        if (!(p = whole(space(p + 1, end), end, &value, &n)) || value > INT32_MAX)
            return NULL;
        put(event, key->at + axis, (int64_t)value);
        p = space(p, end);
        if (byte_at(p, end) != (axis == 2 ? ']' : ','))
            return NULL;
    }
    return p + 1;
}

static const uint8_t *read_value(struct event *event, const struct key *key, const uint8_t *p, const uint8_t *end)
{
    unsigned c = byte_at(p, end);
    if (!key || key->what == SKIPPED)
        return value_end(p, end);
    if (key->what == JSON) {
        const uint8_t *last = value_end(p, end);
        if (last)
            put_text(event, key->at, p, last);
        return last;
    }
    if (c == 'n' || c == 't' || c == 'f') {
        if (key->what == TIME)
            return NULL;
        event->odd |= c == 'n' ? 0 : BIT(key->at);
        return word_end(p, end);
    }
    if (c == '"')
        return read_string(event, key, p, end);
    if (key->what == TRIPLE)
        return c == '[' ? read_triple(event, key, p, end) : NULL;
    return read_number(event, key, p, end);
}

/* The event that starts with the brace at p; NULL where Python has to look at it. */
static const uint8_t *read_event(const struct parser *parser, struct event *event, const uint8_t *p, const uint8_t *end)
{
    int level = 0;
    event->seen = event->has = event->odd = 0;
    event->has_fraction = 0;
    p = space(p + 1, end);
    while (byte_at(p, end) == '"') {
        unsigned flags;
        const uint8_t *text = ++p, *last = string_end(p, end, &flags);
        if (!last || flags & ESCAPED)
            return NULL;
        const struct key *key = find_key(parser, text, (size_t)(last - text), level);
        p = space(last + 1, end);
        if (byte_at(p, end) != ':')
            return NULL;
        p = space(p + 1, end);
        if (key) {
            if (event->seen & BIT(key->at))
                return NULL;
            event->seen |= BIT(key->at);
        }
        if (key && key->what == ARGS && byte_at(p, end) == '{') {
            p = space(p + 1, end);
            if (byte_at(p, end) == '"') {
                level = 1;
                continue;
            }
            if (byte_at(p, end) != '}')
                return NULL;
            p++;
        } else if (key && key->what == ARGS) {
            if (byte_at(p, end) != 'n' || !(p = word_end(p, end)))
                return NULL;
        } else if (!(p = read_value(event, key, p, end))) {
            return NULL;
        }
        p = space(p, end);
        if (level == 1 && byte_at(p, end) == '}') {
            level = 0;
            p = space(p + 1, end);
        }
        if (byte_at(p, end) == '}')
            return event->odd & (BIT(PHASE) | BIT(CATEGORY)) ? NULL : p + 1;
        if (byte_at(p, end) != ',')
            return NULL;
        p = space(p + 1, end);
    }
    return NULL;
}

/* --- tables --- */

/* The table an event belongs to by phase, category and name; -1 for none. */
static int table_of(const struct parser *parser, const struct event *event)
{
    const struct field *phase = &event->fields[PHASE], *category = &event->fields[CATEGORY], *name = &event->fields[NAME];
    if (!(event->has & BIT(PHASE)) || phase->length != 1)
        return (int)parser->unplaced;
    switch (*phase->text) {
    case 'X': {
        const struct key *found =
            event->has & BIT(CATEGORY) ? find_key(parser, category->text, category->length, 2) : NULL;
        return found ? found->what : (int)parser->unplaced;
    }
    case 'i': {
        int is_memory = event->has & BIT(NAME) && name->length == 8 && !memcmp(name->text, "[memory]", 8);
        return (int)(is_memory ? parser->allocations : parser->unplaced);
    }
    case 'C':
        return (int)parser->counters;
    case 'M':
    case 's':
    case 't':
    case 'f':
        return -1;
    default:
        return (int)parser->unplaced;
    }
}

/* Append the event to its table; 0 where there is no memory for its strings. */
static int place(struct parser *parser, struct table *table, const struct event *event)
{
    for (size_t c = table->first; c < table->last; c++) {
        const struct column *column = &parser->columns[c];
        int how = column->how, at = column->first, second = column->second;
        int is_there = (event->has & BIT(at)) != 0;
        int64_t cell = NULL_CELL;
        if (how == UNLESS_ZERO) {
            if (event->has & BIT(second) && !event->fields[second].text && event->fields[second].value == 0)
                is_there = 0;
        } else if (second >= 0) {
            int gives_way = (how == WORD || how == WORD_OR_EMPTY) && is_there && event->fields[at].text &&
                            event->fields[at].length == 0;
            if (!is_there || gives_way) {
                at = second;
                is_there = (event->has & BIT(at)) != 0;
            }
        }
        const struct field *field = &event->fields[at];
        if (is_there && !field->text) {
            cell = field->value;
        } else if (is_there || how == WORD_OR_EMPTY) {
            const uint8_t *text = is_there ? field->text : (const uint8_t *)"";
            cell = intern(&parser->strings[how == SHAPE], text, is_there ? field->length : 0);
            if (cell < 0)
                return 0;
            if (how != WORD && how != WORD_OR_EMPTY && how != SHAPE)
                cell += TRACK_BASE;
        }
        column->cells[table->n_rows] = cell;
    }
    table->n_rows++;
    return 1;
}

static void refuse(struct parser *parser, size_t begin, size_t end)
{
    struct refused *note = &parser->refused[parser->n_refused++];
    note->begin = begin;
    note->end = end;
    for (size_t t = 0; t < parser->n_tables; t++)
        note->rows[t] = parser->tables[t].n_rows;
}

/* Whether an event that was read could be placed, or needs no place; sets `why` where the parser has to stop. */
static int take(struct parser *parser, const struct event *event, enum why *why)
{
    int t = table_of(parser, event);
    if (t < 0)
        return 1;
    struct table *table = &parser->tables[t];
    if ((event->has & table->required) != table->required || event->odd & table->matters)
        return 0;
    if (table->n_rows >= N_ROWS)
        *why = FULL;
    else if (!place(parser, table, event))
        *why = NO_MEMORY;
    else
        parser->has_fractions |= event->has_fraction && (size_t)t != parser->unplaced;
    return 1;
}

enum why parse(struct parser *parser, const uint8_t *text, size_t size, size_t *at)
{
    const uint8_t *end = text + size, *p = space(text + *at, end);
    struct event event;
    enum why why = TEXT_OVER;
    while (p < end && why == TEXT_OVER) {
        const uint8_t *begin = p, *limit = end - p > LONG_EVENT ? p + LONG_EVENT : end;
        if (*p == ']' || *p != '{' || parser->n_refused >= MOST_REFUSED) {
            why = *p == ']' ? LIST_CLOSED : parser->n_refused >= MOST_REFUSED ? FULL : DAMAGED;
            break;
        }
        p = read_event(parser, &event, p, limit);
        int is_taken = p && take(parser, &event, &why);
        if (why != TEXT_OVER) {
            p = begin;
            break;
        }
        if (!is_taken) {
            if (!(p = value_end(begin, limit))) {
                p = begin;
                why = DAMAGED;
                break;
            }
            refuse(parser, (size_t)(begin - text), (size_t)(p - text));
        }
        parser->n_events++;
        p = space(p, end);
        if (p < end && *p == ',')
            p = space(p + 1, end);
        else if (p < end && *p != ']' && *p != '{') /* no comma between two events is no damage */
            why = DAMAGED;
    }
    *at = (size_t)(p - text);
    return why;
}

/* --- columns --- */

static int is_string(const struct column *column)
{
    return column->how == WORD || column->how == WORD_OR_EMPTY || column->how == SHAPE;
}

struct packed pack_as(const struct column *column, size_t n)
{
    int64_t low = 0, high = 0;
    struct packed as = {4, 0, 'i'};
    for (size_t row = 0; row < n; row++) {
        int64_t cell = column->cells[row];
        if (cell == NULL_CELL) {
            as.n_nulls++;
        } else {
            low = at_most(low, cell);
            high = at_least(high, cell);
        }
    }
    if (as.n_nulls == n)
        as.width = 0;
    else if (is_string(column))
        as.letter = 'I';
    else if (column->is_float)
        as.width = 8, as.letter = 'd';
    else if (low < -INT32_MAX || high > INT32_MAX)
        as.width = 8, as.letter = 'q';
    return as;
}

void pack(const struct parser *parser, const struct column *column, size_t n, struct packed as, void *data,
          uint8_t *valid)
{
    for (size_t row = 0; row < n; row++) {
        int64_t cell = column->cells[row];
        int is_there = cell != NULL_CELL;
        if (valid && is_there)
            valid[row >> 3] |= (uint8_t)(1u << (row & 7));
        cell = is_there ? cell : 0;
        if (as.letter == 'I')
            ((uint32_t *)data)[row] = (uint32_t)cell + parser->base;
        else if (as.width == 4)
            ((int32_t *)data)[row] = (int32_t)cell;
        else
            ((int64_t *)data)[row] = as.letter == 'q' && cell >= TRACK_BASE ? cell + parser->base : cell;
    }
}
