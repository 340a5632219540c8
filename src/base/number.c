/* number.c - doubles to text and back, whatever the process's locale is.
 *
 * The C library does the exact arithmetic, through the one form that no locale touches: digits
 * without a point and an exponent ("12345e-3"). */
#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- text to double ---- */

enum {
    DIGITS_KEPT =
        800, /* 767 digits decide any double; one more, not zero, stands for all that follow */
    EXPONENT_CAP = 100000000, /* far beyond overflow, far from overflowing an int */
};

typedef struct {
    const char *at, *end;
} Text_;

static bool word(Text_ *t, const char *w)
{
    const char *p = t->at;
    for (; *w; w++, p++)
        if (p >= t->end || tolower((unsigned char)*p) != *w)
            return false;
    t->at = p;
    return true;
}

static bool digit(const Text_ *t) { return t->at < t->end && *t->at >= '0' && *t->at <= '9'; }

/* digits [. digits] into out, leading zeros dropped; *exponent is that of the last digit kept.
 * False: no digit. */
static bool take_digits(Text_ *t, char *out, int *n, long *exponent)
{
    bool any = false;
    bool point = false;
    bool lost = false;
    for (;; t->at++) {
        if (!point && t->at < t->end && *t->at == '.') {
            point = true;
            continue;
        }
        if (!digit(t))
            break;
        any = true;
        if (point)
            *exponent -= *exponent > -EXPONENT_CAP;
        if (*n == 0 && *t->at == '0')
            continue;
        if (*n < DIGITS_KEPT) {
            out[(*n)++] = *t->at;
            continue;
        }
        lost |= *t->at != '0';
        *exponent += *exponent < EXPONENT_CAP;
    }
    if (lost)
        out[*n - 1] = (char)(out[*n - 1] == '0' || out[*n - 1] == '5' ? out[*n - 1] + 1
                                                                      : out[*n - 1]);
    return any;
}

static void take_exponent(Text_ *t, long *exponent)
{
    Text_ try = *t;
    if (try.at >= try.end || (*try.at != 'e' && *try.at != 'E'))
        return;
    try.at++;
    bool minus = try.at < try.end && *try.at == '-';
    if (try.at < try.end && (*try.at == '-' || *try.at == '+'))
        try.at++;
    if (!digit(&try))
        return;
    long e = 0;
    for (; digit(&try); try.at++)
        if (e < EXPONENT_CAP)
            e = e * 10 + (*try.at - '0');
    *exponent += minus ? -e : e;
    t->at = try.at;
}

/* strtod gets a text of plain digits and an exponent: it has no decimal point, which is what
 * differs between locales. No number: 0, and *end is s. */
double parse_double(const char *s, size_t n, const char **end)
{
    Text_ t = { s, s + n };
    bool minus = n > 0 && *s == '-';
    if (n > 0 && (*s == '-' || *s == '+'))
        t.at++;
    char text[DIGITS_KEPT + 32];
    int count = 0;
    long exponent = 0;
    double v;
    if (word(&t, "infinity") || word(&t, "inf")) {
        v = INFINITY;
    } else if (word(&t, "nan")) {
        v = NAN;
    } else if (take_digits(&t, text, &count, &exponent)) {
        take_exponent(&t, &exponent);
        if (count == 0)
            text[count++] = '0';
        snprintf(text + count, sizeof text - (size_t)count, "e%ld", exponent);
        v = strtod(text, NULL);
    } else {
        t.at = s;
        v = 0, minus = false;
    }
    if (end)
        *end = t.at;
    return minus ? -v : v;
}

/* ---- double to text ---- */

/* A positive finite number as integer digits and a power of ten. */
typedef struct {
    uint64_t digits;
    int exponent;
} Decimal;

static Decimal rounded(double v, int precision)
{
    char text[48];
    snprintf(text, sizeof text, "%.*e", precision - 1,
             v); /* d[point]ddde[+-]xx; the point is the locale's */
    Decimal d = { 0, 0 };
    const char *p = text;
    for (; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9')
            d.digits = d.digits * 10 + (uint64_t)(*p - '0');
    d.exponent = atoi(p + 1) - (precision - 1);
    return d;
}

static bool reads_back(Decimal d, double v)
{
    char text[48];
    snprintf(text, sizeof text, "%llue%d", (unsigned long long)d.digits, d.exponent);
    return strtod(text, NULL) == v;
}

/* The fewest digits; at a power of two the neighbour of the rounded digits may be the one that
 * reads back. */
static Decimal shortest(double v)
{
    for (int precision = v < DBL_MIN ? 1 : 15; precision < 17; precision++) {
        Decimal d = rounded(v, precision);
        Decimal up = d;
        Decimal down = d;
        up.digits++;
        down.digits--;
        if (reads_back(d, v))
            return d;
        if (reads_back(up, v))
            return up;
        if (d.digits > 1 && reads_back(down, v))
            return down;
    }
    return rounded(v, 17);
}

/* The shortest digits that read back as v, written as repr does: with an exponent from 1e16 on and
 * below 1e-4, otherwise with the point in its place or zeros filled in. */
int format_double(char out[32], double v)
{
    if (isnan(v))
        return snprintf(out, 32, "nan");
    const char *sign = signbit(v) ? "-" : "";
    v = fabs(v);
    if (isinf(v) || v == 0)
        return snprintf(out, 32, "%s%s", sign, v == 0 ? "0" : "inf");
    Decimal d = shortest(v);
    while (d.digits % 10 == 0) {
        d.digits /= 10;
        d.exponent++;
    }
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)d.digits);
    int point = n + d.exponent; /* the point stands after this many digits */
    const char *dot = n > 1 ? "." : "";
    if (point > 16 || point < -3)
        return snprintf(out, 32, "%s%c%s%se%c%02d", sign, digits[0], dot, digits + 1,
                        point > 0 ? '+' : '-', abs(point - 1));
    if (point <= 0)
        return snprintf(out, 32, "%s0.%.*s%s", sign, -point, "0000", digits);
    if (point >= n)
        return snprintf(out, 32, "%s%s%.*s", sign, digits, point - n, "0000000000000000");
    return snprintf(out, 32, "%s%.*s.%s", sign, point, digits, digits + point);
}

bool whole_number(double f, int64_t *out)
{
    bool fits = f >= -0x1p63 && f < 0x1p63; /* no for NaN */
    *out = fits ? (int64_t)f : 0;
    return fits && f == (double)*out;
}

bool parse_int(const char *s, size_t n, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(s, &end, 10);
    return n > 0 && end == s + n && errno != ERANGE;
}
