/** Compares two texts line by line and marks the lines that are not in the other text. */

export interface ComparedLine {
  readonly text: string;
  readonly isChanged: boolean;
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
      left: a.map((text, index) => ({ text, isChanged: text !== b[index] })),
      right: b.map((text, index) => ({ text, isChanged: text !== a[index] })),
    };
  // For each pair of positions, the length of the longest common subsequence of the lines from there on.
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const lengthAt = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = a[i] === b[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
  const lines = { left: [] as ComparedLine[], right: [] as ComparedLine[] };
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const x = a[i];
    const y = b[j];
    if (x !== undefined && x === y) {
      lines.left.push({ text: x, isChanged: false });
      lines.right.push({ text: x, isChanged: false });
      i++;
      j++;
    } else if (x !== undefined && (y === undefined || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.left.push({ text: x, isChanged: true });
      i++;
    } else if (y !== undefined) {
      lines.right.push({ text: y, isChanged: true });
      j++;
    }
  }
  return lines;
}
