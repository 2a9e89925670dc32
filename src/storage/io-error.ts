// storage/: coded errors for what the file system refuses.

import { LoaderxError } from '../errors.ts'

/** A coded error for a failed system call on `path`. */
export function ioError(action: string, path: string, cause: unknown, offset?: number): LoaderxError {
  const code = (cause as NodeJS.ErrnoException).code
  const where = offset === undefined ? path : `${path} at byte ${offset}`
  const details = offset === undefined ? { path } : { path, offset }
  if (code === 'ENOENT') {
    return new LoaderxError('LOADERX_NOT_FOUND', `cannot ${action} ${where}: it does not exist`, details, { cause })
  }
  if (code === 'ENOTDIR') {
    const message = `cannot ${action} ${where}: a part of the path is a file, not a directory`
    return new LoaderxError('LOADERX_NOT_A_DIRECTORY', message, details, { cause })
  }
  const advice =
    code === 'ENOSPC' || code === 'EDQUOT'
      ? 'no space is left; free some and try again'
      : code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
        ? 'permission is missing or the file system is read-only'
        : code === 'EMFILE' || code === 'ENFILE'
          ? 'too many files are open; close some stores or raise the limit (ulimit -n)'
          : (cause as Error).message
  return new LoaderxError('LOADERX_IO', `cannot ${action} ${where}: ${advice} (${code})`, details, { cause })
}

/** The file ended before `wanted` bytes from `position` were read. */
export function truncated(path: string, position: number, wanted: number, got: number): LoaderxError {
  return new LoaderxError(
    'LOADERX_TRUNCATED',
    `${path} ends at byte ${position + got}, but bytes ${position} … ${position + wanted} are needed: the file was cut; restore it from a copy`,
    { path, offset: position, expected: wanted, actual: got },
  )
}

/** Something other than a plain file stands at `path`. */
export function notAFile(path: string): LoaderxError {
  return new LoaderxError(
    'LOADERX_NOT_A_STORE',
    `${path} is not a plain file (a link, directory, pipe or device stands there); a store has only plain files`,
    { path },
  )
}
