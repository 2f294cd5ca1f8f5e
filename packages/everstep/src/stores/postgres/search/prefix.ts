/** Returns the exclusive end of all texts that start with `prefix`, in the order of code points; null if there is no end. */
export function endOfPrefix(prefix: string): string | null {
  const points = [...prefix];
  for (;;) {
    const last = points.pop()?.codePointAt(0);
    if (last === undefined) return null;
    if (last === 0x10ffff) continue;
    // Surrogates are not characters, so they are skipped.
    return points.join('') + String.fromCodePoint(last + 1 === 0xd800 ? 0xe000 : last + 1);
  }
}
