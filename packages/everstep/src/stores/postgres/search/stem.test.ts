import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stemOf } from './stem.js';
import { termsOf } from './words.js';

/** Words with their stems, for each rule. */
const STEMS: readonly (readonly [word: string, stem: string])[] = [
  ...([
    ['caresses', 'caress'],
    ['ponies', 'poni'],
    ['ties', 'ti'],
    ['cats', 'cat'],
    ['feed', 'feed'],
    ['agreed', 'agre'],
  ] as const),
  ...([
    ['plastered', 'plaster'],
    ['bled', 'bled'],
    ['motoring', 'motor'],
    ['sing', 'sing'],
    ['conflated', 'conflat'],
  ] as const),
  ...([
    ['troubled', 'troubl'],
    ['sized', 'size'],
    ['hopping', 'hop'],
    ['falling', 'fall'],
    ['hissing', 'hiss'],
  ] as const),
  ...([
    ['failing', 'fail'],
    ['filing', 'file'],
    ['happy', 'happi'],
    ['sky', 'sky'],
    ['relational', 'relat'],
  ] as const),
  ...([
    ['conditional', 'condit'],
    ['digitizer', 'digit'],
    ['vietnamization', 'vietnam'],
    ['operator', 'oper'],
  ] as const),
  ...([
    ['feudalism', 'feudal'],
    ['hopefulness', 'hope'],
    ['sensibiliti', 'sensibl'],
    ['triplicate', 'triplic'],
  ] as const),
  ...([
    ['formative', 'form'],
    ['electrical', 'electr'],
    ['goodness', 'good'],
    ['revival', 'reviv'],
    ['airliner', 'airlin'],
  ] as const),
  ...([
    ['replacement', 'replac'],
    ['adoption', 'adopt'],
    ['communism', 'commun'],
    ['effective', 'effect'],
  ] as const),
  ...([
    ['probate', 'probat'],
    ['rate', 'rate'],
    ['cease', 'ceas'],
    ['controll', 'control'],
    ['roll', 'roll'],
  ] as const),
  ...([
    ['running', 'run'],
    ['runs', 'run'],
    ['generalizations', 'gener'],
    ['by', 'by'],
    ['münchen', 'münchen'],
  ] as const),
];

test('words with the same stem are one word', () => {
  assert.deepEqual(
    STEMS.map(([word]) => [word, stemOf(word)]),
    STEMS,
  );
});

test('a text is split into words of letters and digits, in lower case and without accents', () => {
  assert.deepEqual(termsOf('Café-RÉPUBLIQUE, 3.5 (Наука) 東京; i̇stanbul'), [
    'cafe',
    'republiqu',
    '3',
    '5',
    'наука',
    '東京',
    'istanbul',
  ]);
  assert.deepEqual(termsOf('"(*:- \u0301'), []);
  assert.deepEqual(termsOf('x'.repeat(5000)), ['x'.repeat(64)]);
});
