/** Returns the exclusive end of all texts that start with `prefix`, in the order of code points; null if there is no end. */
export function endOfPrefix(prefix: string): string | null {
  const characters = [...prefix];
  for (;;) {
    const lastCodePoint = characters.pop()?.codePointAt(0);
    if (lastCodePoint === undefined) return null;
    if (lastCodePoint === 0x10ffff) continue;
    // Surrogates are not characters, so they are skipped.
    return characters.join('') + String.fromCodePoint(lastCodePoint + 1 === 0xd800 ? 0xe000 : lastCodePoint + 1);
  }
}
