/** Finds phrases and spellings in the texts of a repository, and long sentences in its pages. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { proseOf, sentencesOf } from './text.mjs';

/** @typedef {{ path: string, line: number, found: string, instead: string, context: string }} Finding */

const NOT_OURS = new Set(['node_modules', 'dist', 'static']);
/** The SQL of a published migration never changes, not even in its comments. The word lists contain the words that they forbid. */
const NOT_CHECKED = /^scripts\/language\/|^packages\/everstep\/src\/stores\/\w+\/migrations\//;
const CHECKED = /\.(md|tsx?|mjs|js)$/;

function filesBelow(root, directory) {
  return readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) || entry.name.startsWith('.') ? [] : filesBelow(root, path);
    return CHECKED.test(entry.name) && !NOT_CHECKED.test(path) ? [path] : [];
  });
}

/** Returns the files whose language is checked, with their content. */
export const textsOf = (root) =>
  filesBelow(root, '').map((path) => ({ path, text: readFileSync(join(root, path), 'utf8').replaceAll('\r\n', '\n') }));

/** One expression for all rules, each as a named group, so that a text is searched once. */
function expressionOf(rules) {
  const sources = rules.map(([{ source }], at) => `(?<r${at}>${source.replaceAll(' ', '\\s+')})`);
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
  let counted = 0;
  return [...proseOf(path, text).matchAll(expression)].flatMap(({ 0: found, index, groups }) => {
    // Names of the wire or of SQL are in capitals.
    if (found === found.toUpperCase()) return [];
    while (counted < index) if (text[counted++] === '\n') line++;
    const rule = Object.entries(groups).find(([, match]) => match !== undefined)[0];
    const context = lines[line - 1].trim();
    return [{ path, line, found: found.replace(/\s+/g, ' '), instead: rules[Number(rule.slice(1))][1], context }];
  });
}

/**
 * Returns the findings that no exception excuses, and the exceptions that excuse nothing.
 *
 * @param {readonly { path: string, text: string }[]} texts
 */
export function checkTexts(texts, rules, exceptions) {
  const expression = expressionOf(rules);
  const unused = new Set(exceptions);
  const findings = texts.flatMap((text) =>
    findingsIn(text, rules, expression).filter(({ path, context, found }) => {
      const excuse = exceptions.find((each) => each.path === path && each.text.includes(found) && context.includes(each.text));
      unused.delete(excuse);
      return excuse === undefined;
    }),
  );
  return { findings, unused: [...unused] };
}

/** Returns the sentences of the pages that have more words than `maxWords`, the longest first in each page. */
export const longSentencesIn = (texts, maxWords) =>
  texts.flatMap(({ path, text }) =>
    sentencesOf(proseOf(path, text))
      .filter(({ words }) => words > maxWords)
      .sort((a, b) => b.words - a.words)
      .map(({ position, words }) => ({ path, line: text.slice(0, position).split('\n').length, words })),
  );
