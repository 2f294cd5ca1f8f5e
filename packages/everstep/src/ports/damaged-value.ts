/** A stored value differs from what was written: the disk or another program changed it. */
export class DamagedValueError extends Error {
  override readonly name = 'DamagedValueError';
}
