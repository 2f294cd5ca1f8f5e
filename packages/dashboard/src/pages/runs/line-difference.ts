/** Compares two texts line by line and marks the lines that are not in the other text. */

export interface ComparedLine {
  readonly text: string;
  readonly changed: boolean;
}

export interface LineDifference {
  readonly left: readonly ComparedLine[];
  readonly right: readonly ComparedLine[];
}

/** Maximum number of line pairs. Longer texts are compared by line number instead. */
const MAX_PAIRS = 400_000;

export function lineDifference(left: string, right: string): LineDifference {
  const a = left.split('\n');
  const b = right.split('\n');
  if (a.length * b.length > MAX_PAIRS)
    return {
      left: a.map((text, index) => ({ text, changed: text !== b[index] })),
      right: b.map((text, index) => ({ text, changed: text !== a[index] })),
    };
  // Length of the longest common subsequence of the rest of both texts, for each pair of positions.
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const shown = { left: [] as ComparedLine[], right: [] as ComparedLine[] };
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const x = a[i];
    const y = b[j];
    if (x !== undefined && x === y) {
      shown.left.push({ text: x, changed: false });
      shown.right.push({ text: x, changed: false });
      i++;
      j++;
    } else if (x !== undefined && (y === undefined || at(i + 1, j) >= at(i, j + 1))) {
      shown.left.push({ text: x, changed: true });
      i++;
    } else if (y !== undefined) {
      shown.right.push({ text: y, changed: true });
      j++;
    }
  }
  return shown;
}
