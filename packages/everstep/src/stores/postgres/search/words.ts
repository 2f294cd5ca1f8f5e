/** Splits texts into searchable words: lowercase letters and digits without accents, reduced to English stems. */
import { stemOf } from './stem.js';

/** Maximum length of a word. Longer words are truncated. */
const MAX_WORD_LENGTH = 64;
const MAX_CACHED_TERMS = 20_000;

const WORD = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;
const ACCENTS = /[\u0300-\u036f]/g;

const termCache = new Map<string, string>();

function termOf(word: string): string {
  const cachedTerm = termCache.get(word);
  if (cachedTerm !== undefined) return cachedTerm;
  const plain = word.toLowerCase().normalize('NFD').replace(ACCENTS, '').normalize('NFC');
  const term = stemOf([...plain].slice(0, MAX_WORD_LENGTH).join(''));
  if (termCache.size >= MAX_CACHED_TERMS) termCache.clear();
  termCache.set(word, term);
  return term;
}

/** Returns the words of a text in their order. Accents alone are not a word. */
export const termsOf = (text: string): readonly string[] => (text.match(WORD) ?? []).map(termOf).filter((term) => term !== '');
