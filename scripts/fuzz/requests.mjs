/** Creates requests from the OpenAPI documents. Request n of a seed is always the same, except for existing ids. */
import { mix, Random } from './random.mjs';
import { damagedJson, ODD_TEXTS, sample } from './values.mjs';

const CONTENT_TYPES = [
  'text/plain',
  '',
  'application/xml',
  'application/json; charset=utf-16',
  'multipart/form-data',
  'a'.repeat(500),
];
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
/** Percentage of requests with each kind of damage. */
const SHARES = { none: 20, input: 52, credential: 8, method: 2, body: 10, raw: 8 };

/** @returns every operation of the documents: `{ api, operation, path, method, resolve }`. */
export function operationsOf(documents) {
  return Object.entries(documents).flatMap(([api, document]) => {
    const resolve = (schema) => {
      let found = schema;
      while (found.$ref)
        found = found.$ref
          .split('/')
          .slice(1)
          .reduce((at, key) => at[key.replaceAll('~1', '/')], document);
      return found;
    };
    return Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => METHODS.includes(method.toUpperCase()))
        .map(([method, operation]) => ({ api, path, method: method.toUpperCase(), operation, resolve })),
    );
  });
}

/** Characters allowed in a request line; others would end the target. */
const printable = (text) => text.replace(/[^!-\u{10ffff}]/gu, '');
const withoutBreaks = (text) => text.split(/[\r\n\0]/).join('');

function kindOf(random) {
  let left = random.below(100);
  for (const [kind, share] of Object.entries(SHARES)) {
    left -= share;
    if (left < 0) return kind;
  }
  return 'none';
}

const encoded = (text, random) => (random.chance(0.8) ? encodeURIComponent(text.toWellFormed()) : printable(text));
const headerText = (text) => Buffer.from(withoutBreaks(text)).toString('latin1');

/** Returns a value for each parameter as text; objects and lists as JSON. */
function parametersOf({ operation, resolve }, random, names) {
  const given = [];
  // Otherwise an operation with many headers would always have an invalid one.
  const headers = (operation.parameters ?? []).filter((each) => resolve(each).in === 'header').length;
  const optional = { header: Math.min(0.3, 1.5 / Math.max(1, headers)) };
  for (const reference of operation.parameters ?? []) {
    const parameter = resolve(reference);
    if (!parameter.required && !random.chance(optional[parameter.in] ?? 0.35)) continue;
    const value = sample(parameter.schema, random, resolve, names, parameter.name);
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    given.push({ where: parameter.in, name: parameter.name, text });
  }
  return given;
}

function damageParameters(given, random) {
  const damaged = given.map((each) => ({ ...each }));
  for (let count = 1 + random.below(2); count > 0; count--) {
    const one = damaged.length > 0 && random.chance(0.8) ? random.pick(damaged) : null;
    if (!one)
      damaged.push({
        where: random.pick(['query', 'header']),
        name: random.pick(['unknown', 'count', 'x']),
        text: random.pick(ODD_TEXTS),
      });
    else if (random.chance(0.15)) damaged.push({ ...one });
    else if (random.chance(0.1)) damaged.splice(damaged.indexOf(one), 1);
    else one.text = random.pick(ODD_TEXTS);
  }
  return damaged;
}

function bodyOf({ operation, resolve }, random, names) {
  const content = operation.requestBody && resolve(operation.requestBody).content;
  if (!content) return null;
  const [type, { schema } = {}] = Object.entries(content)[0] ?? [];
  if (!type) return null;
  if (!type.includes('json')) return { type: 'application/json', value: { order: random.below(100) } };
  return { type, value: sample(schema, random, resolve, names) };
}

/** Bytes of a body that is truncated, extended, altered or inconsistent with its headers. */
function damagedBytes(bytes, random) {
  switch (random.below(6)) {
    case 0:
      return bytes.subarray(0, random.below(bytes.length + 1));
    case 1:
      return Buffer.concat([bytes, Buffer.from(random.pick(['}', ',', '\u0000', '{}', ' '.repeat(5_000)]))]);
    case 2: {
      const turned = Buffer.from(bytes);
      for (let count = 1 + random.below(4); count > 0 && turned.length > 0; count--)
        turned[random.below(turned.length)] ^= 1 << random.below(8);
      return turned;
    }
    case 3:
      return Buffer.alloc(random.pick([1, 70_000, 1_100_000]), random.pick(['[', '{', 'a', '\u0000', '"']));
    case 4:
      return Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80]);
    default:
      return Buffer.alloc(0);
  }
}

/** Operations that cause deliveries are more frequent, because their responses can be malformed, too. */
const DELIVERS = new Set([
  'triggerRun',
  'triggerRuns',
  'publish',
  'publishBatch',
  'enqueueMessage',
  'startWorkflow',
  'runSchedule',
  'resumeDeadLetter',
]);

function inTurn(operations, n) {
  const delivering = operations.filter(({ operation }) => DELIVERS.has(operation.operationId));
  return n % 4 === 0 ? delivering[(n / 4) % delivering.length] : operations[(n - Math.floor(n / 4)) % operations.length];
}

/**
 * @param {object} harness `credentialOf(operation, random)` gives headers; `nameOf(parameter, random)` an id
 *   that exists, or undefined
 * @returns {{ n: number, operationId: string, kind: string, method: string, target: string, headers: [string, string][], body: Buffer | null }}
 */
export function requestOf(operations, seed, n, harness) {
  const random = new Random(mix(seed, n));
  // In turn, so that every operation is covered.
  const one = inTurn(operations, n);
  const kind = kindOf(random);
  const names = (name) => harness.nameOf(name, random, one.operation.operationId);
  let parameters = parametersOf(one, random, names);
  const body = bodyOf(one, random, names);
  const damagesBody = body !== null && random.chance(0.6);
  if (kind === 'input' && !damagesBody) parameters = damageParameters(parameters, random);
  const textsIn = (where) => parameters.filter((each) => each.where === where);
  const path = one.path.replace(/\{(\w+)\}/g, (_, name) => {
    const given = textsIn('path').find((each) => each.name === name)?.text ?? names(name) ?? random.pick(ODD_TEXTS);
    return given.startsWith('http://') ? printable(given) : encoded(given, random);
  });
  const query = textsIn('query').map(({ name, text }) => `${encoded(name, random)}=${encoded(text, random)}`);
  const headers = textsIn('header').map(({ name, text }) => [name.toLowerCase(), headerText(text)]);
  const credential = kind === 'credential' ? random.pick([null, 'Bearer ', 'Basic Og==', ...ODD_TEXTS.slice(-12)]) : null;
  if (credential !== null) headers.push(['authorization', headerText(credential)]);
  if (kind !== 'credential') headers.push(...harness.credentialOf(one, random));
  let bytes = null;
  if (body) {
    headers.push(['content-type', kind === 'body' && random.chance(0.3) ? random.pick(CONTENT_TYPES) : body.type]);
    bytes = Buffer.from(kind === 'input' && damagesBody ? damagedJson(body.value, random) : JSON.stringify(body.value));
    if (kind === 'body') bytes = damagedBytes(bytes, random);
    if (kind === 'body' && random.chance(0.1)) headers.push(['content-encoding', random.pick(['gzip', 'br', 'a'])]);
  }
  const method = kind === 'method' ? random.pick(METHODS) : one.method;
  const target = path + (query.length > 0 ? `?${query.join('&')}` : '');
  const damage = kind === 'raw' ? mix(seed ^ 0x5bd1e995, n) : null;
  return { n, operationId: one.operation.operationId, kind, method, target, headers, body: bytes, damage };
}
