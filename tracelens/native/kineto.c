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

/* Keys are told apart by their first eight bytes, of which all can be read at once where the text goes on. */
static size_t key_slot(const uint8_t *text, size_t length, int level, const uint8_t *end)
{
    uint64_t word = end - text >= 8 ? load64(text) : load_some(text, (size_t)(end - text));
    word &= length < 8 ? (UINT64_C(1) << (8 * length)) - 1 : UINT64_MAX;
    return (size_t)((word ^ (length + 64 * (uint64_t)level)) * UINT64_C(0x1E3779B97F4A7C15) >> 55) & 255;
}

/* Whether low <= value < high. */
static int is_in(int64_t value, int64_t low, size_t high) { return value >= low && value < (int64_t)high; }

int parser_ready(struct parser *parser)
{
    size_t n_tables = parser->n_tables, n_text = parser->n_key_text;
    if (parser->n_keys > 200 || n_tables > MOST_TABLES || !parser->n_columns || parser->n_cells < parser->n_columns ||
        !is_in(parser->allocations, 0, n_tables) || !is_in(parser->counters, 0, n_tables) ||
        !is_in(parser->unplaced, 0, n_tables))
        return 0;
    for (const struct table *t = parser->tables; t < parser->tables + n_tables; t++)
        if (!is_in(t->last, 0, parser->n_columns + 1) || !is_in(t->first, 0, (size_t)t->last + 1))
            return 0;
    for (const struct column *c = parser->columns; c < parser->columns + parser->n_columns; c++)
        if (!is_in(c->how, 0, N_HOWS) || !is_in(c->first, 0, MOST_FIELDS) ||
            !is_in(c->second, c->how == UNLESS_ZERO ? 0 : -1, MOST_FIELDS))
            return 0;
    for (size_t k = 0; k < parser->n_keys; k++) {
        const struct key *key = &parser->keys[k];
        if (!is_in(key->begin, 0, n_text + 1) || !is_in(key->length, 0, n_text - (size_t)key->begin + 1) ||
            !is_in(key->level, 0, 3) || !is_in(key->what, 0, key->level == 2 ? n_tables : N_KINDS) ||
            !is_in(key->at, 0, MOST_FIELDS - 2))
            return 0;
        size_t j = key_slot(parser->key_text + key->begin, (size_t)key->length, (int)key->level,
                            parser->key_text + n_text);
        while (parser->key_slots[j])
            j = (j + 1) & 255;
        parser->key_slots[j] = (uint8_t)(k + 1);
    }
    return 1;
}

/* A key of the event or its args, or a category; NULL when it is none that is known. */
static const struct key *find_key(const struct parser *parser, const uint8_t *text, size_t length, int level,
                                  const uint8_t *end)
{
    for (size_t j = key_slot(text, length, level, end); parser->key_slots[j]; j = (j + 1) & 255) {
        const struct key *key = &parser->keys[parser->key_slots[j] - 1];
        if (key->level == level && (size_t)key->length == length &&
            !memcmp(parser->key_text + key->begin, text, length))
            return key;
    }
    return NULL;
}

/* --- values. Each returns the place after it, NULL where Python has to look at the event. --- */

static void put(struct event *event, int64_t at, struct field field)
{
    event->has |= BIT(at);
    event->fields[at] = field;
}

static struct field number(int is_negative, uint64_t value)
{
    return (struct field){.value = is_negative ? -(int64_t)value : (int64_t)value};
}

static struct field text_of(const uint8_t *p, const uint8_t *end) { return (struct field){p, (size_t)(end - p), 0}; }

/* 1 to 18 digits. */
static const uint8_t *decimals(const uint8_t *p, const uint8_t *end, uint64_t *value, int *n)
{
    const uint8_t *after = digits(p, end, value);
    *n = after ? (int)at_most(after - p, MOST_DIGITS + 1) : 0;
    return *n > MOST_DIGITS ? NULL : after;
}

/* The same as a JSON number begins with them. */
static const uint8_t *whole(const uint8_t *p, const uint8_t *end, uint64_t *value, int *n)
{
    const uint8_t *after = decimals(p, end, value, n);
    return after && *p == '0' && *n > 1 ? NULL : after;
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
        is_negative = 0;
        memcpy(&value, &real, sizeof value);
    }
    put(event, key->at, number(is_negative, value));
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
        put(event, key->at, text_of(p, last));
    } else if (key->what == TRACK || key->what == NUMERAL) {
        int is_negative = p < last && *p == '-';
        uint64_t value;
        const uint8_t *after = digits(p + is_negative, last, &value);
        if (after == last && after - p - is_negative <= MOST_DIGITS)
            put(event, key->at, number(is_negative, value));
        else if (key->what == TRACK && !(flags & UNICODE_ESCAPE))
            put(event, key->at, text_of(p, last));
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
        put(event, key->at + axis, number(0, value));
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
            put(event, key->at, text_of(p, last));
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
        const struct key *key = find_key(parser, text, (size_t)(last - text), level, end);
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
        } else if ((key && key->what == ARGS && byte_at(p, end) != 'n') || !(p = read_value(event, key, p, end))) {
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
static int64_t table_of(const struct parser *parser, const struct event *event)
{
    const struct field *phase = &event->fields[PHASE], *category = &event->fields[CATEGORY];
    const struct field *name = &event->fields[NAME];
    unsigned letter = event->has & BIT(PHASE) && phase->length == 1 ? *phase->text : 0;
    const struct key *found;
    if (letter == 'C')
        return parser->counters;
    if (letter == 'i' && event->has & BIT(NAME) && name->length == 8 && !memcmp(name->text, "[memory]", 8))
        return parser->allocations;
    if (letter == 'X' && event->has & BIT(CATEGORY) &&
        (found = find_key(parser, category->text, category->length, 2, category->text + category->length)))
        return found->what;
    return letter && strchr("Mstf", (int)letter) ? -1 : parser->unplaced;
}

/* Fill the cell that an event has in a column; 0 where there is no memory for its string. */
static int fill(struct parser *parser, const struct column *column, const struct event *event, int64_t *cell)
{
    int64_t how = column->how, at = column->first, second = column->second;
    const struct field *field = &event->fields[at];
    int is_there = (event->has & BIT(at)) != 0, is_word = how == WORD || how == WORD_OR_EMPTY;
    if (how == UNLESS_ZERO)
        is_there &= !(event->has & BIT(second) && !event->fields[second].text && event->fields[second].value == 0);
    else if (second >= 0 && (!is_there || (is_word && field->text && field->length == 0))) {
        field = &event->fields[second];
        is_there = (event->has & BIT(second)) != 0;
    }
    *cell = is_there ? field->value : NULL_CELL;
    if (is_there ? !field->text : how != WORD_OR_EMPTY)
        return 1;
    int64_t number = intern(&parser->strings[how == SHAPE], is_there ? field->text : (const uint8_t *)"",
                            is_there ? field->length : 0);
    *cell = number + (is_word || how == SHAPE ? 0 : TRACK_BASE);
    return number >= 0;
}

/* Place an event that was read, if it has a place. Returns 0 where Python has to look at it, or `why` says more. */
static int take(struct parser *parser, const struct event *event, enum why *why)
{
    int64_t t = table_of(parser, event);
    if (t < 0)
        return 1;
    const struct table *table = &parser->tables[t];
    uint64_t required = (uint64_t)table->required, matters = (uint64_t)table->matters;
    size_t stride = parser->n_cells / parser->n_columns, row = (size_t)parser->n_rows[t];
    if ((event->has & required) != required || event->odd & matters)
        return 0;
    if (row >= stride)
        *why = FULL;
    for (int64_t c = table->first; c < table->last && *why == TEXT_OVER; c++)
        if (!fill(parser, &parser->columns[c], event, &parser->cells[(size_t)c * stride + row]))
            *why = NO_MEMORY;
    parser->n_rows[t] += *why == TEXT_OVER;
    parser->has_fractions |= *why == TEXT_OVER && event->has_fraction && t != parser->unplaced;
    return 1;
}

enum why parse(struct parser *parser, const uint8_t *text, size_t size, size_t *at)
{
    const uint8_t *end = text + size, *p = space(text + *at, end);
    struct event event;
    enum why why = TEXT_OVER;
    parser->n_events = parser->n_refused = 0;
    parser->has_fractions = 0;
    memset(parser->n_rows, 0, sizeof parser->n_rows);
    while (p < end && why == TEXT_OVER) {
        const uint8_t *begin = p, *limit = end - p > LONG_EVENT ? p + LONG_EVENT : end;
        if (*p != '{' || parser->n_refused >= MOST_REFUSED) {
            why = *p == ']' ? LIST_CLOSED : *p == '{' ? FULL : DAMAGED;
            break;
        }
        p = read_event(parser, &event, p, limit);
        if (!p || !take(parser, &event, &why)) {
            if (!(p = value_end(begin, limit))) {
                p = begin;
                why = DAMAGED;
                break;
            }
            int64_t *note = parser->refused + parser->n_refused++ * (2 + parser->n_tables);
            note[0] = begin - text;
            note[1] = p - text;
            memcpy(note + 2, parser->n_rows, parser->n_tables * sizeof *note);
        } else if (why != TEXT_OVER) {
            p = begin;
            break;
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
