/** The check of the language, on small texts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ROOT } from '../setup/index.mjs';
import { checkTexts, findingsIn, longSentencesIn, textsOf } from './check.mjs';
import { EXCEPTIONS, PHRASES, SPELLINGS } from './rules.mjs';
import { sentencesOf } from './text.mjs';

const RULES = [...PHRASES, ...SPELLINGS];
const found = (path, text) => findingsIn({ path, text }, RULES).map(({ line, phrase }) => `${line}: ${phrase}`);

test('the pages, comments and texts of the repository follow the rules', () => {
  const { findings, unusedExceptions } = checkTexts(textsOf(ROOT), RULES, EXCEPTIONS);
  assert.deepEqual(
    findings.map(({ path, line, phrase, replacement }) => `${path}:${line}: "${phrase}": write ${replacement}`),
    [],
  );
  assert.deepEqual(unusedExceptions, [], 'exceptions that excuse nothing');
});

describe('a Markdown page', () => {
  test('has findings in tables, headings and emphasis, and across line breaks', () => {
    const page =
      '# Whoever\n\nIt is taken\nfor granted that it **goes** on.\n\n| a | told |\n| --- | --- |\n- the colour [told](x.md)\n';
    assert.deepEqual(found('a.md', page), [
      '1: Whoever',
      '3: taken for granted',
      '4: goes on',
      '6: told',
      '8: colour',
      '8: told',
    ]);
  });

  test('is not searched in code, targets of links, tags, comments and addresses', () => {
    const page =
      'See `told`, ``a ` told``,\n`told\nagain` and [a](told.md#whoever) <img alt="told"> <!-- told -->\nhttps://e.com/told\n\n' +
      '```sh\ntold\n```\n\n   ```ts\n   // told\n   ```\n';
    assert.deepEqual(found('a.md', page), []);
  });

  test('is searched after a block of code', () => {
    assert.deepEqual(found('a.md', '```\na\n```\ntold `a` told\n'), ['4: told', '4: told']);
  });

  test('has no phrase across two cells, two items or inline code', () => {
    assert.deepEqual(found('a.md', '| it goes | on |\n\n- goes\n- on\n\n1. for\n2. ever\n\ngoes `a` on\n'), []);
  });
});

describe('a source file', () => {
  test('has findings in comments, strings and templates', () => {
    const source = [
      '/** It is taken',
      ' * for granted. */',
      '// It goes',
      '// on.',
      `const a = 'is told', b = "Whoever", c = \`\${x ? 'is told' : y}, it \${z} begins\`;`,
    ];
    assert.deepEqual(found('a.ts', source.join('\n')), [
      '1: taken for granted',
      '3: goes on',
      '5: told',
      '5: Whoever',
      '5: told',
      '5: begins',
    ]);
  });

  test('is not searched in names, keys, regular expressions, inline code and examples', () => {
    const source = [
      "const told = { told: 'told', 'is-told': told }; // `is told`",
      "const pattern = /is 'told' [/'] told/; const half = told / 2 / told;",
      `const text = \`told\`; fail('call \`is told\`', \`or \${told} it\`);`,
      '/**\n * @example\n * is told\n */',
    ];
    assert.deepEqual(found('a.ts', source.join('\n')), []);
  });

  test('is searched after an apostrophe, an escaped quote and a nested template', () => {
    const source = `// don't\nf('it\\'s told', \`\${g(\`\${'}'}\`)} is told\`);`;
    assert.deepEqual(found('a.ts', source), ['2: told', '2: told']);
  });

  test('is searched in the text of elements', () => {
    const source =
      '<p className="told">\n  It\'s {name} is told.\n  <b>Whoever</b> isn\'t\n</p>;\nconst told = a > b ? told : c;';
    assert.deepEqual(found('a.tsx', source), ['2: told', '3: Whoever']);
  });
});

test('a phrase that is part of a longer word, a name in capitals or an address is not found', () => {
  assert.deepEqual(
    found('a.md', 'untold CANCELLED nobody@example.com told-of, begins with, is no longer, there is no JSON, is no match for'),
    [],
  );
});

test('American spellings are not found', () => {
  const american =
    'behavior color neighbor favorite canceled canceling labeled license catalog analyses advertise exercise promise';
  assert.deepEqual(found('a.md', `${american} precise raise otherwise enterprise organization organizes size`), []);
});

test('British spellings are found', () => {
  const british = 'behaviour colours neighbouring favourite honoured centre cancelled labelling licence defence grey analyse';
  const all = `${british} organise serialised normalisation authorises recognising unauthorised`;
  assert.equal(found('a.md', all).length, all.split(' ').length);
});

test('an exception excuses a phrase only in its place, and is reported if it is not needed', () => {
  const texts = ['a.md', 'b.md'].map((path) => ({ path, text: 'The oracle told us.\nIt told nothing.\n' }));
  const used = { path: 'a.md', text: 'oracle told us', reason: 'it speaks' };
  const stale = { path: 'b.md', text: 'never told', reason: 'it is gone' };
  const { findings, unusedExceptions } = checkTexts(texts, RULES, [used, stale]);
  assert.deepEqual(
    findings.map(({ path, line }) => `${path}:${line}`),
    ['a.md:2', 'b.md:1', 'b.md:2'],
  );
  assert.deepEqual(unusedExceptions, [stale]);
});

test('words of a sentence are counted, with inline code as one word', () => {
  const sentences = sentencesOf('One two, three. Is 2.5\nfour? \uE000\uE000 five\n\n# Six\0seven');
  assert.deepEqual(
    sentences.map(({ words }) => words),
    [3, 3, 2, 1, 1],
  );
  const text = `Short.\n\nA b c d\ne f.\n`;
  assert.deepEqual(longSentencesIn([{ path: 'a.md', text }], 5), [{ path: 'a.md', line: 3, words: 6 }]);
});
