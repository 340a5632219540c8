/* process_windows.c - process.h by Windows. There is no fork: a process of our own is this program
 * again, with the same command line, and the number of its work in its environment. */
#ifdef _WIN32
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

#include <shellapi.h>

enum { SAID_MOST = 1 << 20 };

/* ---- the command line and the terminal ---- */

static char *utf8(const wchar_t *w)
{
    int n = WideCharToMultiByte(CP_UTF8, 0, w, -1, NULL, 0, NULL, NULL);
    char *text = n > 0 ? malloc((size_t)n) : NULL;
    if (text)
        WideCharToMultiByte(CP_UTF8, 0, w, -1, text, n, NULL, NULL);
    return text;
}

typedef struct Words {
    char **at;
    size_t n, room;
    bool failed;
} Words;

/* The list of words ends with a NULL, and takes the text over. */
static void add_word(Words *words, char *text)
{
    if (words->n + 2 > words->room) {
        size_t room = 2 * words->room + 8;
        char **at = realloc(words->at, room * sizeof *at);
        if (at) {
            words->at = at;
            words->room = room;
        }
    }
    if (!text || words->n + 2 > words->room) {
        words->failed = true;
        free(text);
        return;
    }
    words->at[words->n++] = text;
    words->at[words->n] = NULL;
}

/* The name that a pattern has found, in the pattern's folder. */
static char *found_path(const char *pattern, const wchar_t *name)
{
    size_t n = sys_folder_length(pattern);
    char *found = utf8(name);
    char *path = found ? malloc(n + strlen(found) + 1) : NULL;
    if (path) {
        memcpy(path, pattern, n);
        strcpy(path + n, found);
    }
    free(found);
    return path;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* No shell of Windows writes *.pt out: we do it, sorted, as a POSIX shell does; a pattern that
 * nothing matches stays as it is. */
static bool add_matches(Words *words, const wchar_t *word)
{
    WIN32_FIND_DATAW found;
    char *pattern = utf8(word);
    size_t before = words->n;
    HANDLE search = pattern && *word != L'-' && wcspbrk(word, L"*?") ? FindFirstFileW(word, &found)
                                                                     : INVALID_HANDLE_VALUE;
    if (search != INVALID_HANDLE_VALUE) {
        do {
            if (!(found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY))
                add_word(words, found_path(pattern, found.cFileName));
        } while (FindNextFileW(search, &found));
        FindClose(search);
    }
    free(pattern);
    if (words->n > before)
        qsort(words->at + before, words->n - before, sizeof *words->at, by_text);
    return words->n > before;
}

static bool wide_words(int *argc, char ***argv)
{
    int n;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &n);
    Words words = { 0 };
    if (!wide)
        return false;
    for (int i = 0; i < n; i++)
        if (i == 0 || !add_matches(&words, wide[i]))
            add_word(&words, utf8(wide[i]));
    LocalFree(wide);
    *argc = (int)words.n;
    *argv = words.at;
    return !words.failed && words.n > 0;
}

static UINT page_before; /* the code page of the console, which is ours to change and to restore */

static void restore_console(void)
{
    if (page_before)
        SetConsoleOutputCP(page_before);
}

/* Escape sequences for colours, and UTF-8. A terminal before Windows 10 has no such mode, and is
 * none for us then. */
static bool understands_escapes(DWORD which)
{
    DWORD mode;
    HANDLE h = GetStdHandle(which);
    return GetConsoleMode(h, &mode) &&
        SetConsoleMode(h, mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

bool process_on_terminal(FILE *f)
{
    return _isatty(_fileno(f)) &&
        understands_escapes(f == stderr ? STD_ERROR_HANDLE : STD_OUTPUT_HANDLE);
}

bool process_begin(int *argc, char ***argv)
{
    _setmode(_fileno(stdout), _O_BINARY);
    _setmode(_fileno(stderr), _O_BINARY);
    if (_isatty(_fileno(stdout)) || _isatty(_fileno(stderr))) {
        page_before = GetConsoleOutputCP();
        SetConsoleOutputCP(CP_UTF8);
        atexit(restore_console);
    }
    return wide_words(argc, argv);
}

long process_processors(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return (long)info.dwNumberOfProcessors;
}

/* ---- Ctrl-C ---- */

static void (*clean_up)(void);

/* In a thread of its own. Those that we have started get it too: they are in the same console. */
static BOOL WINAPI on_break(DWORD event)
{
    (void)event;
    clean_up();
    restore_console();
    return FALSE; /* the system's own handler ends the process */
}

void process_catch_signals(void (*clean)(void))
{
    clean_up = clean;
    SetConsoleCtrlHandler(on_break, TRUE);
}

/* ---- processes ---- */

static const wchar_t number_name[] = L"PT2ONNX_WORK_NUMBER";

/* A process, and the threads that read what it says: a pipe can only be waited for by reading. */
typedef struct Worker {
    Process *process;
    HANDLE reader[STREAMS];
} Worker;

static Worker worker[PROCESSES_MOST];
static HANDLE process_handle[PROCESSES_MOST]; /* the same, for WaitForMultipleObjects */
static DWORD n_workers;

bool process_is_started(size_t *number)
{
    wchar_t text[24];
    DWORD n = GetEnvironmentVariableW(number_name, text, sizeof text / sizeof *text);
    if (n == 0 || n >= sizeof text / sizeof *text)
        return false;
    *number = (size_t)wcstoull(text, NULL, 10);
    return true;
}

/* What one pipe says, until it is closed at its other end. */
static void drain(Process *p, Stream s)
{
    char some[1 << 14];
    DWORD n;
    while (ReadFile((HANDLE)p->from[s], some, sizeof some, &n, NULL) && n > 0)
        if (p->said[s].n < SAID_MOST)
            text_add(&p->said[s], some, n);
    CloseHandle((HANDLE)p->from[s]);
}

static DWORD WINAPI drain_out(void *p)
{
    drain(p, SAID_OUT);
    return 0;
}

static DWORD WINAPI drain_err(void *p)
{
    drain(p, SAID_ERR);
    return 0;
}

/* All processes that are in this job end when we do, however we end. */
static void bind_to_us(HANDLE process)
{
    static HANDLE job;
    if (!job) {
        JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = { 0 };
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        job = CreateJobObjectW(NULL, NULL);
        SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
    }
    AssignProcessToJobObject(job, process);
}

/* This program once more; its output goes into the two pipes, and no other handle is inherited. It
 * waits to be let run. */
static bool spawn(HANDLE out, HANDLE err, PROCESS_INFORMATION *made)
{
    HANDLE inherited[] = { out, err };
    SIZE_T size = 0;
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    STARTUPINFOEXW start = { .StartupInfo.cb = sizeof start,
                             .StartupInfo.dwFlags = STARTF_USESTDHANDLES,
                             .StartupInfo.hStdOutput = out,
                             .StartupInfo.hStdError = err,
                             .lpAttributeList = malloc(size) };
    wchar_t *line = _wcsdup(GetCommandLineW());
    wchar_t *program = calloc(32768, sizeof *program);
    bool ok = start.lpAttributeList && line && program &&
        GetModuleFileNameW(NULL, program, 32768) > 0 &&
        InitializeProcThreadAttributeList(start.lpAttributeList, 1, 0, &size) &&
        UpdateProcThreadAttribute(start.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                  inherited, sizeof inherited, NULL, NULL) &&
        CreateProcessW(program, line, NULL, NULL, TRUE,
                       CREATE_SUSPENDED | EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                       &start.StartupInfo, made);
    free(start.lpAttributeList);
    free(line);
    free(program);
    return ok;
}

/* A pipe of which only our end to read stays with us. */
static bool make_pipe(HANDLE ends[2])
{
    return CreatePipe(&ends[0], &ends[1], NULL, 0) &&
        SetHandleInformation(ends[1], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
}

static void close_handle(HANDLE h)
{
    if (h)
        CloseHandle(h);
}

static void begin_work(Process *p, const PROCESS_INFORMATION *made, HANDLE out, HANDLE err)
{
    p->from[SAID_OUT] = (SysFile)out;
    p->from[SAID_ERR] = (SysFile)err;
    Worker *w = &worker[n_workers];
    w->process = p;
    w->reader[SAID_OUT] = CreateThread(NULL, 0, drain_out, p, 0, NULL);
    w->reader[SAID_ERR] = CreateThread(NULL, 0, drain_err, p, 0, NULL);
    process_handle[n_workers++] = made->hProcess;
    bind_to_us(made->hProcess);
    ResumeThread(made->hThread);
    CloseHandle(made->hThread);
}

/* See process.h. The work is told to the new process by its number. */
bool process_start(Process *p, int (*work)(const void *arg), const void *arg, size_t number)
{
    wchar_t text[24];
    HANDLE out[2] = { NULL, NULL };
    HANDLE err[2] = { NULL, NULL };
    PROCESS_INFORMATION made;
    (void)work, (void)arg;
    swprintf(text, sizeof text / sizeof *text, L"%llu", (unsigned long long)number);
    SetEnvironmentVariableW(number_name, text);
    bool ok = make_pipe(out) && make_pipe(err) && spawn(out[1], err[1], &made);
    SetEnvironmentVariableW(number_name, NULL);
    close_handle(out[1]);
    close_handle(err[1]);
    if (ok) {
        begin_work(p, &made, out[0], err[0]);
        return true;
    }
    close_handle(out[0]);
    close_handle(err[0]);
    errno = EAGAIN;
    return false;
}

/* How a process has ended that its number says: an exit code is small, a crash is 0xC0000005. */
static void end_process(Process *p, DWORD code)
{
    const DWORD ctrl_c = 0xC000013A;
    p->ended = true;
    p->code = code < 256 ? (int)code : -1;
    p->why = code == ctrl_c ? "it was stopped" : "the converter has crashed; please report it";
    p->crashed = code != ctrl_c;
}

/* See process.h. */
void processes_listen(void (*ended)(const Process *p))
{
    DWORD code = 0;
    DWORD i = WaitForMultipleObjects(n_workers, process_handle, FALSE, INFINITE);
    if (i >= n_workers)
        return;
    Worker w = worker[i];
    WaitForMultipleObjects(STREAMS, w.reader, TRUE, INFINITE);
    GetExitCodeProcess(process_handle[i], &code);
    for (int s = 0; s < STREAMS; s++)
        CloseHandle(w.reader[s]);
    CloseHandle(process_handle[i]);
    n_workers--;
    worker[i] = worker[n_workers];
    process_handle[i] = process_handle[n_workers];
    end_process(w.process, code);
    ended(w.process);
}
#endif
