/* script.c - the grammar is two tables of forms. In a form `$x` stands for an expression of type x:
 *
 *     t Tensor   i int   f float   b bool   s str   n int or float   d a small int   z about 0
 *     y a dtype   I List[int]   F List[float]   T List[Tensor]   N List[List[int]]
 *     D Dict[str, Tensor]   o Optional[Tensor]   p Tuple[Tensor, int]   c an object of class C
 *     w List[str]   L List[Dict[str, Tensor]]   P List[Tuple[Tensor, int]]
 *     J Dict[int, List[Tensor]]
 *
 * and `$*` for a call of any operator of the tables with what its schema asks for. */
#include "fuzz/make/script.h"
#include "fuzz/make/schemas.h"

enum { VARS = 48, DEPTH = 3, BUDGET = 160, STATEMENTS = 10, NESTING = 3 };

static const char types[] = "tifbsIFTNDopcwLPJ";
static const char *const type_names[] = {
    "Tensor",
    "int",
    "float",
    "bool",
    "str",
    "List[int]",
    "List[float]",
    "List[Tensor]",
    "List[List[int]]",
    "Dict[str, Tensor]",
    "Optional[Tensor]",
    "Tuple[Tensor, int]",
    "__torch__.C",
    "List[str]",
    "List[Dict[str, Tensor]]",
    "List[Tuple[Tensor, int]]",
    "Dict[int, List[Tensor]]",
};

/* The first letter is the type of the whole. */
static const char *const forms[] = {
    "t torch.relu($t)",
    "t torch.neg($t)",
    "t torch.add($t, $t)",
    "t torch.add($t, $n)",
    "t torch.sub($t, $t, alpha=$n)",
    "t torch.mul($t, $t)",
    "t torch.div($t, $n)",
    "t torch.div($t, $t, rounding_mode=\"floor\")",
    "t torch.matmul($t, $t)",
    "t torch.cat($T, $d)",
    "t torch.stack($T, $d)",
    "t torch.sum($t)",
    "t torch.sum($t, $I, $b)",
    "t torch.mean($t, [$d], $b)",
    "t torch.argmax($t, $d)",
    "t torch.cumsum($t, $d)",
    "t torch.select($t, $d, $i)",
    "t torch.slice($t, $d, $i, $i, $i)",
    "t torch.narrow($t, $d, $i, $i)",
    "t torch.reshape($t, $I)",
    "t torch.view($t, [-1, $i])",
    "t torch.permute($t, $I)",
    "t torch.transpose($t, $d, $d)",
    "t torch.unsqueeze($t, $d)",
    "t torch.squeeze($t, $d)",
    "t torch.squeeze($t)",
    "t torch.flatten($t, $d, $d)",
    "t torch.expand($t, $I)",
    "t torch.expand_as($t, $t)",
    "t torch.repeat($t, $I)",
    "t torch.as_strided($t, $I, $I, $i)",
    "t torch.pad($t, $I, \"reflect\")",
    "t torch.unfold($t, $d, $i, $i)",
    "t torch.flip($t, [$d])",
    "t torch.roll($t, $I, $I)",
    "t torch.to($t, $y)",
    "t torch.to($t, $t)",
    "t torch.index($t, annotate(List[Optional[Tensor]], [$o, $o]))",
    "t torch.index($t, annotate(List[Optional[Tensor]], [torch.gt($t, $n)]))",
    "t torch.index_put_($t, annotate(List[Optional[Tensor]], [$o]), $t)",
    "t torch.index_select($t, $d, $t)",
    "t torch.gather($t, $d, $t)",
    "t torch.scatter($t, $d, $t, $t)",
    "t torch.embedding($t, $t)",
    "t torch.masked_fill($t, torch.gt($t, $n), $n)",
    "t torch.where(torch.gt($t, $n), $t, $t)",
    "t torch.nonzero($t)",
    "t torch.softmax($t, $d)",
    "t torch.layer_norm($t, $I)",
    "t torch.conv1d($t, $t, $o, $I)",
    "t torch.max_pool2d($t, $I, $I)",
    "t torch.linear($t, $t, $o)",
    "t torch.linear($t, self.m)",
    "t torch.matmul($t, self.m)",
    "t torch.index_select(self.m, 0, self.i)",
    "t torch.einsum(\"ij,kj->ik\", $T)",
    "t torch.zeros($I, dtype=$y)",
    "t torch.full($I, $n)",
    "t torch.arange($n)",
    "t torch.arange($n, $n, $n)",
    "t torch.tensor($n)",
    "t torch.tensor($I)",
    "t torch.tensor($F)",
    "t torch.zeros_like($t)",
    "t torch.new_zeros($t, $I)",
    "t torch.gt($t, $n)",
    "t torch.eq($t, $t)",
    "t torch.logical_not($t)",
    "t torch.add_($t, $t)",
    "t torch.mul_($t, $n)",
    "t torch.copy_($t, $t)",
    "t torch.fill_($t, $n)",
    "t torch.zero_($t)",
    "t torch.clone($t)",
    "t torch.contiguous($t)",
    "t torch.detach($t)",
    "t torch.view_as_complex($t)",
    "t torch.fft_fft($t)",
    "t ($T)[$z]",
    "t ($D)[$s]",
    "t ($p)[0]",
    "t torch.pop($T)",
    "t (($L)[$z])[$s]",
    "t (($P)[$z])[0]",
    "t (($J)[$z])[$z]",
    "t torch.get($D, $s, $t)",
    "t torch.requires_grad_($t)",
    "t unchecked_cast(Tensor, (torch.grad([torch.sum($t)], [$t], None, $b, $b, $b))[0])",
    "t unchecked_cast(Tensor, $o)",
    "t self.w",
    "t self.b",
    "t self.i",
    "t CONSTANTS.c0",
    "t ($c).v",
    "t (self).helper($t, $i)",
    "t __torch__.f(self, $t, $i)",
    "t (self.sub).forward($t)",
    "t $*",
    "t $*",
    "t $*",
    "t $*",
    "i torch.size($t, $d)",
    "i torch.dim($t)",
    "i torch.numel($t)",
    "i torch.len($T)",
    "i torch.len($I)",
    "i torch.len($N)",
    "i torch.len($D)",
    "i torch.add($i, $i)",
    "i torch.sub($i, $i)",
    "i torch.mul($i, $i)",
    "i torch.floordiv($i, $i)",
    "i torch.remainder($i, $i)",
    "i torch.neg($i)",
    "i ops.prim.max($i, $i)",
    "i ops.prim.min($I)",
    "i torch.__lshift__($i, $i)",
    "i int($t)",
    "i int($f)",
    "i int($b)",
    "i ops.prim.dtype($t)",
    "i ($I)[$z]",
    "i (($N)[$z])[$z]",
    "i ($p)[1]",
    "i torch.pop($I)",
    "i torch.len($L)",
    "i torch.len($J)",
    "i (($P)[$z])[1]",
    "i torch.len($s)",
    "i torch.find($s, $s)",
    "i torch.count($s, $s, $i, $i)",
    "i torch.ord($s)",
    "i int($s)",
    "i torch.gcd($i, $i)",
    "i torch.factorial($i)",
    "i torch.floor($f)",
    "i torch.index($I, $i)",
    "i torch.count($I, $i)",
    "i torch.bit_length($i)",
    "i self.k",
    "i ($c).n",
    "i (self.sub).k",
    "i ($c).count($i)",
    "f float($t)",
    "f float($i)",
    "f torch.add($f, $f)",
    "f torch.mul($f, $i)",
    "f torch.div($n, $n)",
    "f torch.sqrt($i)",
    "f torch.pow($n, $n)",
    "f ($F)[$z]",
    "f float($s)",
    "f torch.exp($n)",
    "f torch.log($n)",
    "f torch.fmod($n, $n)",
    "f torch.ldexp($n, $i)",
    "f torch.atan2($n, $n)",
    "f torch.round($f)",
    "f ops.prim.max($F)",
    "f self.x",
    "b bool($t)",
    "b bool(torch.gt(torch.sum($t), $n))",
    "b torch.gt($i, $i)",
    "b torch.eq($i, $i)",
    "b torch.lt($n, $n)",
    "b torch.eq($s, $s)",
    "b torch.eq($I, $I)",
    "b torch.eq($N, $N)",
    "b torch.ne($T, $T)",
    "b torch.__is__($o, None)",
    "b torch.__isnot__($o, None)",
    "b torch.__is__(($c).nx, None)",
    "b torch.__not__($b)",
    "b torch.__contains__($D, $s)",
    "b torch.__contains__($J, $z)",
    "b torch.__contains__($s, $s)",
    "b torch.startswith($s, $s)",
    "b torch.isdigit($s)",
    "b torch.isnan($f)",
    "b torch.__contains__($w, $s)",
    "b ops.prim.requires_grad($t)",
    "b torch.__contains__($I, $i)",
    "b ($b and $b)",
    "b ($b or $b)",
    "b isinstance($o, Tensor)",
    "b torch.is_floating_point($t)",
    "b self.training",
    "s torch.format(\"{}-{}\", $i, $s)",
    "s torch.add($s, $s)",
    "s torch.str($f)",
    "s torch.str($N)",
    "s ($s)[$z]",
    "s torch.upper($s)",
    "s torch.title($s)",
    "s torch.strip($s, $s)",
    "s torch.replace($s, $s, $s)",
    "s torch.slice($s, $i, $i, $i)",
    "s torch.join($s, $w)",
    "s torch.center($s, $i, $s)",
    "s torch.zfill($s, $i)",
    "s torch.expandtabs($s, $i)",
    "s torch.format(\"{}\", $w)",
    "s torch.percentFormat(\"%s %d\", ($s, $i))",
    "s torch.hex($i)",
    "s torch.chr($i)",
    "s (torch.partition($s, $s))[2]",
    "s ($w)[$z]",
    "I [$i, $i]",
    "I [$d]",
    "I [$i, $i, $i]",
    "I torch.size($t)",
    "I torch.add($I, $I)",
    "I torch.slice($I, $i, $i, 1)",
    "I torch.mul($I, $i)",
    "I torch.list($I)",
    "I torch.sorted($I)",
    "I annotate(List[int], [])",
    "I ($N)[$z]",
    "I self.l",
    "F [$f, $f]",
    "F annotate(List[float], [])",
    "F torch.add($F, $F)",
    "T [$t, $t]",
    "T [$t]",
    "T annotate(List[Tensor], [])",
    "T torch.split($t, $i, $d)",
    "T torch.chunk($t, $i, $d)",
    "T torch.unbind($t, $d)",
    "T torch.add($T, $T)",
    "T torch.slice($T, $i, $i, $i)",
    "T torch.values($D)",
    "T torch.list($T)",
    "T torch.meshgrid($T)",
    "T self.ts",
    "T ($J)[$z]",
    "T torch.pop($J, $z)",
    "N [$I, $I]",
    "N annotate(List[List[int]], [])",
    "N torch.add($N, $N)",
    "N torch.mul($N, $i)",
    "D {$s: $t, $s: $t}",
    "D annotate(Dict[str, Tensor], {})",
    "D torch.copy($D)",
    "D self.d",
    "D ($L)[$z]",
    "D torch.pop($L)",
    "o $t",
    "o annotate(Optional[Tensor], None)",
    "o annotate(Optional[Tensor], $t)",
    "p ($t, $i)",
    "p annotate(Tuple[Tensor, int], ($t, $i))",
    "p ($P)[$z]",
    "p torch.pop($P)",
    "c self.o",
    "c unchecked_cast(__torch__.C, ($c).nx)",
    "c __torch__.C.__new__(__torch__.C)",
    "w [$s, $s]",
    "w annotate(List[str], [])",
    "w torch.split($s, $s)",
    "w torch.splitlines($s)",
    "w torch.list($s)",
    "w torch.keys($D)",
    "w torch.sorted($w)",
    "L [$D, $D]",
    "L annotate(List[Dict[str, Tensor]], [])",
    "L torch.add($L, $L)",
    "L torch.slice($L, $i, $i, 1)",
    "P [$p]",
    "P annotate(List[Tuple[Tensor, int]], [])",
    "P torch.add($P, $P)",
    "P torch.list($P)",
    "J {$z: $T, $z: $T}",
    "J annotate(Dict[int, List[Tensor]], {})",
    "J torch.copy($J)",
};

static const char *const statements[] = {
    "_ = torch.append($T, $t)",
    "_ = torch.append($I, $i)",
    "_ = torch.append($N, $I)",
    "_ = torch.append($N, unchecked_cast(List[int], $N))",
    "_ = torch.extend($T, $T)",
    "_ = torch.extend($N, $N)",
    "_ = torch.insert($T, $i, $t)",
    "_ = torch.clear($T)",
    "_ = torch.reverse($I)",
    "_ = torch.sort($I)",
    "_ = torch._set_item($T, $z, $t)",
    "_ = torch._set_item($I, $z, $i)",
    "_ = torch._set_item($D, $s, $t)",
    "_ = torch.Delete($D, $s)",
    "_ = torch.pop($D, $s)",
    "_ = torch.update($D, $D)",
    "_ = torch.setdefault($D, $s, $t)",
    "_ = torch.clear($D)",
    "_ = torch.append($L, $D)",
    "_ = torch._set_item(($L)[$z], $s, $t)",
    "_ = torch.insert($L, $i, $D)",
    "_ = torch.append($P, $p)",
    "_ = torch._set_item($P, $z, $p)",
    "_ = torch.extend($P, $P)",
    "_ = torch.reverse($P)",
    "_ = torch.append(($J)[$z], $t)",
    "_ = torch._set_item($J, $z, $T)",
    "_ = torch.append($w, $s)",
    "_ = torch.backward(torch.sum($t))",
    "_ = torch.add_($t, $t)",
    "_ = torch.copy_(torch.select($t, $d, $i), $t)",
    "_ = torch.copy_(torch.slice($t, $d, $i, $i, 1), $t)",
    "_ = ($c).__init__($t, $i)",
    "_ = ($c).link($c)",
    "self.b = $t",
    "self.w = $t",
    "self.k = $i",
    "self.l = $I",
    "self.ts = $T",
    "self.d = $D",
    "self.o = $c",
    "print($t, $I)",
    "ops.prim.RaiseException($s)",
};

typedef struct Var {
    char type;
    uint32_t number;
} Var;

typedef struct Gen {
    Choices *c;
    Out *text;
    Var var[VARS];
    uint32_t n_var, numbered;
    const Var *wanted; /* the variable that most expressions of its type are, or NULL */
    int indent, budget;
} Gen;

/* ---- expressions ---- */

static void expr(Gen *g, char type, int depth);

static size_t forms_of(char type, const char **out)
{
    size_t n = 0;
    for (size_t i = 0; i < COUNT(forms); i++)
        if (forms[i][0] == type)
            out[n++] = forms[i] + 2;
    return n;
}

static void int_literal(Gen *g)
{
    static const int64_t usual[] = { 1, 0, 2, -1, 3, -2, 4, 5 };
    static const char *const odd[] = {
        "2147483648", "4611686018427387904", "-9223372036854775808", "1000000007", "-3", "17",
        "65536",      "9223372036854775807"
    };
    if (one_in(g->c, 24))
        out_text(g->text, CHOICE_OF(g->c, odd));
    else
        out_fmt(g->text, "%lld", (long long)CHOICE_OF(g->c, usual));
}

static void float_literal(Gen *g)
{
    static const char *const all[] = { "0.5",  "0.",  "-1.5",  "2.",    "inf",
                                       "-inf", "nan", "1e+30", "1e-300" };
    out_text(g->text, CHOICE_OF(g->c, all));
}

/* The simplest expression of a type that needs no variable, or one that others see change. */
static void literal(Gen *g, char type)
{
    static const char *const words[][3] = {
        { "I", "annotate(List[int], [1, 2])", "self.l" },
        { "F", "[0.5]", "[0.5]" },
        { "T", "[self.w, self.w]", "self.ts" },
        { "N", "[[1, 2], [3]]", "[[1, 2], [3]]" },
        { "D", "{\"a\": self.b}", "self.d" },
        { "o", "self.b", "annotate(Optional[Tensor], None)" },
        { "p", "(self.w, 1)", "(self.b, 2)" },
        { "c", "self.o", "self.o" },
        { "t", "self.w", "self.b" },
        { "w", "[\"a\", \"b\"]", "[\"a\", \"b\"]" },
        { "L", "[{\"a\": self.b}]", "[self.d, self.d]" },
        { "P", "[(self.w, 1)]", "[(self.w, 1)]" },
        { "J", "{1: [self.w]}", "{1: self.ts, 0: self.ts}" },
    };
    static const char *const strings[] = { "\"a\"",    "\"b\"",    "\"\"",
                                           "\"mean\"", "\"-12 \"", "\"\\té\"" };
    if (type == 'i')
        int_literal(g);
    else if (type == 'f')
        float_literal(g);
    else if (type == 'b')
        out_text(g->text, choose(g->c, 2) ? "False" : "True");
    else if (type == 's')
        out_text(g->text, CHOICE_OF(g->c, strings));
    for (size_t i = 0; i < COUNT(words); i++)
        if (words[i][0][0] == type)
            out_text(g->text, words[i][1 + choose(g->c, 2)]);
}

static void leaf(Gen *g, char type)
{
    uint32_t at[VARS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_var; i++)
        if (g->var[i].type == type)
            at[n++] = g->var[i].number;
    if (g->wanted && g->wanted->type == type && !one_in(g->c, 3))
        out_fmt(g->text, "v%u", g->wanted->number);
    else if (n > 0 && !one_in(g->c, 5))
        out_fmt(g->text, "v%u", at[n - 1 - choose(g->c, n)]);
    else
        literal(g, type);
}

static char letter_of(const Param *p)
{
    bool is_dim = p->name && strncmp(p->name->s, "dim", 3) == 0;
    switch (p->base) {
    case A_TENSOR: return p->list ? 'T' : 't';
    case A_SCALAR: return p->list ? 'F' : 'n';
    case A_INT:
        if (is_dim && !p->list)
            return 'd';
        return p->list ? 'I' : 'i';
    case A_FLOAT:         return p->list ? 'F' : 'f';
    case A_BOOL:          return 'b';
    case A_STR:           return 's';
    case A_DTYPE:         return 'y';
    case A_MEMORY_FORMAT: return 'd';
    default:              return 't';
    }
}

static void argument(Gen *g, const Param *p, int depth)
{
    bool none = p->base == A_GENERATOR || (p->optional && choose(g->c, 2) == 0);
    if (none)
        out_text(g->text, "None");
    else if (p->base == A_DEVICE)
        out_text(g->text, "torch.device(\"cpu\")");
    else if (p->base == A_LAYOUT)
        out_text(g->text, "0");
    else if (p->base == A_TENSOR && p->elem_optional)
        out_text(g->text, "annotate(List[Optional[Tensor]], ["), expr(g, 'o', depth),
            out_text(g->text, "])");
    else
        expr(g, letter_of(p), depth);
}

/* torch.sum(x, [1], keepdim=True); defaults are left out more often than not. */
static void call_any(Gen *g, int depth)
{
    const Schema *s = choose_schema(g->c);
    const char *name = strstr(s->name->s, "::") + 2;
    bool aten = strncmp(s->name->s, "aten::", 6) == 0;
    if (aten)
        out_fmt(g->text, "torch.%s%s(", name, one_in(g->c, 16) ? "_" : "");
    else
        out_fmt(g->text, "ops.%.*s.%s(", (int)(name - 2 - s->name->s), s->name->s, name);
    bool named = false;
    bool first = true;
    for (int i = 0; i < s->n_param; i++) {
        const Param *p = &s->param[i];
        if (p->has_default && choose(g->c, 3) != 2) {
            named = true;
            continue;
        }
        out_text(g->text, first ? "" : ", ");
        first = false;
        if ((named || p->kwonly) && p->name)
            out_fmt(g->text, "%s=", p->name->s);
        argument(g, p, depth);
    }
    out_text(g->text, ")");
}

static void expand(Gen *g, const char *form, int depth)
{
    for (const char *at = form; *at; at++) {
        if (*at != '$') {
            out_put(g->text, at, 1);
            continue;
        }
        at++;
        if (*at == '*')
            call_any(g, depth);
        else
            expr(g, *at, depth);
    }
}

static void expr(Gen *g, char type, int depth)
{
    const char *at[COUNT(forms)];
    static const char *const dims[] = { "0", "1", "-1", "0", "-1", "2", "-2", "0", "3", "-4" };
    static const char *const dtypes[] = { "6", "4", "7", "5", "11", "0", "1", "2", "3", "9", "15" };
    static const char *const near_0[] = { "0", "-1", "1", "0", "0" };
    if (type == 'n')
        type = choose(g->c, 2) ? 'f' : 'i';
    if (one_in(g->c, 64))
        type = types[choose(g->c, sizeof types - 1)];
    g->budget--;
    if (type == 'd' && !one_in(g->c, 12)) {
        out_text(g->text, CHOICE_OF(g->c, dims));
        return;
    }
    if (type == 'y') {
        out_text(g->text, CHOICE_OF(g->c, dtypes));
        return;
    }
    if (type == 'z' && !one_in(g->c, 12)) {
        out_text(g->text, CHOICE_OF(g->c, near_0));
        return;
    }
    if (type == 'd' || type == 'z')
        type = 'i';
    if (depth <= 0 || g->budget <= 0 || choose(g->c, 3) != 2) {
        leaf(g, type);
        return;
    }
    size_t n = forms_of(type, at);
    expand(g, at[choose(g->c, (uint32_t)n)], depth - 1);
}

/* ---- statements ---- */

static void new_line(Gen *g)
{
    out_text(g->text, "\n");
    for (int i = 0; i < g->indent; i++)
        out_text(g->text, "  ");
}

static uint32_t add_var(Gen *g, char type)
{
    uint32_t number = g->numbered++;
    if (g->n_var < VARS)
        g->var[g->n_var++] = (Var){ type, number };
    return number;
}

/* A variable gets its value; it may be used behind that. */
static void assign_of(Gen *g, char type)
{
    const char *at[COUNT(forms)];
    size_t n = forms_of(type, at);
    out_fmt(g->text, "v%u = ", g->numbered);
    if (one_in(g->c, 4))
        expr(g, type, DEPTH);
    else
        expand(g, at[choose(g->c, (uint32_t)n)], DEPTH - 1);
    add_var(g, type);
}

static void assign(Gen *g)
{
    static const char others[] = "TDiIDbfsTNDopcFwLPJT";
    bool tensor = choose(g->c, 3) != 2;
    assign_of(g, tensor ? 't' : others[choose(g->c, sizeof others - 1)]);
}

static void assign_again(Gen *g)
{
    Var v = g->var[choose(g->c, g->n_var)];
    out_fmt(g->text, "v%u = ", v.number);
    expr(g, v.type, DEPTH);
}

static void assign_pair(Gen *g)
{
    static const char *const pairs[] = {
        "ti$p",
        "tttorch.max($t, $d, $b)",
        "tttorch.sort($t, $d, $b)",
        "tttorch.topk($t, $i, $d)",
        "tt[$t, $t]",
        "ii$I",
        "tt$T",
        "titorch.popitem($D)",
    };
    const char *form = CHOICE_OF(g->c, pairs);
    out_fmt(g->text, "v%u, v%u, = ", g->numbered, g->numbered + 1);
    expand(g, form + 2, DEPTH - 1);
    add_var(g, form[0]);
    add_var(g, form[1]);
}

static void block(Gen *g, int nesting, uint32_t least);

/* Half of the conditions only the running model knows. */
static void condition(Gen *g)
{
    if (choose(g->c, 2) == 0)
        expr(g, 'b', DEPTH);
    else
        expand(g, "bool(torch.gt(torch.sum($t), $n))", 1);
}

static void branch(Gen *g, int nesting)
{
    out_text(g->text, "if ");
    condition(g);
    out_text(g->text, ":");
    block(g, nesting, 1);
    if (choose(g->c, 3) == 0)
        return;
    new_line(g);
    out_text(g->text, "else:");
    block(g, nesting, 1);
}

static void count_loop(Gen *g, int nesting)
{
    out_fmt(g->text, "for v%u in range(", g->numbered);
    uint32_t kept = g->n_var;
    if (one_in(g->c, 3))
        expand(g, "int(torch.sum($t))", 1); /* only the running model knows how often */
    else
        expr(g, 'i', 1);
    out_text(g->text, "):");
    add_var(g, 'i');
    block(g, nesting, 1);
    g->n_var = kept;
}

/* The condition is a variable that the body gives another value, as torch writes it. */
static void while_loop(Gen *g, int nesting)
{
    uint32_t go = g->numbered;
    out_fmt(g->text, "v%u = ", go);
    condition(g);
    add_var(g, 'b');
    new_line(g);
    out_fmt(g->text, "while v%u:", go);
    block(g, nesting, 1);
    g->indent++;
    new_line(g);
    g->indent--;
    out_fmt(g->text, "v%u = ", go);
    condition(g);
}

/* y = f(x, ..) * sum(x), and the gradient of its sum by x. */
static void gradient(Gen *g)
{
    const char *at[COUNT(forms)];
    size_t n = forms_of('t', at);
    uint32_t x = g->numbered;
    const Var wanted = { 't', x };
    out_fmt(g->text, "v%u = torch.requires_grad_(torch.detach(torch.to(", x);
    leaf(g, 't');
    out_text(g->text, ", 6)))");
    add_var(g, 't');
    new_line(g);
    uint32_t y = g->numbered;
    out_fmt(g->text, "v%u = torch.mul(", y);
    g->wanted = &wanted;
    expand(g, one_in(g->c, 2) ? "$*" : at[choose(g->c, (uint32_t)n)], DEPTH - 1);
    g->wanted = NULL;
    out_fmt(g->text, ", torch.sum(v%u))", x);
    add_var(g, 't');
    new_line(g);
    out_fmt(g->text, "v%u = (torch.grad([torch.sum(v%u)], [v%u], None, None, True, True))[0]",
            g->numbered, y, x);
    add_var(g, 'o');
}

static void statement(Gen *g, int nesting)
{
    uint32_t kind = choose(g->c, nesting == NESTING ? 13 : 12);
    new_line(g);
    if (kind < 5 || (kind >= 9 && nesting <= 0) || g->budget <= 0)
        assign(g);
    else if (kind == 5)
        assign_again(g);
    else if (kind == 6)
        assign_pair(g);
    else if (kind < 9)
        expand(g, CHOICE_OF(g->c, statements), DEPTH - 1);
    else if (kind == 9)
        branch(g, nesting - 1);
    else if (kind == 10)
        count_loop(g, nesting - 1);
    else if (kind == 11)
        while_loop(g, nesting - 1);
    else
        gradient(g);
}

/* What a block defines ends with it; seldom it does not, and the program is wrong. */
static void block(Gen *g, int nesting, uint32_t least)
{
    uint32_t n = least + choose(g->c, nesting > 1 ? STATEMENTS : 3);
    uint32_t kept = g->n_var;
    g->indent++;
    for (uint32_t i = 0; i < n; i++)
        statement(g, nesting);
    g->indent--;
    if (!one_in(g->c, 32))
        g->n_var = kept;
}

/* ---- functions ---- */

static const char *name_of(char type) { return type_names[strchr(types, type) - types]; }

static void function(Gen *g, const char *head, const char *params, char result)
{
    g->n_var = g->numbered = 0;
    g->budget = BUDGET;
    out_text(g->text, head);
    for (const char *p = params; *p; p++) {
        bool first = p == params && !strstr(head, "self");
        out_fmt(g->text, "%sv%u: %s", first ? "" : ", ", g->numbered, name_of(*p));
        add_var(g, *p);
    }
    out_fmt(g->text, ") -> %s:", result ? name_of(result) : "Any");
    uint32_t n = (result ? 0 : 1) + choose(g->c, result ? 3 : STATEMENTS);
    for (uint32_t i = 0; i < n; i++)
        statement(g, result ? 1 : NESTING);
    new_line(g);
    out_text(g->text, "return ");
}

/* Up to three results; the first is a tensor more often than not. */
static void results(Gen *g)
{
    uint32_t n = 1 + choose(g->c, 3);
    out_text(g->text, n > 1 ? "(" : "");
    for (uint32_t i = 0; i < n; i++) {
        char type = choose(g->c, 3) != 2 ? 't' : types[choose(g->c, sizeof types - 1)];
        expr(g, type, i ? 1 : DEPTH);
        out_text(g->text, i + 1 < n ? ", " : "");
    }
    out_text(g->text, n > 1 ? ")" : "");
    out_text(g->text, "\n");
}

static void small_function(Gen *g, const char *head, const char *params, int indent)
{
    g->indent = indent;
    function(g, head, params, 't');
    expr(g, 't', DEPTH);
    out_text(g->text, "\n");
}

/* What inputs of other types are: a list, a dict and a tuple have parts. */
static const char *const other_specs[] = {
    "i=2",     "f=0.5",          "b=True",           "s=\"a\"",          "I.0=1",
    "I.1=2",   "F.0=0.5",        "T.0:float32[2,3]", "T.1:float32[2,3]", "N.0.0=1",
    "N.1.0=2", "D.a:float32[3]", "D.b:float32[2,3]", "o:float32[2,3]",   "p.1=1",
};

static void add_spec(Script *s, uint32_t number, const char *of_type)
{
    if (s->n_spec < SCRIPT_SPECS)
        snprintf(s->spec[s->n_spec++], SPEC_ROOM, "v%u%s", number, of_type + 1);
}

/* What the inputs are; a quarter of the tensors are left to pt2onnx to guess. */
static void choose_specs(Script *s, Choices *c, const char *params)
{
    static const char *const tensors[] = { "float32[2,3]", "float32[N,3]",     "float32[3]",
                                           "int64[4]",     "float32[?,?]",     "float32[N,M]",
                                           "bool[2,3]",    "float32[]",        "float16[0,3]",
                                           "int32[N]",     "float64[1,3]",     "complex64[2,3]",
                                           "uint8[2,3]",   "float32[1,2,4,4]", "float32[N,64]" };
    for (uint32_t i = 0; params[i]; i++) {
        char *spec = s->spec[s->n_spec];
        if (params[i] != 't' && one_in(c, 32))
            continue;
        if (params[i] == 't' && choose(c, 4) != 0 && s->n_spec < SCRIPT_SPECS) {
            snprintf(spec, SPEC_ROOM, "v%u:%s", i, CHOICE_OF(c, tensors));
            s->n_spec++;
        }
        for (size_t k = 0; k < COUNT(other_specs); k++)
            if (other_specs[k][0] == params[i])
                add_spec(s, i, other_specs[k]);
    }
}

Script choose_script(Choices *c)
{
    static const char *const inputs[] = { "t",  "tt", "ti", "tti", "tT", "to", "tb",
                                          "tI", "D",  "tf", "ts",  "pt", "N",  "tif" };
    Script s = { 0 };
    Gen g = { .c = c, .text = &s.code.of_m };
    const char *params = CHOICE_OF(c, inputs);
    choose_specs(&s, c, params);
    g.indent = 2;
    function(&g, "  def forward(self: __torch__.M", params, 0);
    results(&g);
    small_function(&g, "  def helper(self: __torch__.M", "ti", 2);
    g.text = &s.code.of_s;
    small_function(&g, "  def forward(self: __torch__.S", "t", 2);
    g.text = &s.code.functions;
    small_function(&g, "def f(self: __torch__.M", "ti", 1);
    return s;
}
