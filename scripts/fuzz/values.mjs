/** Creates values for requests: some are valid according to the schema, some are unexpected. */

const MAX_DEPTH = 6;

const nested = (depth, [open, close]) => open.repeat(depth) + close.repeat(depth);

/** JSON texts used as values; some of them are invalid JSON. */
export const ODD_JSON = Object.freeze([
  ...['null', 'true', '0', '-1', '-0', '1.5', '1e308', '1e999', '-1e-400', '9007199254740993', '4294967296', '2147483648'],
  ...['""', '" "', '"a"', '[]', '{}', '[null]', '[[]]', '{"a":{}}', '"\\u0000"', '"\\ud800"', '"\\u202e\\u0007"', '"é😀ﷺ"'],
  ...['"__proto__"', '{"__proto__":{"a":1}}', '{"constructor":{"prototype":{"a":1}}}', '"toString"', '"../../etc"', '"%00"'],
  ...[
    '"2026-02-30T25:61:00Z"',
    '"99999999999d"',
    '"-1s"',
    '"1d1d1d"',
    '"http://["',
    '"javascript:1"',
    '"http://169.254.169.254/"',
  ],
  ...[
    `"${'a'.repeat(70_000)}"`,
    `"${'9'.repeat(400)}"`,
    '9'.repeat(400),
    `[${'0,'.repeat(9_999)}0]`,
    `"${'\\u0001'.repeat(2_000)}"`,
  ],
  ...[nested(63, '[]'), nested(100, '[]'), nested(20_000, '[]'), `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`],
  ...['undefined', 'NaN', "'a'", '{a:1}', '01', '[1,]', '"', '\u0000', '/*', '{"a":1,"a":2}'],
]);

/** Texts for parameters and headers. */
export const ODD_TEXTS = Object.freeze([
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1.5',
    '1e9',
    '+1',
    '0x10',
    '١',
    '9007199254740993',
    '9'.repeat(400),
    'NaN',
    'Infinity',
    'null',
    'true',
  ],
  ...[
    'a',
    'A'.repeat(5_000),
    'a,b,,c',
    ',',
    ';',
    '[]',
    '{}',
    '"',
    "'",
    '`',
    '\\',
    '%',
    '%00',
    '%zz',
    '%C0%80',
    '%F0%9F',
    '%2e%2e%2f',
  ],
  ...['é', '😀', '\u202e', '__proto__', 'constructor', '../..', '..', '.', '//', '?', '#', '*', '$(a)', "' OR 1=1 --", '\\u0000'],
  ...['1s', '-1s', '99999999999d', '1d1d', '0', '2026-01-01', '* * * * *', '*/0 * * * *', '60 24 32 13 8', 'TZ=A/B * * * * *'],
  ...['http://', 'http://[::1', 'http://a:99999', 'http://127.0.0.1:1', 'http://localhost', 'file:///etc/passwd', 'http://a b'],
  ...[
    '1'.repeat(16),
    'a.b.c',
    'Bearer',
    'eyJhbGciOiJub25lIn0.e30.',
    '(((((',
    '[a-',
    '2^(2^(2^9))',
    'retried*1000',
    'max(retried)',
  ],
]);

const FORMATS = { 'date-time': '2026-11-23T08:00:00Z', uri: 'http://w.test/a', email: 'a@b.test' };

function textFor(schema, random, existingId) {
  if (schema.enum) return random.pick(schema.enum);
  if (existingId !== undefined && random.chance(0.85)) return existingId;
  const text = FORMATS[schema.format] ?? random.pick(['a', 'order', 'x-1', '10s', '5', 'http://w.test/a', 'read']);
  return text.padEnd(Math.min(schema.minLength ?? 0, 200), 'a').slice(0, schema.maxLength ?? 10_000);
}

function numberFor({ minimum = 0, maximum = minimum + 1_000 }, random) {
  if (random.chance(0.3)) return random.pick([minimum, maximum]);
  return Math.min(maximum, Math.floor(minimum + random.next() * Math.min(maximum - minimum, 1_000)));
}

/** Returns a value that is valid according to the schema. `nameOf(name)` returns the id of an existing object, or undefined. */
export function sample(schema, random, resolve, nameOf = () => undefined, name = '', depth = 0) {
  const resolvedSchema = schema === undefined || schema === true ? {} : resolve(schema);
  const sampleInner = (innerSchema, innerName = name) => sample(innerSchema, random, resolve, nameOf, innerName, depth + 1);
  if ('const' in resolvedSchema) return resolvedSchema.const;
  for (const key of ['anyOf', 'oneOf']) if (resolvedSchema[key]) return sampleInner(random.pick(resolvedSchema[key]));
  if (resolvedSchema.allOf) return Object.assign({}, ...resolvedSchema.allOf.map((each) => sampleInner(each)));
  if (resolvedSchema.enum) return random.pick(resolvedSchema.enum);
  const type = Array.isArray(resolvedSchema.type) ? random.pick(resolvedSchema.type) : resolvedSchema.type;
  switch (type) {
    case 'object': {
      const object = {};
      const required = resolvedSchema.required ?? [];
      for (const [key, innerSchema] of Object.entries(resolvedSchema.properties ?? {}))
        if (required.includes(key) || (depth < MAX_DEPTH && random.chance(0.4))) object[key] = sampleInner(innerSchema, key);
      return object;
    }
    case 'array': {
      const count = Math.max(resolvedSchema.minItems ?? 0, depth < MAX_DEPTH ? random.below(3) : 0);
      return Array.from({ length: Math.min(count, 5) }, () => sampleInner(resolvedSchema.items));
    }
    case 'integer':
    case 'number':
      return numberFor(resolvedSchema, random);
    case 'boolean':
      return random.chance(0.5);
    case 'null':
      return null;
    default:
      return textFor(resolvedSchema, random, nameOf(name));
  }
}

/** Marks the position of an unexpected value in a JSON text. */
const PLACEHOLDER = '\u0001hole\u0001';

function pathsIn(value, path = []) {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return [path, ...entries.flatMap(([key, item]) => pathsIn(item, [...path, key]))];
}

function changeAt(value, path, change) {
  const [key, ...rest] = path;
  if (key === undefined) return change(value);
  const copy = Array.isArray(value) ? [...value] : { ...value };
  const changedItem = changeAt(copy[key], rest, change);
  if (changedItem === undefined && !Array.isArray(copy)) delete copy[key];
  else copy[key] = changedItem;
  return copy;
}

/** Returns the value as JSON with one to three positions changed, omitted or added. */
export function damagedJson(value, random) {
  let damagedValue = value;
  const oddValues = [];
  for (let count = 1 + random.below(3); count > 0; count--) {
    const path = random.pick(pathsIn(damagedValue));
    const kind = random.below(4);
    damagedValue = changeAt(damagedValue, path, (current) => {
      if (kind === 0) return path.length > 0 ? undefined : null;
      if (kind === 1 && typeof current === 'object' && current !== null && !Array.isArray(current))
        return { ...current, [random.pick(['unknown', '__proto__x', 'id', ' ', 'a'.repeat(300)])]: 1 };
      if (kind === 2 && Array.isArray(current)) return [...current, ...current, ...current];
      oddValues.push(random.pick(ODD_JSON));
      return PLACEHOLDER + (oddValues.length - 1);
    });
  }
  const text = JSON.stringify(damagedValue ?? null);
  return oddValues.reduce((json, oddValue, index) => json.replace(JSON.stringify(PLACEHOLDER + index), () => oddValue), text);
}
