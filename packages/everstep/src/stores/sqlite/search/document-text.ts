/**
 * Parts of a document in the full-text index: the words of its content, and a tag for each short value, so that a filter on values
 * narrows a search before any document is read.
 */
import { createHash } from 'node:crypto';
import type { FieldPath } from '../../../ports/stores/search-store.js';
import { isTagged, MAX_TAGS, type TagOf } from '../../shared/search/required-tags.js';

/** Replaces all tags in a document that has too many values. */
export const UNTAGGED = 'tqqqx';

export const tagOf: TagOf = (kind, of, steps, value) => {
  const hash = createHash('sha1')
    .update(`${kind} ${of} ${JSON.stringify(steps)} ${typeof value} ${value}`)
    .digest();
  // Letters only: one token for any tokenizer, and not the stem of another word.
  return `t${BigInt(`0x${hash.toString('hex', 0, 8)}`)
    .toString()
    .replace(/\d/g, (digit) => 'bcdfghjklm'[Number(digit)] ?? '')}x`;
};

interface Leaves {
  readonly words: string[];
  readonly tags: Set<string>;
}

function collectLeaves(value: unknown, of: FieldPath['of'], steps: readonly (string | number)[], leaves: Leaves): void {
  if (of === 'content' && (typeof value === 'string' || typeof value === 'number')) leaves.words.push(String(value));
  if (isTagged(value)) {
    if (steps.every((step) => typeof step === 'string')) leaves.tags.add(tagOf('is', of, steps, value));
    return;
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (isTagged(item)) leaves.tags.add(tagOf('has', of, steps, item));
      collectLeaves(item, of, [...steps, index], leaves);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) collectLeaves(item, of, [...steps, name], leaves);
  }
}

export interface DocumentText {
  readonly words: string;
  readonly tags: string;
}

export function documentText(content: string, metadata: string | null): DocumentText {
  const leaves: Leaves = { words: [], tags: new Set() };
  collectLeaves(JSON.parse(content), 'content', [], leaves);
  if (metadata !== null) collectLeaves(JSON.parse(metadata), 'metadata', [], leaves);
  return { words: leaves.words.join('\n'), tags: leaves.tags.size > MAX_TAGS ? UNTAGGED : [...leaves.tags].join(' ') };
}
