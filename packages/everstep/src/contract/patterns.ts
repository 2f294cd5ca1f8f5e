/** What texts in bodies must look like: as a pattern for schemas, and in words for whoever sent something else. */
const PATTERNS = {
  /** Something that can be seen, and no character that could disturb a terminal. */
  visible: {
    pattern: '^(?=[\\s\\S]*\\S)[^\\u0000-\\u001f\\u007f-\\u009f]*$',
    words: 'must have a character that is not blank, and no control characters',
  },
  withoutControls: { pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$', words: 'must have no control characters' },
  /** Without a colon, which ends the name in HTTP Basic. */
  email: {
    pattern: '^[^\\s@:\\u0000-\\u001f]+@[^\\s@:\\u0000-\\u001f]+$',
    words: 'must be an e-mail address such as ada@example.com, without blanks and colons',
  },
  ascii: { pattern: '^[\\x20-\\x7e]+$', words: 'must be of printable ASCII characters' },
  label: { pattern: '^[^,\\u0000]*$', words: 'must have no comma, and not the character U+0000' },
  /** Of what is named in paths later. */
  id: {
    pattern: '^(?!\\.{1,2}$)[^\\u0000]*$',
    words: 'must not be "." or "..", which no URL can carry, nor have the character U+0000',
  },
} as const;

/** For a schema of a text. */
export const like = (name: keyof typeof PATTERNS): { readonly pattern: string } => ({ pattern: PATTERNS[name].pattern });

const WORDS: ReadonlyMap<string, string> = new Map(Object.values(PATTERNS).map(({ pattern, words }) => [pattern, words]));

/** What a text must be that does not match the pattern; null for one that is not of these. */
export const patternWords = (pattern: string): string | null => WORDS.get(pattern) ?? null;
