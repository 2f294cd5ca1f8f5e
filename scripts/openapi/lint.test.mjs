/** The OpenAPI documents pass the linter. The exceptions are in `.redocly.lint-ignore.yaml`, with their reasons. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { ROOT } from '../setup/index.mjs';

const HERE = join(ROOT, 'scripts', 'openapi');
const RULES = 'redocly.yaml';
const EXCEPTIONS = '.redocly.lint-ignore.yaml';
const REDOCLY = join(ROOT, 'node_modules', '@redocly', 'cli', 'bin', 'cli.js');

const api = (path) => import(`../../packages/everstep/dist/http-api/${path}.js`);
const { openApiDocument } = await api('openapi/openapi');
const { managementOpenApiDocument } = await api('management/openapi');
const { searchOpenApiDocument } = await api('search/index');
const { upstashOpenApiDocument } = await api('upstash/index');
const DOCUMENTS = {
  'runtime.json': openApiDocument,
  'management.json': managementOpenApiDocument,
  'search.json': searchOpenApiDocument,
  'upstash.json': upstashOpenApiDocument,
};

const folder = mkdtempSync(join(tmpdir(), 'everstep-openapi-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('the OpenAPI documents have no problems except those that are listed with a reason', () => {
  for (const [name, make] of Object.entries(DOCUMENTS)) writeFileSync(join(folder, name), JSON.stringify(make('0.0.0')));
  for (const name of [RULES, EXCEPTIONS]) copyFileSync(join(HERE, name), join(folder, name));
  const args = [REDOCLY, 'lint', ...Object.keys(DOCUMENTS), '--config', RULES];
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
  const listed = Object.values(parse(readFileSync(join(HERE, EXCEPTIONS), 'utf8'))).flatMap((rules) =>
    Object.values(rules).flat(),
  );
  assert.match(
    `${stdout}${stderr}`,
    new RegExp(`${listed.length} problems are explicitly ignored`),
    'an exception is not needed',
  );
});
