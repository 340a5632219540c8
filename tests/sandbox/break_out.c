/* break_out.c - with cli/ a build of the program that turns on its user: when the model is written,
 * which is behind the sandbox's door, it tries to open a file, to fork and to connect. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *what, int ok)
{
    fprintf(stderr, "%s: %s\n", what, ok ? "done" : strerror(errno));
}

static int connected(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return fd >= 0 && (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 || errno != EPERM);
}

static void attack(void)
{
    tell("open", open("/etc/passwd", O_RDONLY) >= 0);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    tell("fork", child > 0 && waitpid(child, NULL, 0) == child);
    tell("connect", connected());
}

/* The library's calls come here before they reach libc's. */
int fsync(int fd)
{
    static int attacked;
    if (!attacked++)
        attack();
    return (int)syscall(SYS_fsync, fd);
}
