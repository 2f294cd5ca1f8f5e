/** Processes long data in slices of a few milliseconds. */
import { LONG_BYTES } from './work-slices.js';

/**
 * Processes the pieces in slices, and creates each piece only when it is needed. `take` processes a piece and returns its size in
 * bytes or characters.
 */
export async function processInSlices<Piece>(
  pieces: Iterable<Piece>,
  take: (piece: Piece) => number,
  inSlice: (work: () => Promise<boolean>) => Promise<boolean>,
): Promise<void> {
  const iterator = pieces[Symbol.iterator]();
  /** Resolves with false after the last piece. */
  const takeSlice = async (): Promise<boolean> => {
    for (let takenSize = 0; takenSize < LONG_BYTES; ) {
      const { done, value } = iterator.next();
      if (done) return false;
      takenSize += take(value);
    }
    return true;
  };
  while (await inSlice(takeSlice));
}
