/** Thrown if a stored value differs from the value that was written, because the disk or another program changed it. */
export class DamagedValueError extends Error {
  override readonly name = 'DamagedValueError';
}
