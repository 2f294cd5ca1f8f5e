import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ThrownError } from '../../../../everstep/src/contract/fields/thrown-error.js';
import { foldedStart, hideShownStacks, partsOfStack, sourceText, textOfError } from './shown-error.js';

const OWN = { text: 'at charge (/srv/src/charge.js:7:13)', own: true };
const PACKAGE = { text: 'at query (/srv/node_modules/pg/client.js:1:2)', own: false };
const NODE = { text: 'at process.processTicks (node:internal/process:1:2)', own: false };
const THROWN: ThrownError = {
  source: { file: 'src/charge.js', line: 7, function: 'charge' },
  stack: [PACKAGE, OWN, NODE],
  causes: [{ name: 'TypeError', message: 'no street', stack: [OWN] }],
};

describe('a shown error', () => {
  test('is folded when its message is long or has many lines', () => {
    assert.equal(foldedStart('two\nlines'), null);
    assert.equal(foldedStart(Array(8).fill('x').join('\n')), null);
    assert.equal(foldedStart(Array(9).fill('x').join('\n')), Array(8).fill('x').join('\n'));
    assert.equal(foldedStart('x'.repeat(600)), null);
    assert.equal(foldedStart('x'.repeat(5_000))?.length, 600);
  });

  test('separates frames of user code from those of packages and Node.js', () => {
    assert.deepEqual(partsOfStack([PACKAGE, OWN, OWN, NODE, PACKAGE]), [
      { isOwn: false, frames: [PACKAGE.text] },
      { isOwn: true, frames: [OWN.text, OWN.text] },
      { isOwn: false, frames: [NODE.text, PACKAGE.text] },
    ]);
    assert.deepEqual(partsOfStack([]), []);
  });

  test('names its location in the code', () => {
    assert.equal(sourceText({ file: 'src/charge.js', line: 7, function: 'charge' }), 'src/charge.js:7 in charge()');
    assert.equal(sourceText({ file: 'src/charge.js', line: 7 }), 'src/charge.js:7');
  });

  test('is copied with its stack and causes', () => {
    assert.equal(
      textOfError({ message: 'Error: charge failed\nsee the log', thrown: THROWN }),
      [
        ...['Error: charge failed', 'see the log', `    ${PACKAGE.text}`, `    ${OWN.text}`, `    ${NODE.text}`],
        ...['Caused by TypeError: no street', `    ${OWN.text}`],
      ].join('\n'),
    );
    const { source } = THROWN;
    assert.equal(textOfError({ message: 'no', thrown: source && { source } }), 'no\n    at src/charge.js:7 in charge()');
    assert.equal(textOfError({ message: 'no' }), 'no');
  });
});

describe('the response body of a failed attempt', () => {
  const stack = `Error: charge "x"\n    ${PACKAGE.text}\n    ${OWN.text}`;

  test('does not repeat the stacks that are shown with the error', () => {
    const body = { error: { message: 'charge', stack, causes: [{ name: 'TypeError', stack: OWN.text }] } };
    assert.deepEqual(JSON.parse(hideShownStacks(JSON.stringify(body, null, 2), THROWN)), {
      error: { message: 'charge', stack: '(shown above)', causes: [{ name: 'TypeError', stack: '(shown above)' }] },
    });
  });

  test('is shortened too when it is cut within the stack', () => {
    const body = JSON.stringify({ stack }).slice(0, -10);
    assert.equal(hideShownStacks(body, THROWN), '{"stack":"(shown above)"');
  });

  test('keeps all other strings', () => {
    const body = JSON.stringify({ stack: 'of plates', out: { text: stack, stack: 'at other (/srv/a.js:1:2)' } });
    assert.equal(hideShownStacks(body, THROWN), body);
    assert.equal(hideShownStacks(JSON.stringify({ stack }), undefined), JSON.stringify({ stack }));
  });
});
