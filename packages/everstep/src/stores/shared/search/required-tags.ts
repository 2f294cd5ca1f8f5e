/** Tags of documents: one for each short value, so that a filter on values narrows a search before any document is read. */
import type { FieldPath, Filter, FilterValue } from '../../../ports/stores/search-store.js';

/** Maximum length of a text with a tag: few filters use longer ones. */
const MAX_TAGGED_LENGTH = 64;
/** Maximum number of tags. A document with more values gets no tags at all, because a missing tag would hide it. */
export const MAX_TAGS = 64;

/** Returns whether a value gets a tag. */
export const isTagged = (value: unknown): value is FilterValue =>
  typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value.length <= MAX_TAGGED_LENGTH);

/** Tags that every document matching a filter has, unless it has too many values. */
export type RequiredTags = string | { readonly kind: 'and' | 'or'; readonly parts: readonly RequiredTags[] };

/** Returns the tag of a value. */
export type TagOf = (kind: 'is' | 'has', of: FieldPath['of'], steps: FieldPath['steps'], value: FilterValue) => string;

/** Returns the tags that matching documents have; null if nothing is known about them. */
export function requiredTags(filter: Filter, tagOf: TagOf): RequiredTags | null {
  const tagFor = (kind: 'is' | 'has', { of, steps }: FieldPath, value: FilterValue): RequiredTags | null =>
    isTagged(value) && steps.every((step) => typeof step === 'string') ? tagOf(kind, of, steps, value) : null;
  const anyOf = (branches: readonly (RequiredTags | null)[]): RequiredTags | null => {
    const parts = branches.filter((tags) => tags !== null);
    return parts.length === branches.length ? { kind: 'or', parts } : null;
  };
  const requiredTagsOf = (parts: readonly Filter[]) => parts.map((part) => requiredTags(part, tagOf));
  switch (filter.kind) {
    case 'compare':
      return filter.operator === '=' ? tagFor('is', filter.field, filter.value) : null;
    case 'contains':
      return filter.not ? null : tagFor('has', filter.field, filter.value);
    case 'in':
      return filter.not ? null : anyOf(filter.values.map((value) => tagFor('is', filter.field, value)));
    case 'or':
      return anyOf(requiredTagsOf(filter.parts));
    case 'and': {
      const parts = requiredTagsOf(filter.parts).filter((tags) => tags !== null);
      return parts.length === 0 ? null : { kind: 'and', parts };
    }
    default:
      return null;
  }
}
