# not on Windows: the terminal of wine draws each letter by itself
# Headings are bold on a terminal, unless NO_COLOR or TERM says otherwise.
show() { env "$@" python3 -c 'import pty; pty.spawn(["pt2onnx", "show", "net.pt2"])' | tr -d '\r' | cat -v | head -4; }
show TERM=xterm
show TERM=xterm NO_COLOR=1
show TERM=dumb
