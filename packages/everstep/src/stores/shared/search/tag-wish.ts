/** Tags of documents: one for each short value, so that a filter on values narrows a search before any document is read. */
import type { FieldPath, Filter, FilterValue } from '../../../ports/stores/search-store.js';

/** Longer texts get no tag: few filters use them. */
const MAX_TAGGED_LENGTH = 64;
/** A document with more values gets no tags at all, because a missing tag would hide it. */
export const MAX_TAGS = 64;

/** Whether a value gets a tag. */
export const isTagged = (value: unknown): value is FilterValue =>
  typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value.length <= MAX_TAGGED_LENGTH);

/** Tags that every document matching a filter has, unless it has too many values. */
export type TagWish = string | { readonly kind: 'and' | 'or'; readonly parts: readonly TagWish[] };

/** Returns the tag of a value. */
export type TagOf = (kind: 'is' | 'has', of: FieldPath['of'], steps: FieldPath['steps'], value: FilterValue) => string;

/** Returns null if nothing is known about the tags of matching documents. */
export function tagWish(filter: Filter, tagOf: TagOf): TagWish | null {
  const one = (kind: 'is' | 'has', { of, steps }: FieldPath, value: FilterValue): TagWish | null =>
    isTagged(value) && steps.every((step) => typeof step === 'string') ? tagOf(kind, of, steps, value) : null;
  const anyOf = (wishes: readonly (TagWish | null)[]): TagWish | null => {
    const parts = wishes.filter((wish) => wish !== null);
    return parts.length === wishes.length ? { kind: 'or', parts } : null;
  };
  const wishesOf = (parts: readonly Filter[]) => parts.map((part) => tagWish(part, tagOf));
  switch (filter.kind) {
    case 'compare':
      return filter.operator === '=' ? one('is', filter.field, filter.value) : null;
    case 'contains':
      return filter.not ? null : one('has', filter.field, filter.value);
    case 'in':
      return filter.not ? null : anyOf(filter.values.map((value) => one('is', filter.field, value)));
    case 'or':
      return anyOf(wishesOf(filter.parts));
    case 'and': {
      const parts = wishesOf(filter.parts).filter((wish) => wish !== null);
      return parts.length === 0 ? null : { kind: 'and', parts };
    }
    default:
      return null;
  }
}
