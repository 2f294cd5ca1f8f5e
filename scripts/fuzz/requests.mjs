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

/** Returns every operation of the documents: `{ api, operation, path, method, resolve }`. */
export function operationsOf(documents) {
  return Object.entries(documents).flatMap(([api, document]) => {
    const resolve = (schema) => {
      let resolved = schema;
      while (resolved.$ref)
        resolved = resolved.$ref
          .split('/')
          .slice(1)
          .reduce((node, key) => node[key.replaceAll('~1', '/')], document);
      return resolved;
    };
    return Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => METHODS.includes(method.toUpperCase()))
        .map(([method, operation]) => ({ api, path, method: method.toUpperCase(), operation, resolve })),
    );
  });
}

/** Removes the characters that would end the target of a request line. */
const printable = (text) => text.replace(/[^!-\u{10ffff}]/gu, '');
const removeLineBreaks = (text) => text.split(/[\r\n\0]/).join('');

function pickKind(random) {
  let remaining = random.below(100);
  for (const [kind, share] of Object.entries(SHARES)) {
    remaining -= share;
    if (remaining < 0) return kind;
  }
  return 'none';
}

const encodeForTarget = (text, random) => (random.chance(0.8) ? encodeURIComponent(text.toWellFormed()) : printable(text));
const headerText = (text) => Buffer.from(removeLineBreaks(text)).toString('latin1');

/** Returns a text for each parameter. Objects and lists are JSON. */
function parametersOf({ operation, resolve }, random, nameOf) {
  const parameters = [];
  // The more headers an operation has, the less often each optional one is sent. Otherwise, one of them would always be invalid.
  const headerCount = (operation.parameters ?? []).filter((reference) => resolve(reference).in === 'header').length;
  const optionalShares = { header: Math.min(0.3, 1.5 / Math.max(1, headerCount)) };
  for (const reference of operation.parameters ?? []) {
    const parameter = resolve(reference);
    if (!parameter.required && !random.chance(optionalShares[parameter.in] ?? 0.35)) continue;
    const value = sample(parameter.schema, random, resolve, nameOf, parameter.name);
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    parameters.push({ location: parameter.in, name: parameter.name, text });
  }
  return parameters;
}

function damageParameters(parameters, random) {
  const damagedParameters = parameters.map((parameter) => ({ ...parameter }));
  for (let count = 1 + random.below(2); count > 0; count--) {
    const parameter = damagedParameters.length > 0 && random.chance(0.8) ? random.pick(damagedParameters) : null;
    if (!parameter)
      damagedParameters.push({
        location: random.pick(['query', 'header']),
        name: random.pick(['unknown', 'count', 'x']),
        text: random.pick(ODD_TEXTS),
      });
    else if (random.chance(0.15)) damagedParameters.push({ ...parameter });
    else if (random.chance(0.1)) damagedParameters.splice(damagedParameters.indexOf(parameter), 1);
    else parameter.text = random.pick(ODD_TEXTS);
  }
  return damagedParameters;
}

function bodyOf({ operation, resolve }, random, nameOf) {
  const content = operation.requestBody && resolve(operation.requestBody).content;
  if (!content) return null;
  const [type, { schema } = {}] = Object.entries(content)[0] ?? [];
  if (!type) return null;
  if (!type.includes('json')) return { type: 'application/json', value: { order: random.below(100) } };
  return { type, value: sample(schema, random, resolve, nameOf) };
}

/** Returns the bytes truncated, extended, altered or replaced. */
function damagedBytes(bytes, random) {
  switch (random.below(6)) {
    case 0:
      return bytes.subarray(0, random.below(bytes.length + 1));
    case 1:
      return Buffer.concat([bytes, Buffer.from(random.pick(['}', ',', '\u0000', '{}', ' '.repeat(5_000)]))]);
    case 2: {
      const altered = Buffer.from(bytes);
      for (let count = 1 + random.below(4); count > 0 && altered.length > 0; count--)
        altered[random.below(altered.length)] ^= 1 << random.below(8);
      return altered;
    }
    case 3:
      return Buffer.alloc(random.pick([1, 70_000, 1_100_000]), random.pick(['[', '{', 'a', '\u0000', '"']));
    case 4:
      return Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80]);
    default:
      return Buffer.alloc(0);
  }
}

/** Operations that cause deliveries. They are more frequent, because the responses to deliveries can be malformed, too. */
const DELIVERING_OPERATIONS = new Set([
  'triggerRun',
  'triggerRuns',
  'publish',
  'publishBatch',
  'enqueueMessage',
  'startWorkflow',
  'runSchedule',
  'resumeDeadLetter',
]);

function operationFor(operations, n) {
  const deliveringOperations = operations.filter(({ operation }) => DELIVERING_OPERATIONS.has(operation.operationId));
  return n % 4 === 0
    ? deliveringOperations[(n / 4) % deliveringOperations.length]
    : operations[(n - Math.floor(n / 4)) % operations.length];
}

/**
 * @param {object} harness `credentialOf(operation, random)` gives headers; `nameOf(parameter, random)` an id
 *   that exists, or undefined
 * @returns {{ n: number, operationId: string, kind: string, method: string, target: string, headers: [string, string][], body: Buffer | null }}
 */
export function requestOf(operations, seed, n, harness) {
  const random = new Random(mix(seed, n));
  // Operations take turns, so that each one is covered.
  const entry = operationFor(operations, n);
  const kind = pickKind(random);
  const nameOf = (name) => harness.nameOf(name, random, entry.operation.operationId);
  let parameters = parametersOf(entry, random, nameOf);
  const body = bodyOf(entry, random, nameOf);
  const damagesBody = body !== null && random.chance(0.6);
  if (kind === 'input' && !damagesBody) parameters = damageParameters(parameters, random);
  const textsIn = (location) => parameters.filter((parameter) => parameter.location === location);
  const path = entry.path.replace(/\{(\w+)\}/g, (_, name) => {
    const value = textsIn('path').find((parameter) => parameter.name === name)?.text ?? nameOf(name) ?? random.pick(ODD_TEXTS);
    return value.startsWith('http://') ? printable(value) : encodeForTarget(value, random);
  });
  const query = textsIn('query').map(({ name, text }) => `${encodeForTarget(name, random)}=${encodeForTarget(text, random)}`);
  const headers = textsIn('header').map(({ name, text }) => [name.toLowerCase(), headerText(text)]);
  const credential = kind === 'credential' ? random.pick([null, 'Bearer ', 'Basic Og==', ...ODD_TEXTS.slice(-12)]) : null;
  if (credential !== null) headers.push(['authorization', headerText(credential)]);
  if (kind !== 'credential') headers.push(...harness.credentialOf(entry, random));
  let bytes = null;
  if (body) {
    headers.push(['content-type', kind === 'body' && random.chance(0.3) ? random.pick(CONTENT_TYPES) : body.type]);
    bytes = Buffer.from(kind === 'input' && damagesBody ? damagedJson(body.value, random) : JSON.stringify(body.value));
    if (kind === 'body') bytes = damagedBytes(bytes, random);
    if (kind === 'body' && random.chance(0.1)) headers.push(['content-encoding', random.pick(['gzip', 'br', 'a'])]);
  }
  const method = kind === 'method' ? random.pick(METHODS) : entry.method;
  const target = path + (query.length > 0 ? `?${query.join('&')}` : '');
  const damage = kind === 'raw' ? mix(seed ^ 0x5bd1e995, n) : null;
  return { n, operationId: entry.operation.operationId, kind, method, target, headers, body: bytes, damage };
}
