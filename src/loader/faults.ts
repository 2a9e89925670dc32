// loader/: tells in the error of a read which field and step it was for. Pure.

import { isLoaderxError, LoaderxError, type LoaderxErrorDetails } from '../errors.ts'

/** `error` with the field that was read, and the position in the whole batch. Errors of others stay as they are. */
export function inField(error: unknown, field: string, position?: number): unknown {
  const place = position === undefined ? { field } : { field, position }
  return isLoaderxError(error) ? placed(error, `field ${JSON.stringify(field)}`, place) : error
}

/** `error` with the step that could not be delivered. Errors of others stay as they are. */
export function atStep(error: unknown, step: number): unknown {
  const known = !isLoaderxError(error) || error.details.step !== undefined
  return known ? error : placed(error, `step ${step}`, { step })
}

function placed(error: LoaderxError, where: string, place: LoaderxErrorDetails): LoaderxError {
  const message = `${where}: ${error.message}`
  return new LoaderxError(error.code, message, { ...error.details, ...place }, { cause: error.cause ?? error })
}
