/** Computes the stem of an English word by the rules of M. F. Porter (1980). Words of other languages change little. */

type Rule = readonly [suffix: string, replacement: string];

const STEP_2: readonly Rule[] = [
  ...([
    ['ational', 'ate'],
    ['tional', 'tion'],
    ['enci', 'ence'],
    ['anci', 'ance'],
    ['izer', 'ize'],
    ['abli', 'able'],
  ] as const),
  ...([
    ['alli', 'al'],
    ['entli', 'ent'],
    ['eli', 'e'],
    ['ousli', 'ous'],
    ['ization', 'ize'],
    ['ation', 'ate'],
  ] as const),
  ...([
    ['ator', 'ate'],
    ['alism', 'al'],
    ['iveness', 'ive'],
    ['fulness', 'ful'],
    ['ousness', 'ous'],
  ] as const),
  ...([
    ['aliti', 'al'],
    ['iviti', 'ive'],
    ['biliti', 'ble'],
  ] as const),
];
const STEP_3: readonly Rule[] = [
  ...([
    ['icate', 'ic'],
    ['ative', ''],
    ['alize', 'al'],
    ['iciti', 'ic'],
    ['ical', 'ic'],
    ['ful', ''],
    ['ness', ''],
  ] as const),
];
const STEP_4: readonly string[] = [
  ...['al', 'ance', 'ence', 'er', 'ic', 'able', 'ible', 'ant', 'ement', 'ment', 'ent', 'ion', 'ou', 'ism', 'ate', 'iti'],
  ...['ous', 'ive', 'ize'],
];

/** Returns `v` for each vowel and `c` for each consonant; a y after a consonant is a vowel. */
function soundsOf(word: string): string {
  let sounds = '';
  for (const letter of word) sounds += /[aeiou]/.test(letter) || (letter === 'y' && sounds.endsWith('c')) ? 'v' : 'c';
  return sounds;
}

/** Returns Porter's measure of a word: how often consonants follow vowels. */
const measure = (word: string): number => soundsOf(word).match(/v+c+/g)?.length ?? 0;
const hasVowel = (word: string): boolean => soundsOf(word).includes('v');
const endsWithDoubleConsonant = (word: string): boolean => word.at(-1) === word.at(-2) && soundsOf(word).endsWith('c');
/** Returns whether the word ends with consonant, vowel, consonant, such as `hop`. */
const endsWithShortSyllable = (word: string): boolean => soundsOf(word).endsWith('cvc') && !/[wxy]$/.test(word);

/** Applies the rule with the longest matching suffix. If that rule does not apply, no shorter one is tried. */
function replaceSuffix(word: string, rules: readonly Rule[]): string {
  const rule = rules.filter(([suffix]) => word.endsWith(suffix)).sort(([a], [b]) => b.length - a.length)[0];
  if (!rule) return word;
  const stem = word.slice(0, -rule[0].length);
  return measure(stem) > 0 ? stem + rule[1] : word;
}

function removePlural(word: string): string {
  if (word.endsWith('sses') || word.endsWith('ies')) return word.slice(0, -2);
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}

function removePastTense(word: string): string {
  if (word.endsWith('eed')) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const suffix = ['ed', 'ing'].find((candidate) => word.endsWith(candidate));
  const stem = suffix === undefined ? '' : word.slice(0, -suffix.length);
  if (!hasVowel(stem)) return word;
  if (/(at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (endsWithDoubleConsonant(stem) && !/[lsz]$/.test(stem)) return stem.slice(0, -1);
  return measure(stem) === 1 && endsWithShortSyllable(stem) ? `${stem}e` : stem;
}

function removeEnding(word: string): string {
  const suffix = STEP_4.filter((candidate) => word.endsWith(candidate)).sort((a, b) => b.length - a.length)[0];
  if (suffix === undefined) return word;
  const stem = word.slice(0, -suffix.length);
  return measure(stem) > 1 && (suffix !== 'ion' || /[st]$/.test(stem)) ? stem : word;
}

function removeLastE(word: string): string {
  if (!word.endsWith('e')) return word;
  const stem = word.slice(0, -1);
  const count = measure(stem);
  return count > 1 || (count === 1 && !endsWithShortSyllable(stem)) ? stem : word;
}

/** Returns the stem of a lowercase word. A word that contains characters other than plain Latin letters is its own stem. */
export function stemOf(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word;
  let stem = removePastTense(removePlural(word));
  if (stem.endsWith('y') && hasVowel(stem.slice(0, -1))) stem = `${stem.slice(0, -1)}i`;
  stem = removeLastE(removeEnding(replaceSuffix(replaceSuffix(stem, STEP_2), STEP_3)));
  return stem.endsWith('ll') && measure(stem) > 1 ? stem.slice(0, -1) : stem;
}
