// storage/: tells processes of a machine apart, also when a pid is used again, from what Linux shows under /proc. Other
// systems show less, and then a pid alone has to do.

import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { hostMark, type ProcessMark } from './lock-rules.ts'

let mark: ProcessMark | undefined

/** The mark of this process. */
export function ownMark(): ProcessMark {
  mark ??= {
    pid: process.pid,
    start: startOf(process.pid) ?? '0',
    space: /\d+/.exec(tryRead(() => readlinkSync('/proc/self/ns/pid')))?.[0] ?? '0',
    boot: tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')).replaceAll(/\W/g, '') || '0',
    host: hostMark(hostname()),
  }
  return mark
}

/** When the process `pid` started ('0' where it cannot be told), or undefined when there is none, or only its remains. */
export function startOf(pid: number): string | undefined {
  if (pid === mark?.pid) return mark.start
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it is there, but another user's.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return undefined
  }
  // Fields 3 (state) and 22 (start) of proc(5); the second, a name in parentheses, may itself contain anything.
  const stat = tryRead(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return undefined
  return rest[18] ?? '0'
}

function tryRead(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
