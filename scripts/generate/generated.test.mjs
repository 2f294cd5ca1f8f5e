/** The generated files are those that `npm run generate` writes. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../setup/index.mjs';
import { typesOf } from './emitter.mjs';
import { sdkTypes } from './sdk-types.mjs';

test('the generated types of the SDK match the contract; run npm run generate if this fails', () => {
  const files = sdkTypes();
  for (const [path, text] of files) assert.equal(readFileSync(join(ROOT, path), 'utf8'), text, path);
  const folder = dirname([...files.keys()][0]);
  const written = readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`);
  assert.deepEqual(written.toSorted(), [...files.keys()].toSorted());
});

/** Schemas of the documents whose types have another name, or none. */
const OTHERS = {
  Destination: 'DestinationEntry',
  Document: 'SearchDocument',
  Explanation: 'RunExplanation',
  FlowControl: 'FlowControlEntry',
  IndexInfo: 'SearchIndexInfo',
  Instance: 'QueueInstance',
  Node: 'ServiceNode',
  OutboundRules: 'InstanceOutboundRules',
  Plan: 'InstancePlan',
  Reason: 'WaitReason',
  RunAttempts: 'RunAttemptPage',
  Schedule: 'ScheduleEntry',
  Settings: 'InstanceSettings',
  SigningKeys: 'SigningKeyPair',
  Token: 'InstanceToken',
  Worker: 'WorkerEntry',
};
/** `EverstepError` represents errors, `flowControl.list` returns only the entries, and no call returns a key set. */
const WITHOUT_TYPE = ['Error', 'FlowControls', 'KeySet'];

test('the SDK has a type for each named schema of the OpenAPI documents', async () => {
  const api = '../../packages/everstep/dist/http-api';
  const { openApiDocument } = await import(`${api}/openapi/openapi.js`);
  const { managementOpenApiDocument } = await import(`${api}/management/openapi.js`);
  const { searchOpenApiDocument } = await import(`${api}/search/index.js`);
  const types = new Set(
    [...sdkTypes().values()].flatMap((text) => [...text.matchAll(/^export \w+ (\w+)/gm)].map(([, name]) => name)),
  );
  const documents = [openApiDocument, managementOpenApiDocument, searchOpenApiDocument].map((make) => make('0.0.0'));
  const named = documents.flatMap(({ components }) => Object.keys(components.schemas));
  assert.deepEqual(
    named.filter((name) => !types.has(OTHERS[name] ?? name) && !WITHOUT_TYPE.includes(name)),
    [],
  );
});

const text = (description) => ({ type: 'string', ...(description ? { description } : {}) });
const object = (description, properties, required = Object.keys(properties)) => ({
  type: 'object',
  required,
  properties,
  description,
});
const write = (types, bases = []) => typesOf({ file: types }, { imports: {}, bases }).get('file');

test('a type contains the descriptions, limits and optional fields of its schema', () => {
  const properties = {
    a: text('First.'),
    b: { anyOf: [{ type: 'integer', minimum: 1, maximum: 2000 }, { type: 'null' }], description: 'Null: none.' },
    c: { type: 'array', items: { anyOf: [{ enum: ['x', 'y'] }, { const: 1 }] } },
    d: {},
  };
  assert.equal(
    write({ 'Thing<Value = unknown>': object('Thing.', properties, ['a', 'b']) }),
    `/** Thing. */
export interface Thing<Value = unknown> {
  /** First. */
  readonly a: string;
  /** Null: none. 1 to 2,000. */
  readonly b: number | null;
  readonly c?: readonly ('x' | 'y' | 1)[];
  readonly d?: Value;
}
`,
  );
});

test('a named schema is written once, regardless of its description', () => {
  const key = object('Key.', { id: text() });
  const holder = object('Holder.', { key: { ...key, description: 'Its key.' }, keys: { type: 'array', items: key } });
  assert.match(
    write({ Key: key, Holder: holder }),
    /\n {2}\/\*\* Its key\. \*\/\n {2}readonly key: Key;\n {2}readonly keys: readonly Key\[\];\n/,
  );
  const more = object('More.', { id: text(), name: text() });
  assert.match(write({ Key: key, More: more }, ['Key']), /interface More extends Key \{\n {2}readonly name: string;\n\}/);
});

test('a named schema must have a description, and a name must have a schema', () => {
  assert.throws(() => write({ Thing: { type: 'string' } }), /Thing needs a description/);
  assert.throws(() => write({ Thing: undefined }), /no schema for the type Thing/);
});
