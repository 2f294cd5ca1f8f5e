/**
 * Converts a document to the form that its index stores: the words of its content, and a tag for each short value. With tags, a
 * filter on values narrows a search before any document is read.
 */
import { createHash } from 'node:crypto';
import type { FieldPath, Filter, FilterValue, SearchDocument } from '../../../ports/stores/search-store.js';
import { isTagged, MAX_TAGS, type RequiredTags, requiredTags } from '../../shared/search/required-tags.js';
import { termsOf } from './words.js';

/** Replaces all tags in a document that has too many values. */
const UNTAGGED = '*';

type Steps = FieldPath['steps'];

function tagOf(kind: 'is' | 'has', root: FieldPath['of'], steps: Steps, value: FilterValue): string {
  const hash = createHash('sha256').update(JSON.stringify([kind, root, steps, value]));
  return hash.digest('base64url').slice(0, 11);
}

interface CollectedText {
  readonly words: Map<string, number>;
  readonly tags: Set<string>;
}

function collectText(value: unknown, root: FieldPath['of'], steps: Steps, collectedText: CollectedText): void {
  if (root === 'content' && (typeof value === 'string' || typeof value === 'number'))
    for (const term of termsOf(String(value))) collectedText.words.set(term, (collectedText.words.get(term) ?? 0) + 1);
  if (isTagged(value) && steps.every((step) => typeof step === 'string')) collectedText.tags.add(tagOf('is', root, steps, value));
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (isTagged(item)) collectedText.tags.add(tagOf('has', root, steps, item));
      collectText(item, root, [...steps, index], collectedText);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) collectText(item, root, [...steps, name], collectedText);
  }
}

/** Returns a word or tag as it is in the index, where it starts with its namespace. The word must contain no quote. */
export const lexeme = (namespace: number, word: string): string => `'${namespace.toString(36)}:${word}'`;

/** Matches JSON that the database cannot read: characters that it does not accept in text, and numbers that are too large. */
const UNREADABLE = /\\u0000|\\ud[89a-f]|\de[+-]?\d{4}/i;
/** Characters that the database does not accept in text: halves of surrogate pairs, and NUL. */
const NON_TEXT = /\p{Surrogate}|\0/gu;

function toReadable(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(NON_TEXT, '\ufffd');
  if (Array.isArray(value)) return value.map(toReadable);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [toReadable(name), toReadable(item)]));
  return value;
}

const readableJson = (json: string | null): string | null =>
  json !== null && UNREADABLE.test(json) ? JSON.stringify(toReadable(JSON.parse(json))) : json;

export interface DocumentText {
  /** The words as the text of a tsvector. */
  readonly terms: string;
  readonly tags: string;
  /** The number of words. */
  readonly length: number;
  /** JSON with the number of occurrences of each word that occurs more than once; null if there is no such word. */
  readonly repeats: string | null;
  /** JSON that replaces content and metadata if the database cannot read them; null if it can. */
  readonly fields: string | null;
}

export function documentText(namespace: number, { content, metadata }: SearchDocument): DocumentText {
  const collectedText: CollectedText = { words: new Map(), tags: new Set() };
  collectText(JSON.parse(content), 'content', [], collectedText);
  if (metadata !== null) collectText(JSON.parse(metadata), 'metadata', [], collectedText);
  const { words, tags } = collectedText;
  const repeatedWords = [...words].filter(([, times]) => times > 1);
  const [readableContent, readableMetadata] = [readableJson(content), readableJson(metadata)];
  const isReadable = readableContent === content && readableMetadata === metadata;
  return {
    terms: [...words.keys()].map((word) => lexeme(namespace, word)).join(' '),
    tags: (tags.size > MAX_TAGS ? [UNTAGGED] : [...tags]).map((tag) => lexeme(namespace, tag)).join(' '),
    length: [...words.values()].reduce((sum, times) => sum + times, 0),
    repeats: repeatedWords.length === 0 ? null : JSON.stringify(Object.fromEntries(repeatedWords)),
    fields: isReadable ? null : `{"content":${readableContent},"metadata":${readableMetadata}}`,
  };
}

/** Returns the condition that the tags of every matching document meet; null if the filter implies none. */
export function tagsOfFilter(filter: Filter): RequiredTags | null {
  const condition = requiredTags(filter, tagOf);
  return condition && { kind: 'or', parts: [condition, UNTAGGED] };
}

/** Returns the condition as the text of a tsquery. */
export const tagQuery = (namespace: number, condition: RequiredTags): string =>
  typeof condition === 'string'
    ? lexeme(namespace, condition)
    : `(${condition.parts.map((part) => tagQuery(namespace, part)).join(condition.kind === 'and' ? ' & ' : ' | ')})`;

/** Returns all tags in the condition. */
export const tagsOf = (condition: RequiredTags): readonly string[] =>
  typeof condition === 'string' ? [condition] : condition.parts.flatMap(tagsOf);
