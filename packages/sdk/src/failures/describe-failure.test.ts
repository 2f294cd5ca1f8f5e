import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { describeFailure } from './describe-failure.js';
import { ERROR_BOUNDS } from './error-frame.js';
import { readSourceLine } from './source-line.js';

const at = (stack: string, message = 'no stock'): Error =>
  Object.assign(new Error(message), { stack: `Error: ${message}\n${stack}` });

describe('a thrown error is described', () => {
  test('with its causes, each with its code', () => {
    const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    const error = new Error('charge failed', { cause: new TypeError('fetch failed', { cause: refused }) });
    const { name, message, causes = [] } = describeFailure(error, false);
    assert.deepEqual([name, message], ['Error', 'charge failed']);
    assert.deepEqual(
      causes.map((cause) => [cause.name, cause.message, cause.code]),
      [
        ['TypeError', 'fetch failed', undefined],
        ['AggregateError', 'ECONNREFUSED', 'ECONNREFUSED'],
      ],
    );
    assert.match(causes[0]?.stack ?? '', /^at /);
  });

  test('with the first frame of user code, relative to the directory of the app', () => {
    const { source } = describeFailure(
      at(`    at pay (node:fs:1:1)\n    at charge (file://${process.cwd()}/src/charge.js:7:13)`),
      false,
    );
    assert.deepEqual(source, { file: 'src/charge.js', line: 7, column: 13, function: 'charge' });
  });

  test('does not treat frames of the SDK as user code', () => {
    const { stack = '', source } = describeFailure(new Error('here'), false);
    assert.match(stack, /at .*@everstep\/sdk\/failures\/describe-failure\.test\.js:/);
    assert.equal(source, undefined);
  });

  test('within bounds, whatever it contains', () => {
    const error: Error & { code?: string } = at(
      `    at ${'f'.repeat(700)} (/app/${'d'.repeat(80)}.js:1:1)\n`.repeat(50),
      'x'.repeat(100_000),
    );
    error.code = 'C'.repeat(1_000);
    for (let inner: Error = error, n = 0; n < 20; n++) {
      const cause = at('    at f (/app/x.js:1:1)\n'.repeat(500), 'y'.repeat(50_000));
      inner.cause = cause;
      inner = cause;
    }
    const { stack = '', causes = [], code, source } = describeFailure(error, false);
    assert.ok(stack.length <= ERROR_BOUNDS.stackLength + 10);
    assert.equal(causes.length, ERROR_BOUNDS.causes);
    assert.ok(JSON.stringify(causes).length < 20_000);
    assert.equal(code, undefined);
    assert.equal(source?.function?.length, ERROR_BOUNDS.functionLength);
  });

  test('if its causes form a circle, or it is not an error', () => {
    const one = new Error('one');
    one.cause = new Error('two', { cause: one });
    assert.equal(describeFailure(one, false).causes?.length, 1);
    assert.deepEqual(describeFailure('text', false), { name: 'Error', message: 'text' });
    assert.deepEqual(describeFailure(null, true), { name: 'Error', message: 'null' });
  });

  test('if reading it throws', () => {
    const hostile = {
      name: 'X',
      get message() {
        throw new Error('no');
      },
    };
    assert.equal(describeFailure(hostile, true).name, 'Error');
  });
});

describe('the line of source code', () => {
  const app = realpathSync(mkdtempSync(join(tmpdir(), 'everstep-source-')));
  process.once('exit', () => rmSync(app, { recursive: true, force: true }));
  const write = (name: string, text = 'first\n  throw new Error("no stock");\n') => {
    writeFileSync(join(app, name), text);
    return join(app, name);
  };

  test('is read from a file of the app, without indentation', () => {
    assert.equal(readSourceLine(write('a.mjs'), 2, app), 'throw new Error("no stock");');
    assert.equal(readSourceLine(write('b.ts'), 9, app), null);
  });

  test('is not read from other files, hidden directories, packages, links that lead outside, or generated code', () => {
    mkdirSync(join(app, 'node_modules'));
    mkdirSync(join(app, '.git'));
    mkdirSync(join(app, 'inside'));
    symlinkSync(write('real.js'), join(app, 'inside', 'link.js'));
    const refused = [
      write('.env'),
      write('node_modules/x.js'),
      write('.git/x.js'),
      write('secrets.json'),
      join(app, 'missing.js'),
      app,
    ];
    for (const path of refused) assert.equal(readSourceLine(path, 2, app), null, path);
    assert.equal(readSourceLine(join(app, 'inside', 'link.js'), 2, join(app, 'inside')), null);
    assert.equal(readSourceLine(write('long.js', 'x'.repeat(5_000)), 1, app), null);
  });

  test('is not reported if the frame may come from the message', () => {
    const file = `${process.cwd()}/package.js`;
    const error = at(`    at f (${file}:1:1)`);
    error.message = 'changed';
    assert.equal(describeFailure(error, true).source?.code, undefined);
  });
});
