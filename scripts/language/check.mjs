/** Finds phrases and spellings in the texts of a repository, and long sentences in its pages. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { proseOf, sentencesOf } from './text.mjs';

/** @typedef {{ path: string, line: number, phrase: string, replacement: string, context: string }} Finding */

const SKIPPED_DIRECTORIES = new Set(['node_modules', 'dist', 'static']);
/** Excludes the SQL of published migrations, which never changes, not even in its comments, and the lists of forbidden words. */
const EXCLUDED_PATH = /^scripts\/language\/|^packages\/everstep\/src\/stores\/\w+\/migrations\//;
const CHECKED_FILE = /\.(md|tsx?|mjs|js)$/;

function filesBelow(root, directory) {
  return readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
    if (entry.isDirectory())
      return SKIPPED_DIRECTORIES.has(entry.name) || entry.name.startsWith('.') ? [] : filesBelow(root, path);
    return CHECKED_FILE.test(entry.name) && !EXCLUDED_PATH.test(path) ? [path] : [];
  });
}

/** Returns the files whose language is checked, with their content. */
export const textsOf = (root) =>
  filesBelow(root, '').map((path) => ({ path, text: readFileSync(join(root, path), 'utf8').replaceAll('\r\n', '\n') }));

/** Returns one expression for all rules, each as a named group, so that a text is searched once. */
function expressionOf(rules) {
  const sources = rules.map(([{ source }], ruleIndex) => `(?<r${ruleIndex}>${source.replaceAll(' ', '\\s+')})`);
  return new RegExp(`(?<![\\p{L}\\p{N}_-])(?:${sources.join('|')})(?![\\p{L}\\p{N}_@-])`, 'giu');
}

/**
 * Returns the phrases of a text that the rules forbid, in their order.
 *
 * @returns {Finding[]}
 */
export function findingsIn({ path, text }, rules, expression = expressionOf(rules)) {
  const lines = text.split('\n');
  let line = 1;
  let scannedIndex = 0;
  return [...proseOf(path, text).matchAll(expression)].flatMap(({ 0: phrase, index, groups }) => {
    // Words in capitals are names of the protocol or of SQL.
    if (phrase === phrase.toUpperCase()) return [];
    while (scannedIndex < index) if (text[scannedIndex++] === '\n') line++;
    const rule = Object.entries(groups).find(([, match]) => match !== undefined)[0];
    const context = lines[line - 1].trim();
    return [{ path, line, phrase: phrase.replace(/\s+/g, ' '), replacement: rules[Number(rule.slice(1))][1], context }];
  });
}

/**
 * Returns the findings that no exception excuses, and the exceptions that excuse nothing.
 *
 * @param {readonly { path: string, text: string }[]} texts
 */
export function checkTexts(texts, rules, exceptions) {
  const expression = expressionOf(rules);
  const unusedExceptions = new Set(exceptions);
  const findings = texts.flatMap((text) =>
    findingsIn(text, rules, expression).filter(({ path, context, phrase }) => {
      const exception = exceptions.find(
        (candidate) => candidate.path === path && candidate.text.includes(phrase) && context.includes(candidate.text),
      );
      unusedExceptions.delete(exception);
      return exception === undefined;
    }),
  );
  return { findings, unusedExceptions: [...unusedExceptions] };
}

/** Returns the sentences of the pages that have more words than `maxWords`, the longest first in each page. */
export const longSentencesIn = (texts, maxWords) =>
  texts.flatMap(({ path, text }) =>
    sentencesOf(proseOf(path, text))
      .filter(({ words }) => words > maxWords)
      .sort((a, b) => b.words - a.words)
      .map(({ position, words }) => ({ path, line: text.slice(0, position).split('\n').length, words })),
  );
