/* torchscript_lex.c - TorchScript's code language as tokens.
 *
 * Python's layout: INDENT, DEDENT and NEWLINE tokens, none of them inside brackets. Keywords are
 * plain words here, because an attribute may be called `for` or `class`; the parser decides by
 * place. Strings are byte strings. */
#include <stdarg.h>

#include "front/internal.h"

bool text_fail(Ctx *cx, ErrorCode code, const Text *text, uint32_t start, uint32_t end,
               const char *fmt, ...)
{
    char why[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    Where here = {
        .up = cx->at, .kind = WHERE_STATEMENT, .text = text, .start = start, .end = end
    };
    cx->at = &here;
    fail(cx, code, "%s", why);
    cx->at = here.up;
    return false;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }
/* Bytes of UTF-8 count as letters: names outside ASCII occur in attribute lists. */
static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

/* The byte at i; 0 behind the end (a NUL in the text is an error wherever it stands outside a
 * string). */
static int byte_at(const Lexer *lx, uint32_t i)
{
    return i < lx->text->n ? (unsigned char)lx->text->at[i] : 0;
}

static bool token(Lexer *lx, TokKind kind, uint32_t start, uint32_t end)
{
    lx->tok.kind = kind;
    lx->tok.start = start;
    lx->tok.end = end;
    lx->at = end;
    return true;
}

/* ---- numbers ---- */

static uint32_t skip_digits(const Lexer *lx, uint32_t i)
{
    while (is_digit(byte_at(lx, i)))
        i++;
    return i;
}

/* The value of an int literal; 2^63 is the largest, for -9223372036854775808. */
static bool int_literal(Lexer *lx, uint32_t start, uint32_t end, uint64_t *out)
{
    uint64_t v = 0;
    for (uint32_t i = start; i < end; i++) {
        uint64_t digit = (uint64_t)(lx->text->at[i] - '0');
        if (!umul_ok(v, 10, &v) || !uadd_ok(v, digit, &v) || v > (uint64_t)1 << 63)
            return text_fail(lx->cx, E_FORMAT, lx->text, start, end,
                             "this integer does not fit 64 bits");
    }
    *out = v;
    return true;
}

/* number := digits [ '.' digits? ] [ ('e'|'E') ['+'|'-'] digits ] [ 'j' ]
 *
 * It is an int where it has no '.', 'e' or 'j'. */
static bool number(Lexer *lx, uint32_t start)
{
    uint32_t i = skip_digits(lx, start);
    bool is_float = false;
    if (byte_at(lx, i) == '.') {
        is_float = true;
        i = skip_digits(lx, i + 1);
    }
    if (byte_at(lx, i) == 'e' || byte_at(lx, i) == 'E') {
        uint32_t digits = i + 1;
        if (byte_at(lx, digits) == '+' || byte_at(lx, digits) == '-')
            digits++;
        if (is_digit(byte_at(lx, digits))) {
            is_float = true;
            i = skip_digits(lx, digits);
        }
    }
    bool imaginary = byte_at(lx, i) == 'j';
    if (is_float || imaginary) {
        const char *end;
        lx->tok.f = parse_double(lx->text->at + start, i - start, &end);
    } else if (!int_literal(lx, start, i, &lx->tok.i)) {
        return false;
    }
    if (imaginary)
        return token(lx, TOK_IMAGINARY, start, i + 1);
    return token(lx, is_float ? TOK_FLOAT : TOK_INT, start, i);
}

/* ---- strings ---- */

/* PyTorch prints a byte outside ASCII as three characters '0'+d with digits d of -7..7 (its
 * arithmetic is signed): ')' is -7. */
static bool octal(int c) { return c >= ')' && c <= '7'; }

/* One escape at i (behind the backslash). Returns how many bytes it took, 0 for none that we
 * know. */
static uint32_t escape(const Lexer *lx, uint32_t i, char *out)
{
    static const char letters[] = "\\\\''\"\"a\ab\bf\fn\nr\rt\tv\v";
    int c = byte_at(lx, i);
    for (const char *p = letters; *p; p += 2)
        if (*p == c) {
            *out = p[1];
            return 1;
        }
    if (!octal(c) || !octal(byte_at(lx, i + 1)) || !octal(byte_at(lx, i + 2)))
        return 0;
    *out = (char)(64 * (c - '0') + 8 * (byte_at(lx, i + 1) - '0') + (byte_at(lx, i + 2) - '0'));
    return 3;
}

/* Where the string that starts at `start` ends (its closing quote); 0 after an error. */
static uint32_t closing_quote(Lexer *lx, uint32_t start)
{
    int quote = byte_at(lx, start);
    uint32_t i = start + 1;
    lx->tok.escaped = false;
    while (i < lx->text->n && byte_at(lx, i) != quote && byte_at(lx, i) != '\n') {
        if (byte_at(lx, i) == '\\') {
            lx->tok.escaped = true;
            i++;
        }
        i++;
    }
    if (i < lx->text->n && byte_at(lx, i) == quote)
        return i;
    text_fail(lx->cx, E_FORMAT, lx->text, start, i < lx->text->n ? i : (uint32_t)lx->text->n,
              "this string has no end");
    return 0;
}

/* Reads the string with its opening quote at `start`. One without escapes is interned from where
 * it stands; any other is decoded, which never makes it longer. */
static bool string(Lexer *lx, uint32_t start)
{
    uint32_t end = closing_quote(lx, start);
    if (!end)
        return false;
    const char *raw = lx->text->at + start + 1;
    size_t n = end - start - 1;
    if (!lx->tok.escaped) {
        lx->tok.s = str_n(lx->cx, raw, n);
        return token(lx, TOK_STRING, start, end + 1);
    }
    char *decoded = new_array(lx->cx, char, n);
    if (!decoded)
        return false;
    size_t len = 0;
    for (uint32_t i = start + 1; i < end;) {
        if (byte_at(lx, i) != '\\') {
            decoded[len++] = lx->text->at[i++];
            continue;
        }
        uint32_t took = escape(lx, i + 1, &decoded[len]);
        if (!took)
            return text_fail(lx->cx, E_FORMAT, lx->text, i, i + 2,
                             "this escape is none of TorchScript's");
        len++;
        i += 1 + took;
    }
    lx->tok.s = str_n(lx->cx, decoded, len);
    return token(lx, TOK_STRING, start, end + 1);
}

/* ---- punctuation ---- */

static const struct {
    char text[3];
    TokKind kind;
} two_chars[] = {
    { "->", TOK_ARROW }, { "**", TOK_POWER }, { "//", TOK_FLOORDIV },
    { "<<", TOK_SHL },   { ">>", TOK_SHR },   { "==", TOK_EQ },
    { "!=", TOK_NE },    { "<=", TOK_LE },    { ">=", TOK_GE },
};

/* The token of a single character; TOK_END for one that begins none. */
static TokKind one_char(int c)
{
    switch (c) {
    case '(': return TOK_LPAREN;
    case ')': return TOK_RPAREN;
    case '[': return TOK_LBRACKET;
    case ']': return TOK_RBRACKET;
    case '{': return TOK_LBRACE;
    case '}': return TOK_RBRACE;
    case ',': return TOK_COMMA;
    case ':': return TOK_COLON;
    case '.': return TOK_DOT;
    case '=': return TOK_ASSIGN;
    case '+': return TOK_PLUS;
    case '-': return TOK_MINUS;
    case '*': return TOK_STAR;
    case '/': return TOK_SLASH;
    case '%': return TOK_PERCENT;
    case '&': return TOK_AND;
    case '|': return TOK_OR;
    case '^': return TOK_XOR;
    case '<': return TOK_LT;
    case '>': return TOK_GT;
    default:  return TOK_END;
    }
}

static bool punctuation(Lexer *lx, uint32_t start)
{
    int c = byte_at(lx, start);
    int next = byte_at(lx, start + 1);
    if (next == '=' || next == '>' || next == c)
        for (size_t i = 0; i < COUNT(two_chars); i++)
            if (two_chars[i].text[0] == c && two_chars[i].text[1] == next)
                return token(lx, two_chars[i].kind, start, start + 2);
    TokKind kind = one_char(c);
    if (kind == TOK_END)
        return text_fail(lx->cx, E_FORMAT, lx->text, start, start + 1,
                         "byte 0x%02x cannot stand here", c);
    if (kind == TOK_LPAREN || kind == TOK_LBRACKET || kind == TOK_LBRACE)
        lx->nesting++;
    else if ((kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RBRACE) && lx->nesting > 0)
        lx->nesting--;
    return token(lx, kind, start, start + 1);
}

/* ---- layout ---- */

static uint32_t skip_blanks(const Lexer *lx, uint32_t i)
{
    for (;;) {
        int c = byte_at(lx, i);
        if (c == '#')
            while (i < lx->text->n && byte_at(lx, i) != '\n')
                i++;
        else if (c == ' ' || c == '\t' || c == '\r' || (c == '\n' && lx->nesting > 0))
            i++;
        else
            return i;
    }
}

/* At a line's start: skip empty lines, then compare the column with the open blocks. */
static bool line_start(Lexer *lx, bool *made_token)
{
    uint32_t line = lx->at;
    uint32_t i = skip_blanks(lx, line);
    while (byte_at(lx, i) == '\n') {
        line = i + 1;
        i = skip_blanks(lx, line);
    }
    lx->at_line_start = false;
    lx->at = i;
    uint32_t column = i < lx->text->n ? i - line : 0;
    if (column > lx->indent.at[lx->indent.n - 1]) {
        if (!vec_push(lx->cx, &lx->indent, column))
            return false;
        *made_token = true;
        return token(lx, TOK_INDENT, i, i);
    }
    while (column < lx->indent.at[lx->indent.n - 1]) {
        lx->indent.n--;
        lx->dedents++;
    }
    if (column != lx->indent.at[lx->indent.n - 1])
        return text_fail(lx->cx, E_FORMAT, lx->text, line, i,
                         "this line is indented like no open block");
    return true;
}

/* The text's last line counts as ended even without a line end. */
static bool end_of_text(Lexer *lx, uint32_t at)
{
    if (lx->ended)
        return token(lx, TOK_END, at, at);
    lx->ended = true;
    lx->at_line_start = true;
    return token(lx, TOK_NEWLINE, at, at);
}

/* The next token: indentation first, as at most one INDENT or as many DEDENTs as blocks end, then
 * what stands on the line. False after an error. */
bool lex_next(Lexer *lx)
{
    if (lx->at_line_start && lx->dedents == 0) {
        bool made_token = false;
        if (!line_start(lx, &made_token))
            return false;
        if (made_token)
            return true;
    }
    if (lx->dedents > 0) {
        lx->dedents--;
        return token(lx, TOK_DEDENT, lx->at, lx->at);
    }
    uint32_t i = skip_blanks(lx, lx->at);
    if (i >= lx->text->n)
        return end_of_text(lx, i);
    lx->ended = false;
    int c = byte_at(lx, i);
    if (is_letter(c)) {
        uint32_t end = i + 1;
        while (is_letter(byte_at(lx, end)) || is_digit(byte_at(lx, end)))
            end++;
        lx->tok.s = str_n(lx->cx, lx->text->at + i, end - i);
        return token(lx, TOK_WORD, i, end);
    }
    if (is_digit(c))
        return number(lx, i);
    if (c == '"' || c == '\'')
        return string(lx, i);
    if (c == '\n') {
        lx->at_line_start = lx->ended = true;
        return token(lx, TOK_NEWLINE, i, i + 1);
    }
    return punctuation(lx, i);
}

bool lex_open(Lexer *lx, Ctx *cx, const Text *text)
{
    *lx = (Lexer){ .cx = cx, .text = text, .at_line_start = true, .ended = true };
    if (!limit_ok(cx, LIMIT_TEXT, text->n, "bytes of code"))
        return false;
    return vec_push(cx, &lx->indent, 0) && lex_next(lx);
}

bool lex_followed_by(const Lexer *lx, const char *punctuation)
{
    size_t n = strlen(punctuation);
    uint32_t i = skip_blanks(lx, lx->at);
    return n <= lx->text->n - i && memcmp(lx->text->at + i, punctuation, n) == 0;
}
