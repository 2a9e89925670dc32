"""Run a program in a terminal of its own and show what it wrote there.

Usage:  python terminal.py COLUMNS TRIGGER KEYS PROGRAM [ARGUMENT ...]

KEYS (backslash escapes as in Python) are typed when TRIGGER, a regular expression, first matches the output; with an
empty TRIGGER nothing is typed. Prints the exit code on the first line, then the output with its control characters.
"""

import codecs
import fcntl
import os
import pty
import re
import struct
import sys
import termios

columns, trigger, keys = int(sys.argv[1]), sys.argv[2], codecs.decode(sys.argv[3], "unicode_escape")
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    os.execvp(sys.argv[4], sys.argv[4:])
output = b""
while True:
    try:
        some = os.read(terminal, 65536)
    except OSError:
        break
    if not some:
        break
    output += some
    if trigger and re.search(trigger, output.decode(errors="replace")):
        trigger = ""
        os.write(terminal, keys.encode())
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.stdout.buffer.write(b"%d\n" % status + output)
