/** Processes long data in slices of a few milliseconds. */
import { LONG_BYTES } from './work-slices.js';

/**
 * Processes the pieces in slices, and creates each piece only when it is needed. `processPiece` returns the size of the piece in
 * bytes or characters.
 */
export async function processInSlices<Piece>(
  pieces: Iterable<Piece>,
  processPiece: (piece: Piece) => number,
  inSlice: (work: () => Promise<boolean>) => Promise<boolean>,
): Promise<void> {
  const iterator = pieces[Symbol.iterator]();
  /** Resolves with false after the last piece. */
  const processSlice = async (): Promise<boolean> => {
    for (let processedSize = 0; processedSize < LONG_BYTES; ) {
      const { done, value } = iterator.next();
      if (done) return false;
      processedSize += processPiece(value);
    }
    return true;
  };
  while (await inSlice(processSlice));
}
