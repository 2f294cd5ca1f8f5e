/**
 * Parts of a document in the full-text index: the words of its content, and a tag for each short value, so that a filter on values
 * narrows a search before any document is read.
 */
import { createHash } from 'node:crypto';
import type { FieldPath, Filter, FilterValue } from '../../../ports/stores/search-store.js';

/** Longer texts get no tag: few filters use them. */
const MAX_TAGGED_LENGTH = 64;
/** A document with more values than this gets no tags at all, because a missing tag would hide it. */
const MAX_TAGS = 64;
/** Replaces all tags in a document that has too many values. */
export const UNTAGGED = 'tqqqx';

const tag = (kind: 'is' | 'has', of: string, path: string, value: FilterValue): string => {
  const hash = createHash('sha1')
    .update(`${kind} ${of} ${path} ${typeof value} ${value}`)
    .digest();
  // Letters only: one token for any tokenizer, and not the stem of another word.
  return `t${BigInt(`0x${hash.toString('hex', 0, 8)}`)
    .toString()
    .replace(/\d/g, (digit) => 'bcdfghjklm'[Number(digit)] ?? '')}x`;
};

const pathText = (steps: readonly (string | number)[]): string => JSON.stringify(steps);
const isTagged = (value: unknown): value is FilterValue =>
  typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value.length <= MAX_TAGGED_LENGTH);

interface Leaves {
  readonly words: string[];
  readonly tags: Set<string>;
}

function gather(value: unknown, of: FieldPath['of'], steps: readonly (string | number)[], leaves: Leaves): void {
  if (of === 'content' && (typeof value === 'string' || typeof value === 'number')) leaves.words.push(String(value));
  if (isTagged(value)) {
    if (steps.every((step) => typeof step === 'string')) leaves.tags.add(tag('is', of, pathText(steps), value));
    return;
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (isTagged(item)) leaves.tags.add(tag('has', of, pathText(steps), item));
      gather(item, of, [...steps, index], leaves);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) gather(item, of, [...steps, name], leaves);
  }
}

export interface DocumentText {
  readonly words: string;
  readonly tags: string;
}

export function documentText(content: string, metadata: string | null): DocumentText {
  const leaves: Leaves = { words: [], tags: new Set() };
  gather(JSON.parse(content), 'content', [], leaves);
  if (metadata !== null) gather(JSON.parse(metadata), 'metadata', [], leaves);
  return { words: leaves.words.join('\n'), tags: leaves.tags.size > MAX_TAGS ? UNTAGGED : [...leaves.tags].join(' ') };
}

/** Tags that every document matching a filter has. */
export type TagWish = string | { readonly kind: 'and' | 'or'; readonly parts: readonly TagWish[] };

/** Null: nothing is known about their tags. */
export function tagWish(filter: Filter): TagWish | null {
  const one = (kind: 'is' | 'has', field: FieldPath, value: FilterValue): TagWish | null =>
    isTagged(value) && field.steps.every((step) => typeof step === 'string')
      ? tag(kind, field.of, pathText(field.steps), value)
      : null;
  const anyOf = (wishes: readonly (TagWish | null)[]): TagWish | null => {
    const parts = wishes.filter((wish) => wish !== null);
    return parts.length === wishes.length ? { kind: 'or', parts } : null;
  };
  switch (filter.kind) {
    case 'compare':
      return filter.operator === '=' ? one('is', filter.field, filter.value) : null;
    case 'contains':
      return filter.not ? null : one('has', filter.field, filter.value);
    case 'in':
      return filter.not ? null : anyOf(filter.values.map((value) => one('is', filter.field, value)));
    case 'or':
      return anyOf(filter.parts.map(tagWish));
    case 'and': {
      const parts = filter.parts.map(tagWish).filter((wish) => wish !== null);
      return parts.length === 0 ? null : { kind: 'and', parts };
    }
    default:
      return null;
  }
}
