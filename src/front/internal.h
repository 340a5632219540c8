/* internal.h - what the files of src/front share: the lexer and parser of TorchScript's code language.
 *
 * Nobody outside src/front includes it. The grammar is formats/torchscript.md section 3; docs/formats/torchscript.md says
 * what our reader accepts beyond it. */
#ifndef PT2ONNX_FRONT_INTERNAL_H
#define PT2ONNX_FRONT_INTERNAL_H

#include "front/front.h"

/* ---- torchscript_lex.c ---- */

typedef enum {
    TOK_END, TOK_NEWLINE, TOK_INDENT, TOK_DEDENT,
    TOK_WORD,                       /* names and keywords alike: any word is a name after a dot */
    TOK_INT, TOK_FLOAT, TOK_IMAGINARY, TOK_STRING,
    TOK_LPAREN, TOK_RPAREN, TOK_LBRACKET, TOK_RBRACKET, TOK_LBRACE, TOK_RBRACE,
    TOK_COMMA, TOK_COLON, TOK_DOT, TOK_ASSIGN, TOK_ARROW,
    TOK_PLUS, TOK_MINUS, TOK_STAR, TOK_SLASH, TOK_PERCENT, TOK_POWER, TOK_FLOORDIV,
    TOK_AND, TOK_OR, TOK_XOR, TOK_SHL, TOK_SHR,
    TOK_EQ, TOK_NE, TOK_LT, TOK_LE, TOK_GT, TOK_GE,
} TokKind;

typedef struct Token {
    TokKind kind;
    uint32_t start, end;            /* bytes of the text */
    bool escaped;                   /* STRING: had a backslash */
    union { Str s; /* WORD, STRING (decoded) */ uint64_t i; /* INT, without sign */ double f; /* FLOAT, IMAGINARY */ };
} Token;

/* A copy of a Lexer goes back to where it was taken, as long as no NEWLINE was read in between. */
typedef struct Lexer {
    Ctx *cx;
    const Text *text;
    uint32_t at;
    uint32_t nesting;               /* open brackets: newlines inside are blanks */
    bool at_line_start;
    bool ended;                     /* the last line's NEWLINE has been given */
    uint32_t dedents;               /* still to be given */
    VEC(uint32_t) indent;           /* columns of the open blocks */
    Token tok;                      /* the current token */
} Lexer;

/* The first token is read. False after an error. */
MUST_USE bool lex_open(Lexer *lx, Ctx *cx, const Text *text);
MUST_USE bool lex_next(Lexer *lx);
/* Does this text stand behind the current token, but for blanks? */
bool lex_followed_by(const Lexer *lx, const char *punctuation);
/* Fails at bytes [start, end) of the text; returns false. */
bool text_fail(Ctx *cx, ErrorCode code, const Text *text, uint32_t start, uint32_t end, const char *fmt, ...) PRINTF_LIKE(6, 7);

#endif
